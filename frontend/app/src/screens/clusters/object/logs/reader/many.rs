//! Reads the logs of many containers into one log, ordered by time.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use drover_ui_core::log::{Entry, Log, LogRequest, LogSource, MAX_STREAMS};
use drover_ui_core::messages::t;
use drover_ui_core::object::{Container, Lifecycle, Object, containers, life};
use futures::future::{AbortHandle, abortable};
use leptos::prelude::*;
use leptos::task::spawn_local;

use super::{ContainerStream, Reader, ReaderState, ReadingState};
use crate::session::Session;

/// Time for which received lines wait, so that the lines of all containers are ordered together.
const BATCH: Duration = Duration::from_millis(250);
/// The maximum number of failed containers that the page names.
const MAX_NAMED: usize = 5;

/// A pod of a cluster.
#[derive(Clone, PartialEq)]
pub(in super::super) struct LogPod {
    /// The name of the cluster.
    pub(in super::super) cluster: String,
    pub(in super::super) pod: Object,
}

/// The names that precede each line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in super::super) enum SourceLabel {
    /// The pod and the container.
    Pod,
    /// The cluster, the pod and the container.
    Cluster,
    /// The cluster, the namespace, the pod and the container.
    Namespace,
}

/// A container.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Key {
    cluster: String,
    namespace: String,
    pod: String,
    /// The UID of the pod. A new pod can have the name of a deleted pod.
    uid: String,
    container: String,
}

impl Key {
    fn source(&self, label: SourceLabel, number: usize) -> LogSource {
        let Self {
            cluster,
            namespace,
            pod,
            container,
            ..
        } = self;
        match label {
            SourceLabel::Pod => LogSource::of(pod, container, number),
            SourceLabel::Cluster => LogSource::with_path(&[cluster, pod, container], number),
            SourceLabel::Namespace => {
                LogSource::with_path(&[cluster, namespace, pod, container], number)
            }
        }
    }
}

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
    label: Arc<str>,
    reading: ArcRwSignal<ReaderState>,
}

/// A container, the request for its log, and the names that precede its lines.
struct Source {
    key: Key,
    request: LogRequest,
    label: SourceLabel,
}

/// The streams of all containers.
#[derive(Clone, Copy)]
struct Streams {
    running: StoredValue<BTreeMap<Key, Running>>,
    /// The number of streams that the reader has started.
    started: StoredValue<usize>,
    /// Changes when a stream is added or removed.
    changed: RwSignal<()>,
}

impl Streams {
    /// Removes the ended streams of deleted pods, because the number of streams is limited.
    fn remove_ended(self, wanted: &BTreeSet<Key>) {
        let is_ended = |stream: &Running| {
            let reading = stream.reading.read_untracked();
            matches!(*reading, ReaderState::Over(_))
        };
        self.running.update_value(|all| {
            all.retain(|key, stream| wanted.contains(key) || !is_ended(stream));
        });
    }

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

    /// Returns the errors of the streams with the names of their containers.
    fn failures(self) -> Vec<String> {
        self.changed.track();
        let failure = |stream: &Running| match stream.reading.get() {
            ReaderState::Cut { problem, .. } | ReaderState::Refused(problem) => {
                Some(t().log.of_source(&stream.label, &problem.message))
            }
            _ => None,
        };
        let mut failures: Vec<_> = self
            .running
            .with_value(|all| all.values().filter_map(failure).collect());
        let more = failures.len().saturating_sub(MAX_NAMED);
        if more > 0 {
            failures.truncate(MAX_NAMED);
            failures.push(t().several_logs.failed(more));
        }
        failures
    }
}

impl Reader {
    /// Reads the logs of all containers of the pods until cleanup. Starts a stream for each new
    /// pod. A change of the request starts a new log.
    pub(in super::super) fn begin_many(
        request: Memo<Option<LogRequest>>,
        pods: Memo<Option<Vec<LogPod>>>,
        label: SourceLabel,
    ) -> Self {
        let reader = Self::new();
        let session = expect_context::<Session>();
        let streams = Streams {
            running: StoredValue::new(BTreeMap::new()),
            started: StoredValue::new(0),
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
            streams.remove_ended(&wanted);
            for key in wanted {
                let request = LogRequest {
                    cluster: key.cluster.clone(),
                    namespace: key.namespace.clone(),
                    pod: key.pod.clone(),
                    container: key.container.clone(),
                    ..request.clone()
                };
                let source = Source {
                    key,
                    request,
                    label,
                };
                reader.start(streams, batch.get_value(), source, pods, session);
            }
            streams.changed.set(());
        });
        Effect::new(move || {
            let state = streams.state();
            if reader.reading.with_untracked(|it| *it != state) {
                reader.reading.set(state);
            }
            let failures = streams.failures();
            if reader.failures.with_untracked(|it| *it != failures) {
                reader.failures.set(failures);
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
        Source {
            key,
            request,
            label,
        }: Source,
        pods: Memo<Option<Vec<LogPod>>>,
        session: Session,
    ) {
        if streams
            .running
            .with_value(|all| all.contains_key(&key) || all.len() >= MAX_STREAMS)
        {
            return;
        }
        let reading = ArcRwSignal::new(ReaderState::Opening);
        let number = streams.started.get_value();
        streams.started.set_value(number + 1);
        let source = key.source(label, number);
        let label = Arc::clone(&source.label);
        let stream = ContainerStream {
            reader: self,
            reading: ReadingState::Own(reading.clone()),
            source: Some(source),
            batch: Some(batch),
        };
        let of = key.clone();
        let life = move || life_in(pods, &of);
        let (task, handle) = abortable(stream.read(request, life, session));
        let running = Running {
            handle,
            label,
            reading,
        };
        streams
            .running
            .update_value(|all| drop(all.insert(key, running)));
        spawn_local(async move {
            // The task ends by abort when the user leaves the screen.
            let _ = task.await;
        });
    }
}

/// Returns the containers whose logs the request needs.
fn wanted(request: Option<&LogRequest>, pods: Option<&[LogPod]>) -> BTreeSet<Key> {
    let chosen = request.map(|request| request.container.as_str());
    let pods = pods.unwrap_or_default().iter();
    pods.flat_map(|LogPod { cluster, pod }| {
        let key = |container: Container| Key {
            cluster: cluster.clone(),
            namespace: pod.namespace().unwrap_or_default().to_owned(),
            pod: pod.name().to_owned(),
            uid: pod.uid().to_owned(),
            container: container.name,
        };
        containers(pod).into_iter().map(key)
    })
    .filter(|key| chosen.is_some_and(|chosen| chosen.is_empty() || chosen == key.container))
    .collect()
}

/// Returns the state of a container. Returns `None` if the pod was deleted.
fn life_in(pods: Memo<Option<Vec<LogPod>>>, key: &Key) -> Option<Lifecycle> {
    pods.with_untracked(|pods| {
        let mut pods = pods.iter().flatten();
        let found = pods.find(|LogPod { cluster, pod }| {
            *cluster == key.cluster
                && pod.name() == key.pod
                && pod.uid() == key.uid
                && pod.namespace().unwrap_or_default() == key.namespace
        })?;
        Some(life(&found.pod, &key.container))
    })
}
