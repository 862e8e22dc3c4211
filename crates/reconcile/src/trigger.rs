//! The handle that adds keys to a controller's queue.

use std::fmt;
use std::hash::Hash;
use std::sync::Arc;

use futures::stream::BoxStream;
use parking_lot::Mutex;
use tokio::sync::Notify;

use crate::metrics::Metrics;
use crate::options::Options;
use crate::queue::Queue;

/// A handle that adds keys to a controller's queue. Clones share the queue.
pub struct Trigger<K> {
    pub(crate) options: Options,
    pub(crate) queue: Arc<Queue<K>>,
    pub(crate) added: Arc<Added<K>>,
    pub(crate) metrics: crate::metrics::ControllerMetrics,
}

/// Streams that the controller has not started to read yet.
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
    /// Creates the trigger of a new controller.
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

    /// Enqueues a key. If a call for the key is running, the controller calls the reconciler again
    /// after that call.
    pub fn enqueue(&self, key: K) {
        self.queue.enqueue(key);
    }

    /// Enqueues a key. Waits until the number of ready keys is below the capacity of the queue.
    pub async fn enqueue_when_room(&self, key: K) {
        self.queue.enqueue_when_room(key).await;
    }

    /// Enqueues each key of a stream, until the stream ends.
    pub fn follow(&self, stream: BoxStream<'static, K>) {
        self.added.streams.lock().push(stream);
        self.added.notify.notify_one();
    }
}
