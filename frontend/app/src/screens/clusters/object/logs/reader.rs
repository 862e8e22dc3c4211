//! Reads a log as it is written: begins, follows, and goes on after a cut.

use std::time::Duration;

use drover_ui_core::backoff::Backoff;
use drover_ui_core::log::{Ending, Log, LogRequest, Next, Seam, next};
use drover_ui_core::messages::t;
use drover_ui_core::object::life;
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

/// A container may say nothing for long; after this the stream is asked for anew, in case that the
/// connection is silently gone.
const TIMEOUT: Duration = Duration::from_mins(3);
/// An answer that has not begun by then has no lines: before the first one, a kubelet sends nothing
/// at all.
const LATE: Duration = Duration::from_secs(2);
/// A pod's status comes a little later than the end of its container's log.
const SETTLING: Duration = Duration::from_millis(800);
/// Of longer lines the rest is left out.
const LONGEST_LINE: usize = 256 * 1024;

/// How the reading goes.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Reading {
    /// The first answer is on its way.
    Opening,
    /// Lines come as they are written.
    Following,
    /// The container does not run; it is tried again.
    Waiting(String),
    /// The stream was cut; it is tried again.
    Cut {
        /// When.
        since: Timestamp,
        /// Why.
        problem: Problem,
    },
    /// There will be no more.
    Over(String),
    /// It cannot be read.
    Refused(Problem),
}

/// A log and how its reading goes.
#[derive(Clone, Copy, Debug)]
pub(super) struct Reader {
    /// What was read.
    pub(super) log: RwSignal<Log>,
    /// How it goes.
    pub(super) reading: RwSignal<Reading>,
}

impl Reader {
    /// Reads what is wished for, until the owner is gone; another request, or another pod of the same
    /// name (its UID), begins anew.
    pub(super) fn begin(
        request: Memo<Option<LogRequest>>,
        uid: Memo<Option<String>>,
        pod: Pod,
    ) -> Self {
        let reader = Self {
            log: RwSignal::new(Log::default()),
            reading: RwSignal::new(Reading::Opening),
        };
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
            let find = reader.log.with_untracked(|log| log.wanted().clone());
            let mut log = Log::default();
            log.find(find);
            reader.log.set(log);
            reader.reading.set(Reading::Opening);
            if let Some(request) = request.get() {
                let (task, handle) = abortable(reader.read(request, pod, session));
                running.set_value(Some(handle));
                spawn_local(async move {
                    // Aborted is how it ends when the person goes on to something else.
                    let _ = task.await;
                });
            }
        });
        on_cleanup(end);
        reader
    }

    async fn read(self, request: LogRequest, pod: Pod, session: Session) {
        let mut backoff = Backoff::default();
        let mut noted = None;
        loop {
            let ending = self.stream(&request, &mut backoff, &mut noted).await;
            if ending == Ending::Done && request.follows() {
                sleep(SETTLING).await;
            }
            match &ending {
                Ending::Problem(problem) => session.handle(problem),
                // That was waited for long enough.
                Ending::Silent => {
                    backoff.reset();
                    self.goes_on(&request);
                }
                Ending::Done => {}
            }
            let is_gone = pod.is_gone.get_untracked();
            let life = pod.known.with_untracked(|pod| {
                let pod = pod.as_ref().filter(|_| !is_gone);
                pod.map(|pod| life(pod, &request.container))
            });
            match next(&request, ending, life) {
                Next::Stop(words) => {
                    self.note_once(&mut noted, &words);
                    return self.reading.set(Reading::Over(words));
                }
                Next::Refused(problem) => return self.reading.set(Reading::Refused(problem)),
                Next::Wait(words) => {
                    self.note_once(&mut noted, &words);
                    self.reading.set(Reading::Waiting(words));
                }
                Next::Cut(problem) => self.is_cut(&mut noted, problem),
                Next::GoOn => {}
            }
            rest(backoff.after_failure(chance())).await;
        }
    }

    /// One question and its answer, to its end.
    async fn stream(
        self,
        request: &LogRequest,
        backoff: &mut Backoff,
        noted: &mut Option<String>,
    ) -> Ending {
        let mut seam = self.log.with_untracked(Log::seam);
        let mut stream = match self.open(request, seam.as_ref()).await {
            Ok(stream) => stream.cutting_lines_at(LONGEST_LINE),
            Err(why) => return why.into(),
        };
        loop {
            let (lines, is_over) = match stream.next().await {
                Ok(Some(lines)) => (lines, false),
                Ok(None) => (Vec::from_iter(stream.last()), true),
                Err(why) => return why.into(),
            };
            let mut new = 0;
            self.log.update(|log| {
                for line in lines {
                    new += usize::from(log.push_beyond(&line, seam.as_mut()));
                }
            });
            if new > 0 {
                backoff.reset();
                *noted = None;
                self.goes_on(request);
            }
            if is_over {
                return Ending::Done;
            }
        }
    }

    /// Asks, and says that lines come as they are written once that is so.
    async fn open(
        self,
        request: &LogRequest,
        seam: Option<&Seam>,
    ) -> Result<LineStream, Interruption> {
        let sent = Request::get(request.path(seam));
        let opening = Box::pin(LineStream::open(sent, TIMEOUT));
        let stream = match select(opening, Box::pin(sleep(LATE))).await {
            Either::Left((opened, _)) => opened?,
            Either::Right(((), opening)) => {
                // Lines that were read would come again at once, so their answer is not late
                // because there are none.
                let is_first = self
                    .reading
                    .with_untracked(|reading| *reading == Reading::Opening);
                if is_first && seam.is_none() {
                    self.goes_on(request);
                }
                opening.await?
            }
        };
        let was_cut = self
            .reading
            .with_untracked(|reading| matches!(reading, Reading::Cut { .. }));
        // The answer to who waits for a container's next start may be the log of its last run.
        if was_cut || seam.is_none() {
            self.goes_on(request);
        }
        Ok(stream)
    }

    /// Lines come as they are written, if that is the request.
    fn goes_on(self, request: &LogRequest) {
        if request.follows() && self.reading.with_untracked(|it| *it != Reading::Following) {
            self.reading.set(Reading::Following);
        }
    }

    /// Says something between the lines, but not twice.
    fn note_once(self, noted: &mut Option<String>, words: &str) {
        if noted.as_deref() != Some(words) && self.log.with_untracked(|log| log.seam().is_some()) {
            self.log
                .update(|log| log.note(&format!("{}  {words}", time_of_day(now()))));
        }
        *noted = Some(words.to_owned());
    }

    fn is_cut(self, noted: &mut Option<String>, problem: Problem) {
        let since = match self.reading.get_untracked() {
            Reading::Cut { since, .. } => since,
            _ => now(),
        };
        self.note_once(noted, t().log.interruption_note());
        self.reading.set(Reading::Cut { since, problem });
    }
}

impl From<Interruption> for Ending {
    fn from(interruption: Interruption) -> Self {
        match interruption {
            Interruption::Silence => Self::Silent,
            Interruption::Problem(problem) => Self::Problem(problem),
        }
    }
}
