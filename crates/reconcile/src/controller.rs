//! Calls a reconciler for each key of a queue.

use std::any::Any;
use std::collections::HashMap;
use std::error::Error;
use std::fmt;
use std::hash::Hash;
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use futures::StreamExt as _;
use futures::stream::{BoxStream, SelectAll};
use thiserror::Error;
use tokio::task::{Id, JoinError, JoinSet};
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use crate::backoff::jitter;
use crate::leader::LeaderGate;
use crate::options::Shutdown;
use crate::queue::{Attempt, Outcome};
use crate::trigger::Trigger;

/// A type that changes the actual state of one object to the desired state.
pub trait Reconciler: Send + Sync + 'static {
    /// The key of a reconciled object, for example its name or UID. A reconciler of a single task
    /// uses `()`.
    type Key: Clone + Eq + Hash + fmt::Debug + Send + Sync + 'static;
    /// The error of a failed call to the reconciler.
    type Error: Error + Send + Sync + 'static;

    /// Reads the current state and makes the necessary changes. The controller may call the
    /// function at any time and repeatedly, and may cancel the call at any await point.
    fn reconcile(
        &self,
        key: &Self::Key,
        attempt: &Attempt,
    ) -> impl Future<Output = Result<Action, Self::Error>> + Send;

    /// Returns true for an error that concurrent changes cause, usually a conflict. The controller
    /// logs such an error at level debug.
    fn is_expected(&self, _error: &Self::Error) -> bool {
        false
    }
}

/// The time of the next call to the reconciler after a successful call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Action(Option<Duration>);

impl Action {
    /// Calls the reconciler when the next trigger occurs.
    pub const fn await_change() -> Self {
        Self(None)
    }

    /// Calls the reconciler after the duration `after`, or earlier if a trigger occurs.
    pub const fn requeue(after: Duration) -> Self {
        Self(Some(after))
    }

    /// Works as [`Self::requeue`], with a random duration between 3/4 and 5/4 of `after`.
    pub fn requeue_about(after: Duration) -> Self {
        Self(Some(after.mul_f64(0.75 + jitter() / 2.0)))
    }
}

/// The reason why a call to the reconciler failed.
#[derive(Debug, Error)]
enum Failure<E: Error> {
    #[error(transparent)]
    Reconciler(E),
    #[error("reconciliation took longer than {seconds} s", seconds = .0.as_secs())]
    Timeout(Duration),
}

type Ended<E> = Result<Action, Failure<E>>;

/// A reconciler and its triggers. [`Controller::run`] runs the reconciler.
pub struct Controller<R: Reconciler> {
    reconciler: Arc<R>,
    trigger: Trigger<R::Key>,
    at_start: Box<dyn Fn() -> Vec<R::Key> + Send + Sync>,
    sources: SelectAll<BoxStream<'static, R::Key>>,
    running: JoinSet<Ended<R::Error>>,
    calls: HashMap<Id, (R::Key, Attempt, Instant)>,
}

impl<R: Reconciler> fmt::Debug for Controller<R> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Controller")
            .field(&self.trigger.options.name)
            .finish()
    }
}

impl<R: Reconciler> Controller<R> {
    /// Creates a controller that takes its keys from `trigger`. Only one controller may use a
    /// trigger.
    pub fn new(trigger: Trigger<R::Key>, reconciler: R) -> Self {
        Self {
            reconciler: Arc::new(reconciler),
            trigger,
            at_start: Box::new(Vec::new),
            sources: SelectAll::new(),
            running: JoinSet::new(),
            calls: HashMap::new(),
        }
    }

    /// Enqueues the keys that `keys` returns, without debounce, each time the controller becomes
    /// the leader.
    #[must_use]
    pub fn at_start(mut self, keys: impl Fn() -> Vec<R::Key> + Send + Sync + 'static) -> Self {
        self.at_start = Box::new(keys);
        self
    }

    /// Enqueues each key of a stream, such as [`on_change`](crate::on_change) or a kube watcher.
    #[must_use]
    pub fn on(mut self, stream: BoxStream<'static, R::Key>) -> Self {
        self.sources.push(stream);
        self
    }

