//! Reads the logs of many containers into one log, ordered by time.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use drover_ui_core::log::{Entry, Log, LogRequest, LogSource};
use drover_ui_core::object::{Lifecycle, Object, containers, life};
use futures::future::{AbortHandle, abortable};
use leptos::prelude::*;
use leptos::task::spawn_local;

use super::{ContainerStream, Reader, ReaderState, ReadingState};
use crate::session::Session;

/// Time for which received lines wait, so that the lines of all containers are ordered together.
const BATCH: Duration = Duration::from_millis(250);
/// The maximum number of containers that the page reads at the same time.
pub(in super::super) const MAX_STREAMS: usize = 50;

/// A pod and a container.
type Key = (String, String);

/// The received lines that the log does not contain yet.
#[derive(Clone, Default)]
pub(super) struct Batch(ArcRwSignal<Vec<Entry>>);

impl Batch {
    /// Adds lines, and returns their number. The log receives the lines after [`BATCH`].
    pub(super) fn add(&self, entries: Vec<Entry>, log: RwSignal<Log>) -> usize {
        let count = entries.len();
        let was_empty = self.0.with_untracked(Vec::is_empty);
        self.0.update_untracked(|waiting| waiting.extend(entries));
        if was_empty && count > 0 {
            let batch = self.clone();
            set_timeout(move || batch.flush(log), BATCH);
        }
        count
    }

    /// Adds the waiting lines to the log.
    pub(super) fn flush(&self, log: RwSignal<Log>) {
        let mut entries = Vec::new();
        self.0
            .update_untracked(|waiting| entries = std::mem::take(waiting));
        if !entries.is_empty() {
            // The user can leave the screen before the timer.
            let _ = log.try_update(|log| log.merge(entries));
        }
    }
}

/// A stream that is being read.
struct Running {
    handle: AbortHandle,
    reading: ArcRwSignal<ReaderState>,
}

/// The streams of all containers.
#[derive(Clone, Copy)]
struct Streams {
    running: StoredValue<BTreeMap<Key, Running>>,
    /// Changes when a stream is added or removed.
    changed: RwSignal<()>,
}

impl Streams {
    fn end_all(self) {
        let all = self.running.try_update_value(std::mem::take);
        for (_, stream) in all.unwrap_or_default() {
            stream.handle.abort();
        }
    }

    /// Returns the state of all streams together: the state that needs the user's attention most.
    fn state(self) -> ReaderState {
        self.changed.track();
        let states: Vec<ReaderState> = self
            .running
            .with_value(|all| all.values().map(|stream| stream.reading.get()).collect());
        let rank = |state: &ReaderState| match state {
            ReaderState::Cut { .. } => 0,
            ReaderState::Following => 1,
            ReaderState::Opening => 2,
            ReaderState::Waiting(_) => 3,
            ReaderState::Refused(_) => 4,
            ReaderState::Over(_) => 5,
        };
        let worst = states.into_iter().min_by_key(rank);
        worst.unwrap_or(ReaderState::Opening)
    }
}

impl Reader {
    /// Reads the logs of all containers of the pods until cleanup. Starts a stream for each new
    /// pod. A change of the request starts a new log.
    pub(in super::super) fn begin_many(
        request: Memo<Option<LogRequest>>,
        pods: Memo<Option<Vec<Object>>>,
    ) -> Self {
        let reader = Self {
            log: RwSignal::new(Log::default()),
            reading: RwSignal::new(ReaderState::Opening),
        };
        let session = expect_context::<Session>();
        let streams = Streams {
            running: StoredValue::new(BTreeMap::new()),
            changed: RwSignal::new(()),
        };
        let batch = StoredValue::new(Batch::default());
        let asked = StoredValue::new(None::<LogRequest>);
        let wanted = Memo::new(move |_| wanted(request.get().as_ref(), pods.get().as_deref()));
        Effect::new(move || {
            let (request, wanted) = (request.get(), wanted.get());
            if asked.get_value() != request {
                streams.end_all();
                batch.set_value(Batch::default());
                reader.log.update(Log::clear);
                asked.set_value(request.clone());
            }
            let Some(request) = request else { return };
            for (pod, container) in wanted {
                let request = LogRequest {
                    pod,
                    container,
                    ..request.clone()
                };
                reader.start(streams, batch.get_value(), request, pods, session);
            }
            streams.changed.set(());
        });
        Effect::new(move || {
            let state = streams.state();
            if reader.reading.with_untracked(|it| *it != state) {
                reader.reading.set(state);
            }
        });
        on_cleanup(move || streams.end_all());
        reader
    }

    /// Starts the stream of a container, unless the stream exists.
    fn start(
        self,
        streams: Streams,
        batch: Batch,
        request: LogRequest,
        pods: Memo<Option<Vec<Object>>>,
        session: Session,
    ) {
        let key = (request.pod.clone(), request.container.clone());
        if streams
            .running
            .with_value(|all| all.contains_key(&key) || all.len() >= MAX_STREAMS)
        {
            return;
        }
        let reading = ArcRwSignal::new(ReaderState::Opening);
        let number = streams.running.with_value(BTreeMap::len);
        let stream = ContainerStream {
            reader: self,
            reading: ReadingState::Own(reading.clone()),
            source: Some(LogSource::of(&request.pod, &request.container, number)),
            batch: Some(batch),
        };
        let (pod, container) = key.clone();
        let life = move || life_in(pods, &pod, &container);
        let (task, handle) = abortable(stream.read(request, life, session));
        streams
            .running
            .update_value(|all| drop(all.insert(key, Running { handle, reading })));
        spawn_local(async move {
            // The task ends by abort when the user leaves the screen.
            let _ = task.await;
        });
    }
}

/// Returns the containers whose logs the request needs.
fn wanted(request: Option<&LogRequest>, pods: Option<&[Object]>) -> BTreeSet<Key> {
    let chosen = request.map(|request| request.container.as_str());
    let pods = pods.unwrap_or_default().iter();
    pods.flat_map(|pod| {
        let containers = containers(pod).into_iter();
        let names = containers.map(|container| container.name);
        names.map(|name| (pod.name().to_owned(), name))
    })
    .filter(|(_, name)| chosen.is_some_and(|chosen| chosen.is_empty() || chosen == name))
    .collect()
}

/// Returns the state of a container. Returns `None` if the pod was deleted.
fn life_in(pods: Memo<Option<Vec<Object>>>, pod: &str, container: &str) -> Option<Lifecycle> {
    pods.with_untracked(|pods| {
        let mut pods = pods.iter().flatten();
        let found = pods.find(|it| it.name() == pod)?;
        Some(life(found, container))
    })
}
