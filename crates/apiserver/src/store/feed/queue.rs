//! The event queue of one watcher.

use std::collections::VecDeque;
use std::sync::Arc;

use parking_lot::Mutex;
use tokio::sync::mpsc::UnboundedReceiver;
use tokio::sync::mpsc::error::TryRecvError;

use super::{Notice, Round, WatchMemoryLimits};

/// The rounds of events that the watcher has not read yet.
#[derive(Debug, Default)]
pub(super) struct Queue {
    rounds: VecDeque<Round>,
    events: usize,
    bytes: usize,
    lagged: bool,
}

impl Queue {
    /// Marks the watcher as too slow, and drops its queue.
    pub(super) fn lag(&mut self) {
        *self = Self {
            lagged: true,
            ..Self::default()
        };
    }

    /// Returns the total size of the queued events, in bytes.
    pub(super) fn bytes(&self) -> usize {
        self.bytes
    }

    /// Queues a round; returns false if the watcher is too slow. A watcher with an empty queue is
    /// never too slow, regardless of the size of the round.
    pub(super) fn offer(
        &mut self,
        round: &Round,
        bytes: usize,
        bounds: &WatchMemoryLimits,
    ) -> bool {
        let full = self.events + round.len() > bounds.queue_events
            || self.bytes + bytes > bounds.queue_bytes;
        if self.events > 0 && full {
            self.lag();
            return false;
        }
        self.events += round.len();
        self.bytes += bytes;
        self.rounds.push_back(Arc::clone(round));
        true
    }
}

/// The registration of a watcher in the feed.
#[derive(Debug)]
pub(in crate::store) struct Subscription {
    pub(in crate::store) id: u64,
    pub(super) more: UnboundedReceiver<()>,
    pub(super) queue: Arc<Mutex<Queue>>,
    /// The queue contains all events after this revision.
    pub(in crate::store) from: u64,
}

impl Subscription {
    /// Waits for the next round; `None` after the feed ended the watcher. Cancel-safe.
    pub(in crate::store) async fn next(&mut self) -> Option<Round> {
        self.more.recv().await?;
        self.take()
    }

    /// Returns the next round without waiting.
    pub(in crate::store) fn waiting(&mut self) -> Result<Round, TryRecvError> {
        self.more.try_recv()?;
        self.take().ok_or(TryRecvError::Disconnected)
    }

    fn take(&self) -> Option<Round> {
        let mut queue = self.queue.lock();
        let round = queue.rounds.pop_front()?;
        queue.events -= round.len();
        queue.bytes -= weight(&round);
        Some(round)
    }

    /// Reports whether the feed ended the watcher because the watcher was too slow.
    pub(in crate::store) fn lagged(&self) -> bool {
        self.queue.lock().lagged
    }
}

pub(super) fn weight(round: &[Arc<Notice>]) -> usize {
    round.iter().map(|event| event.weight()).sum()
}
