//! Reads a log stream and resumes the stream after an interruption.

pub(super) mod many;

use std::time::Duration;

use drover_ui_core::backoff::Backoff;
use drover_ui_core::log::{Log, LogRequest, LogSource, LogStreamEnd, Next, ResumePosition, next};
use drover_ui_core::messages::t;
use drover_ui_core::object::{Lifecycle, life};
use drover_ui_core::problem::Problem;
use futures::future::{AbortHandle, Either, abortable, select};
use jiff::Timestamp;
use leptos::prelude::*;
use leptos::task::spawn_local;

use super::Pod;
use crate::clock::{chance, now, sleep, time_of_day};
use crate::fetch::Request;
use crate::network::rest;
use crate::session::Session;
use crate::stream::{Interruption, LineStream};
use many::Batch;

/// The timeout of a stream without data. After the timeout, the page sends the request again,
/// because the connection can be lost.
const TIMEOUT: Duration = Duration::from_mins(3);
/// The timeout of the response headers. The kubelet sends the headers with the first line, so a
/// late response means that the log has no lines.
const HEADER_TIMEOUT: Duration = Duration::from_secs(2);
/// The delay between the end of a log and the check of the pod status. The container status usually
/// changes within the delay.
const STATUS_DELAY: Duration = Duration::from_millis(800);
/// The maximum length of a line, in bytes. Longer lines are truncated.
const MAX_LINE_BYTES: usize = 256 * 1024;

/// The state of the reader.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum ReaderState {
    /// The first response has not arrived.
    Opening,
    /// The reader receives lines.
    Following,
    /// The container does not run. The reader retries the request.
    Waiting(String),
    /// The stream was interrupted. The reader retries the request.
    Cut {
        /// The time of the interruption.
        since: Timestamp,
        /// The cause of the interruption.
        problem: Problem,
    },
    /// The log is complete. The variant contains the reason.
    Over(String),
    /// The server rejected the request.
    Refused(Problem),
}

/// A log, and the state of its reader.
#[derive(Clone, Copy, Debug)]
pub(super) struct Reader {
    /// The lines of the log.
    pub(super) log: RwSignal<Log>,
    pub(super) reading: RwSignal<ReaderState>,
    /// The errors of the containers, in a log of many containers.
    pub(super) failures: RwSignal<Vec<String>>,
}

impl Reader {
    /// Creates the reader of an empty log.
    fn new() -> Self {
        Self {
            log: RwSignal::new(Log::default()),
            reading: RwSignal::new(ReaderState::Opening),
            failures: RwSignal::new(Vec::new()),
        }
    }

    /// Reads the requested log until cleanup. A change of the request or of the pod's UID starts a
    /// new log.
    pub(super) fn begin(
        request: Memo<Option<LogRequest>>,
        uid: Memo<Option<String>>,
        pod: Pod,
    ) -> Self {
        let reader = Self::new();
        let session = expect_context::<Session>();
        let running = StoredValue::new(None::<AbortHandle>);
        let end = move || {
            let handle = running.try_update_value(Option::take).flatten();
            if let Some(handle) = handle {
                handle.abort();
            }
        };
        Effect::new(move || {
            end();
            uid.track();
            reader.log.update(Log::clear);
            reader.reading.set(ReaderState::Opening);
            if let Some(request) = request.get() {
                let stream = ContainerStream {
                    reader,
                    reading: ReadingState::Shared(reader.reading),
                    source: None,
                    batch: None,
                };
                let container = request.container.clone();
                let life = move || life_of(pod, &container);
                let (task, handle) = abortable(stream.read(request, life, session));
                running.set_value(Some(handle));
                spawn_local(async move {
                    // The task ends by abort when the user leaves the screen.
                    let _ = task.await;
                });
            }
        });
        on_cleanup(end);
        reader
    }
}

/// Returns the state of a container. Returns `None` if the pod was deleted.
fn life_of(pod: Pod, container: &str) -> Option<Lifecycle> {
    let is_gone = pod.is_gone.get_untracked();
    pod.known.with_untracked(|pod| {
        let pod = pod.as_ref().filter(|_| !is_gone);
        pod.map(|pod| life(pod, container))
    })
}

/// The state of a stream.
#[derive(Clone)]
enum ReadingState {
    /// The state of the reader of a single container.
    Shared(RwSignal<ReaderState>),
    /// The state of one of many containers.
    Own(ArcRwSignal<ReaderState>),
}

impl ReadingState {
    fn get(&self) -> ReaderState {
        match self {
            Self::Shared(state) => state.get_untracked(),
            Self::Own(state) => state.get_untracked(),
        }
    }

    fn set(&self, value: ReaderState) {
        match self {
            Self::Shared(state) => state.set(value),
            Self::Own(state) => state.set(value),
        }
    }
}

/// The stream of one container.
#[derive(Clone)]
struct ContainerStream {
    reader: Reader,
    reading: ReadingState,
    /// The container, in a log of many containers.
    source: Option<LogSource>,
    /// The received lines of many containers that the log does not contain yet.
    batch: Option<Batch>,
}

