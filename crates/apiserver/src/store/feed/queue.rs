//! The event queue of one watcher.

use std::collections::VecDeque;
use std::future::poll_fn;
use std::sync::Arc;
use std::task::{Context, Poll, Waker};

use parking_lot::Mutex;

use super::{Round, WatchMemoryLimits};

/// The rounds of events that the watcher has not read yet.
#[derive(Debug, Default)]
pub(super) struct Queue {
    rounds: VecDeque<Arc<Round>>,
    events: usize,
    bytes: usize,
    lagged: bool,
    /// True if the feed delivers no more rounds to the watcher.
    ended: bool,
    /// Wakes the task that waits for the next round. A queue that receives several rounds before
    /// the task runs wakes the task once.
    waker: Option<Waker>,
}

/// The result of offering a round to a watcher.
#[derive(Debug)]
pub(super) enum Offer {
    /// The round is queued. The caller wakes the waiting task.
    Queued(Option<Waker>),
    /// The watcher is too slow. Its queue is dropped.
    TooSlow,
}

impl Queue {
    /// Marks the watcher as too slow, and drops its queue.
    pub(super) fn lag(&mut self) {
        *self = Self {
            lagged: true,
            waker: self.waker.take(),
            ..Self::default()
        };
    }

    /// Ends the watcher after its queued rounds. Returns the waiting task.
    pub(super) fn end(&mut self) -> Option<Waker> {
        self.ended = true;
        self.waker.take()
    }

    /// Returns the total size of the queued events, in bytes.
    pub(super) fn bytes(&self) -> usize {
        self.bytes
    }

    /// Queues a round unless the watcher is too slow. A watcher with an empty queue is never too
    /// slow, regardless of the size of the round.
    pub(super) fn offer(&mut self, round: &Arc<Round>, bounds: &WatchMemoryLimits) -> Offer {
        let full = self.events + round.len() > bounds.queue_events
            || self.bytes + round.weight() > bounds.queue_bytes;
        if self.events > 0 && full {
            self.lag();
            return Offer::TooSlow;
        }
        self.events += round.len();
        self.bytes += round.weight();
        self.rounds.push_back(Arc::clone(round));
        Offer::Queued(self.waker.take())
    }

    fn take(&mut self) -> Result<Arc<Round>, NoRound> {
        let Some(round) = self.rounds.pop_front() else {
            return Err(if self.ended {
                NoRound::Ended
            } else {
                NoRound::Pending
            });
        };
        self.events -= round.len();
        self.bytes -= round.weight();
        Ok(round)
    }
}

/// The reason why a queue has no round.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::store) enum NoRound {
    /// The feed has delivered no round since the last read.
    Pending,
    /// The feed ended the watcher.
    Ended,
}

/// The registration of a watcher in the feed.
#[derive(Debug)]
pub(in crate::store) struct Subscription {
    pub(in crate::store) id: u64,
    pub(super) queue: Arc<Mutex<Queue>>,
    /// The queue contains all events after this revision.
    pub(in crate::store) from: u64,
}

impl Subscription {
    /// Waits for the next round; `None` after the feed ended the watcher. Cancel-safe.
    pub(in crate::store) async fn next(&mut self) -> Option<Arc<Round>> {
        poll_fn(|context| self.poll(context)).await
    }

    fn poll(&self, context: &Context<'_>) -> Poll<Option<Arc<Round>>> {
        let mut queue = self.queue.lock();
        match queue.take() {
            Ok(round) => Poll::Ready(Some(round)),
            Err(NoRound::Ended) => Poll::Ready(None),
            Err(NoRound::Pending) => {
                match &mut queue.waker {
                    Some(waker) => waker.clone_from(context.waker()),
                    none => *none = Some(context.waker().clone()),
                }
                Poll::Pending
            }
        }
    }

    /// Returns the next round without waiting.
    pub(in crate::store) fn waiting(&mut self) -> Result<Arc<Round>, NoRound> {
        self.queue.lock().take()
    }

    /// Reports whether the feed ended the watcher because the watcher was too slow.
    pub(in crate::store) fn lagged(&self) -> bool {
        self.queue.lock().lagged
    }
}
