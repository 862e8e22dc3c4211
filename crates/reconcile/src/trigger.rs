//! A controller's options and its way in.

use std::fmt;
use std::hash::Hash;
use std::sync::Arc;
use std::time::Duration;

use futures::stream::BoxStream;
use parking_lot::Mutex;
use tokio::sync::Notify;

use crate::backoff::Backoff;
use crate::metrics::Metrics;
use crate::queue::Queue;

/// How a controller works; change the fields that differ from [`Options::new`].
#[derive(Clone, Copy, Debug)]
pub struct Options {
    /// For logs and metrics: lower case, words joined by `-`.
    pub name: &'static str,
    /// Calls at a time, of different keys.
    pub concurrency: usize,
    /// Longest time of one call.
    pub timeout: Option<Duration>,
    /// Delays after failures.
    pub backoff: Backoff,
    /// From the first trigger to the call: changes that come together are one call.
    pub debounce: Duration,
    /// From the end of a call to the next call of the same key.
    pub cooldown: Duration,
    /// Ready keys from which on streams are not read.
    pub capacity: usize,
    /// What becomes of calls under way when the controller is stopped.
    pub shutdown: Shutdown,
}

/// See [`Options::shutdown`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Shutdown {
    /// They end at their next await.
    Abort,
    /// They end by themselves, or by [`Options::timeout`].
    Finish,
}

impl Options {
    /// One call at a time, of two minutes at most; retries after one second up to a minute.
    pub const fn new(name: &'static str) -> Self {
        Self {
            name,
            concurrency: 1,
            timeout: Some(Duration::from_mins(2)),
            backoff: Backoff::new(Duration::from_secs(1), Duration::from_mins(1)),
            debounce: Duration::ZERO,
            cooldown: Duration::ZERO,
            capacity: 10_000,
            shutdown: Shutdown::Abort,
        }
    }
}

/// Adds keys to a controller's queue; clones share it.
pub struct Trigger<K> {
    pub(crate) options: Options,
    pub(crate) queue: Arc<Queue<K>>,
    pub(crate) added: Arc<Added<K>>,
    pub(crate) metrics: crate::metrics::ControllerMetrics,
}

/// Streams that the controller has not taken over yet.
pub(crate) struct Added<K> {
    pub(crate) streams: Mutex<Vec<BoxStream<'static, K>>>,
    pub(crate) notify: Notify,
}

impl<K> Clone for Trigger<K> {
    fn clone(&self) -> Self {
        Self {
            options: self.options,
            queue: Arc::clone(&self.queue),
            added: Arc::clone(&self.added),
            metrics: self.metrics.clone(),
        }
    }
}

impl<K> fmt::Debug for Trigger<K> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Trigger").field(&self.options.name).finish()
    }
}

impl<K: Clone + Eq + Hash> Trigger<K> {
    /// The way into a new controller.
    pub fn new(options: Options, metrics: &Metrics) -> Self {
        let metrics = metrics.controller(options.name);
        Self {
            options,
            queue: Arc::new(Queue::new(options, metrics.clone())),
            added: Arc::new(Added {
                streams: Mutex::default(),
                notify: Notify::new(),
            }),
            metrics,
        }
    }

    /// Has a key reconciled; a call that is under way is followed by another.
    pub fn enqueue(&self, key: K) {
        self.queue.enqueue(key);
    }

    /// Has a key reconciled, and waits while too many keys are ready.
    pub async fn enqueue_when_room(&self, key: K) {
        self.queue.enqueue_when_room(key).await;
    }

    /// Has each key of a stream reconciled, until the stream ends.
    pub fn follow(&self, stream: BoxStream<'static, K>) {
        self.added.streams.lock().push(stream);
        self.added.notify.notify_one();
    }
}