impl ContainerStream {
    async fn read(
        self,
        request: LogRequest,
        life: impl Fn() -> Option<Lifecycle>,
        session: Session,
    ) {
        let mut backoff = Backoff::default();
        let mut noted = None;
        loop {
            let ending = self.stream(&request, &mut backoff, &mut noted).await;
            if ending == LogStreamEnd::Done && request.follows() {
                sleep(STATUS_DELAY).await;
            }
            match &ending {
                LogStreamEnd::Problem(problem) => session.handle(problem),
                // The timeout already delayed the next request.
                LogStreamEnd::Silent => {
                    backoff.reset();
                    self.goes_on(&request);
                }
                LogStreamEnd::Done => {}
            }
            match next(&request, ending, life()) {
                Next::Stop(words) => {
                    self.note_once(&mut noted, &words);
                    return self.reading.set(ReaderState::Over(words));
                }
                Next::Refused(problem) => return self.reading.set(ReaderState::Refused(problem)),
                Next::Wait(words) => {
                    self.note_once(&mut noted, &words);
                    self.reading.set(ReaderState::Waiting(words));
                }
                Next::Cut(problem) => self.mark_stale(&mut noted, problem),
                Next::GoOn => {}
            }
            rest(backoff.after_failure(chance())).await;
        }
    }

    /// Sends a request and reads its response.
    async fn stream(
        &self,
        request: &LogRequest,
        backoff: &mut Backoff,
        noted: &mut Option<String>,
    ) -> LogStreamEnd {
        let mut position = self.position();
        let mut stream = match self.open(request, position.as_ref()).await {
            Ok(stream) => stream.cutting_lines_at(MAX_LINE_BYTES),
            Err(reason) => return reason.into(),
        };
        loop {
            let (lines, is_over) = match stream.next().await {
                Ok(Some(lines)) => (lines, false),
                Ok(None) => (Vec::from_iter(stream.last()), true),
                Err(reason) => return reason.into(),
            };
            if self.add(lines, position.as_mut()) > 0 {
                backoff.reset();
                *noted = None;
                self.goes_on(request);
            }
            if is_over {
                return LogStreamEnd::Done;
            }
        }
    }

    /// Returns the position from which the stream resumes.
    fn position(&self) -> Option<ResumePosition> {
        if let Some(batch) = &self.batch {
            batch.flush(self.reader.log);
        }
        let source = self.source.as_ref();
        let log = self.reader.log;
        log.with_untracked(|log| log.resume_position_of(source))
    }

    /// Adds lines, and returns the number of new lines.
    fn add(&self, lines: Vec<Vec<u8>>, mut position: Option<&mut ResumePosition>) -> usize {
        if let (Some(batch), Some(source)) = (&self.batch, &self.source) {
            let lines = lines.iter();
            let new = lines.filter_map(|line| Log::read(line, source, position.as_deref_mut()));
            return batch.add(new.collect(), self.reader.log);
        }
        let mut new = 0;
        self.reader.log.update(|log| {
            for line in lines {
                new += usize::from(log.push_new(&line, position.as_deref_mut()));
            }
        });
        new
    }

    /// Sends the request and sets the state after the response started.
    async fn open(
        &self,
        request: &LogRequest,
        position: Option<&ResumePosition>,
    ) -> Result<LineStream, Interruption> {
        let sent = Request::get(request.path(position));
        let opening = Box::pin(LineStream::open(sent, TIMEOUT));
        let stream = match select(opening, Box::pin(sleep(HEADER_TIMEOUT))).await {
            Either::Left((opened, _)) => opened?,
            Either::Right(((), opening)) => {
                // A response with known lines starts immediately, so only a late first response
                // means an empty log.
                let is_first = self.reading.get() == ReaderState::Opening;
                if is_first && position.is_none() {
                    self.goes_on(request);
                }
                opening.await?
            }
        };
        let was_cut = matches!(self.reading.get(), ReaderState::Cut { .. });
        // A response before the restart of the container can be the log of the previous run.
        if was_cut || position.is_none() {
            self.goes_on(request);
        }
        Ok(stream)
    }

    /// Sets the state to [`ReaderState::Following`] if the request streams new lines.
    fn goes_on(&self, request: &LogRequest) {
        if request.follows() && self.reading.get() != ReaderState::Following {
            self.reading.set(ReaderState::Following);
        }
    }

    /// Adds a note to the log unless the last note has the same text.
    fn note_once(&self, noted: &mut Option<String>, words: &str) {
        if noted.as_deref() != Some(words) && self.position().is_some() {
            let words = match &self.source {
                Some(source) => t().log.of_source(&source.label, words),
                None => words.to_owned(),
            };
            let log = self.reader.log;
            log.update(|log| log.note(&format!("{}  {words}", time_of_day(now()))));
        }
        *noted = Some(words.to_owned());
    }

    fn mark_stale(&self, noted: &mut Option<String>, problem: Problem) {
        let since = match self.reading.get() {
            ReaderState::Cut { since, .. } => since,
            _ => now(),
        };
        self.note_once(noted, t().log.interruption_note());
        self.reading.set(ReaderState::Cut { since, problem });
    }
}

impl From<Interruption> for LogStreamEnd {
    fn from(interruption: Interruption) -> Self {
        match interruption {
            Interruption::Silence => Self::Silent,
            Interruption::Problem(problem) => Self::Problem(problem),
        }
    }
}
