//! The regular look at all streams of a tunnel: who holds how much, and who has stalled.

use std::cmp::Reverse;
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Weak};
use std::time::Duration;

use parking_lot::Mutex;
use tokio::time::Instant;

use super::error::AbortReason;
use super::stream::Stream;
use crate::budget::TunnelBudget;

/// The streams of a tunnel that have had their response's head.
#[derive(Debug)]
pub(super) struct Registry {
    streams: Mutex<BTreeMap<u32, Tracked>>,
    stall_after: Duration,
    stalled: AtomicU64,
    shed: AtomicU64,
}

/// A stream with how many bytes wait in it.
type Holding = (usize, Arc<Stream>);

struct Tracked {
    stream: Weak<Stream>,
    progress: Progress,
}

impl std::fmt::Debug for Tracked {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.progress.fmt(f)
    }
}

/// What is known about a user's reading.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
struct Progress {
    reads: u64,
    /// When bytes were first seen waiting since the last read.
    unread_since: Option<Instant>,
}

impl Progress {
    /// Takes in one look at a stream. Nothing waiting is not a stall, however long it is
    /// quiet; neither is a user who reads now and then.
    fn observe(&mut self, now: Instant, reads: u64, unread: usize, stall_after: Duration) -> bool {
        let read_since = self.reads != reads;
        self.reads = reads;
        if unread == 0 {
            self.unread_since = None;
            return false;
        }
        if read_since || self.unread_since.is_none() {
            self.unread_since = Some(now);
        }
        self.unread_since
            .is_some_and(|since| now.duration_since(since) >= stall_after)
    }
}

impl Registry {
    pub(super) const fn new(stall_after: Duration) -> Self {
        Self {
            streams: Mutex::new(BTreeMap::new()),
            stall_after,
            stalled: AtomicU64::new(0),
            shed: AtomicU64::new(0),
        }
    }

    pub(super) fn insert(&self, id: u32, stream: &Arc<Stream>) {
        let tracked = Tracked {
            stream: Arc::downgrade(stream),
            progress: Progress::default(),
        };
        self.streams.lock().insert(id, tracked);
    }

    pub(super) fn remove(&self, id: u32) {
        self.streams.lock().remove(&id);
    }

    pub(super) fn stalled(&self) -> u64 {
        self.stalled.load(Ordering::Relaxed)
    }

    pub(super) fn shed(&self) -> u64 {
        self.shed.load(Ordering::Relaxed)
    }

    /// Looks at every stream, notes what they hold, and resets those that must go.
    pub(super) fn sweep(&self, budget: &TunnelBudget) {
        let (stalled, mut holding) = self.look(Instant::now());
        for stream in stalled {
            self.stalled.fetch_add(1, Ordering::Relaxed);
            stream.abort(AbortReason::Stalled(self.stall_after));
        }
        budget.set_buffered(holding.iter().map(|(unread, _)| unread).sum());
        let Some((over, mut excess)) = budget.excess() else {
            return;
        };
        holding.sort_by_key(|(unread, _)| Reverse(*unread));
        for (unread, stream) in holding {
            if excess == 0 {
                break;
            }
            self.shed.fetch_add(1, Ordering::Relaxed);
            stream.abort(AbortReason::Shed(over));
            excess = excess.saturating_sub(unread);
            budget.set_buffered(budget.buffered().saturating_sub(unread));
        }
    }

    /// The stalled streams, and the others that hold something with how much.
    fn look(&self, now: Instant) -> (Vec<Arc<Stream>>, Vec<Holding>) {
        let (mut stalled, mut holding) = (Vec::new(), Vec::new());
        for tracked in self.streams.lock().values_mut() {
            let Some(stream) = tracked.stream.upgrade() else {
                continue;
            };
            let unread = stream.unread();
            if tracked
                .progress
                .observe(now, stream.reads(), unread, self.stall_after)
            {
                stalled.push(stream);
            } else if unread > 0 {
                holding.push((unread, stream));
            }
        }
        (stalled, holding)
    }
}

#[cfg(test)]
mod tests {
    use super::Progress;
    use std::time::Duration;
    use tokio::time::Instant;

    const LIMIT: Duration = Duration::from_mins(1);

    /// Looks at (second, reads so far, bytes waiting) in turn; the seconds of the stalls.
    fn stalls(looks: &[(u64, u64, usize)]) -> Vec<u64> {
        let start = Instant::now();
        let mut progress = Progress::default();
        let look = |&&(second, reads, unread): &&(u64, u64, usize)| {
            progress.observe(start + Duration::from_secs(second), reads, unread, LIMIT)
        };
        looks
            .iter()
            .filter(look)
            .map(|(second, ..)| *second)
            .collect()
    }

    #[test]
    fn unread_bytes_for_a_minute_are_a_stall() {
        assert_eq!(
            stalls(&[(0, 1, 9), (30, 1, 9), (59, 1, 9), (60, 1, 9)]),
            [60]
        );
    }

    #[test]
    fn quiet_watch_never_stalls() {
        assert_eq!(
            stalls(&[(0, 5, 0), (600, 5, 0), (601, 5, 7), (660, 5, 7)]),
            []
        );
    }

    #[test]
    fn slow_reader_is_not_stalled_as_long_as_it_reads() {
        assert_eq!(
            stalls(&[(0, 0, 9), (50, 1, 9), (100, 2, 9), (150, 3, 9)]),
            []
        );
    }
}