    /// Runs the controller until `stop` is cancelled. The controller calls the reconciler only
    /// while the gate is open. When the gate closes, the controller aborts running calls. When the
    /// gate opens again, the controller repeats these calls.
    pub async fn run(mut self, mut leader: LeaderGate, stop: CancellationToken) {
        let trigger = self.trigger.clone();
        let mut leads = false;
        loop {
            if leader.is_open() != leads {
                leads = !leads;
                self.set_leading(leads).await;
            }
            let may_start = leads && self.running.len() < trigger.options.concurrency;
            let may_read = !self.sources.is_empty() && trigger.queue.has_room();
            tokio::select! {
                biased;
                () = stop.cancelled() => break,
                () = leader.changed() => {}
                Some(ended) = self.running.join_next_with_id() => self.ended(ended),
                () = trigger.added.notify.notified() => {
                    self.sources.extend(std::mem::take(&mut *trigger.added.streams.lock()));
                }
                (key, attempt) = trigger.queue.take(), if may_start => self.start(key, attempt),
                Some(key) = self.sources.next(), if may_read => trigger.enqueue(key),
            }
        }
        if trigger.options.shutdown == Shutdown::Abort {
            self.running.abort_all();
        }
        while self.running.join_next().await.is_some() {}
    }

    async fn set_leading(&mut self, leads: bool) {
        if leads {
            for key in (self.at_start)() {
                self.trigger.queue.enqueue_after(key, Duration::ZERO);
            }
            return;
        }
        self.running.abort_all();
        while let Some(ended) = self.running.join_next_with_id().await {
            self.ended(ended);
        }
    }

    fn start(&mut self, key: R::Key, attempt: Attempt) {
        let reconciler = Arc::clone(&self.reconciler);
        let call = (key.clone(), attempt.clone(), Instant::now());
        let timeout = self.trigger.options.timeout;
        let task = self.running.spawn(async move {
            // Pinned, because the task would reserve memory for each await point that owns the future.
            let reconciling = pin!(reconciler.reconcile(&key, &attempt));
            let Some(timeout) = timeout else {
                return reconciling.await.map_err(Failure::Reconciler);
            };
            match tokio::time::timeout(timeout, reconciling).await {
                Ok(ended) => ended.map_err(Failure::Reconciler),
                Err(_) => Err(Failure::Timeout(timeout)),
            }
        });
        self.calls.insert(task.id(), call);
    }

    fn ended(&mut self, ended: Result<(Id, Ended<R::Error>), JoinError>) {
        let (id, ended) = match ended {
            Ok((id, ended)) => (id, Ok(ended)),
            Err(error) => (error.id(), Err(error)),
        };
        let Some((key, attempt, started)) = self.calls.remove(&id) else {
            return;
        };
        let outcome = match ended {
            Ok(Ok(Action(requeue))) => Outcome::Done { requeue },
            Ok(Err(failure)) => {
                let expected = matches!(&failure, Failure::Reconciler(error) if self.reconciler.is_expected(error));
                self.failed(&key, &attempt, expected, error_chain(&failure))
            }
            Err(error) if error.is_cancelled() => Outcome::Interrupted,
            Err(error) => {
                let reason = format!("panic: {}", message(&*error.into_panic()));
                self.failed(&key, &attempt, false, reason)
            }
        };
        self.trigger.metrics.finished(started.elapsed());
        self.trigger.queue.finish(&key, outcome);
    }

    fn failed(&self, key: &R::Key, attempt: &Attempt, expected: bool, reason: String) -> Outcome {
        self.trigger.metrics.failed();
        let controller = self.trigger.options.name;
        let (failures, retry_in) = (attempt.failures + 1, attempt.retry_in);
        if expected {
            tracing::debug!(
                controller,
                ?key,
                reason,
                failures,
                ?retry_in,
                "reconciliation failed"
            );
        } else {
            tracing::warn!(
                controller,
                ?key,
                reason,
                failures,
                ?retry_in,
                "reconciliation failed"
            );
        }
        Outcome::Failed {
            reason: reason.into(),
        }
    }
}

/// Joins the messages of an error and its causes in one line.
pub fn error_chain(error: &dyn Error) -> String {
    let mut text = error.to_string();
    let mut source = error.source();
    while let Some(cause) = source {
        let cause_text = cause.to_string();
        // Some errors already contain the text of their cause.
        if !text.ends_with(&cause_text) {
            text = format!("{text}: {cause_text}");
        }
        source = cause.source();
    }
    text
}

fn message(panic: &(dyn Any + Send)) -> &str {
    let text = panic.downcast_ref::<&str>().copied();
    text.or_else(|| panic.downcast_ref::<String>().map(String::as_str))
        .unwrap_or("no message")
}
