//! Checks all streams of a tunnel periodically for buffered bytes and stalls.

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

/// The streams whose response heads have arrived through a tunnel.
#[derive(Debug)]
pub(super) struct Registry {
    streams: Mutex<BTreeMap<u32, Tracked>>,
    stall_after: Duration,
    stalled: AtomicU64,
    shed: AtomicU64,
}

/// A stream and the number of its unread bytes.
type UnreadStream = (usize, Arc<Stream>);

struct Tracked {
    stream: Weak<Stream>,
    progress: Progress,
}

impl std::fmt::Debug for Tracked {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.progress.fmt(f)
    }
}

/// Progress of a user's reads from a stream.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
struct Progress {
    reads: u64,
    /// Time of the first check that found unread bytes after the most recent read.
    unread_since: Option<Instant>,
}

impl Progress {
    /// Records one check of a stream. Returns true if the stream is stalled: it has unread bytes,
    /// and the user has not read for `stall_after`.
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

    /// Checks all streams, records their unread bytes, and resets stalled streams and streams above
    /// the budget.
    pub(super) fn sweep(&self, budget: &TunnelBudget) {
        let (stalled, mut unread_streams) = self.check(Instant::now());
        for stream in stalled {
            self.stalled.fetch_add(1, Ordering::Relaxed);
            stream.abort(AbortReason::Stalled(self.stall_after));
        }
        budget.set_buffered(unread_streams.iter().map(|(unread, _)| unread).sum());
        let Some((over, mut excess)) = budget.excess() else {
            return;
        };
        unread_streams.sort_by_key(|(unread, _)| Reverse(*unread));
        for (unread, stream) in unread_streams {
            if excess == 0 {
                break;
            }
            self.shed.fetch_add(1, Ordering::Relaxed);
            stream.abort(AbortReason::Shed(over));
            excess = excess.saturating_sub(unread);
            budget.set_buffered(budget.buffered().saturating_sub(unread));
        }
    }

    /// Returns the stalled streams, and the streams that have unread bytes but are not stalled.
    fn check(&self, now: Instant) -> (Vec<Arc<Stream>>, Vec<UnreadStream>) {
        let (mut stalled, mut unread_streams) = (Vec::new(), Vec::new());
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
                unread_streams.push((unread, stream));
            }
        }
        (stalled, unread_streams)
    }
}

#[cfg(test)]
mod tests {
    use super::Progress;
    use std::time::Duration;
    use tokio::time::Instant;

    const LIMIT: Duration = Duration::from_mins(1);

    /// Runs checks with the given (second, number of reads, unread bytes). Returns the seconds at
    /// which the stream was stalled.
    fn stalls(checks: &[(u64, u64, usize)]) -> Vec<u64> {
        let start = Instant::now();
        let mut progress = Progress::default();
        let check = |&&(second, reads, unread): &&(u64, u64, usize)| {
            progress.observe(start + Duration::from_secs(second), reads, unread, LIMIT)
        };
        checks
            .iter()
            .filter(check)
            .map(|(second, ..)| *second)
            .collect()
    }

    #[test]
    fn stream_with_unread_bytes_for_a_minute_is_reported_as_stalled() {
        assert_eq!(
            stalls(&[(0, 1, 9), (30, 1, 9), (59, 1, 9), (60, 1, 9)]),
            [60]
        );
    }

    #[test]
    fn idle_watch_is_never_reported_as_stalled() {
        assert_eq!(
            stalls(&[(0, 5, 0), (600, 5, 0), (601, 5, 7), (660, 5, 7)]),
            []
        );
    }

    #[test]
    fn stream_of_slow_reader_is_not_reported_as_stalled() {
        assert_eq!(
            stalls(&[(0, 0, 9), (50, 1, 9), (100, 2, 9), (150, 3, 9)]),
            []
        );
    }
}
