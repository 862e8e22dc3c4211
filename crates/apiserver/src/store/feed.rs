//! Distribution of changes from the writer to watches.
//!
//! The writer appends to a ring and continues. A separate thread distributes the events to watchers
//! by topic, so that a change has no cost for watchers of other topics. The thread ends watchers
//! that read too slowly, instead of waiting for them.

mod queue;
mod subscribers;

use std::collections::{VecDeque, vec_deque};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::thread;
use std::time::Duration;

use parking_lot::{Condvar, Mutex, MutexGuard};

pub(super) use self::queue::{NoRound, Subscription};
use self::subscribers::Subscribers;
use super::event::{Event, Notice, Round};

/// Maximum number of events that wait for distribution. Above this number, all watches end.
const MAX_UNDISTRIBUTED_EVENTS: usize = 65_536;

/// Maximum size of the events that wait for distribution, in bytes.
const MAX_UNDISTRIBUTED_BYTES: usize = 64 << 20;

/// Time per watcher for which the feed collects events before the next round. A watcher's write takes
/// several times as long.
const LINGER_PER_WATCHER: Duration = Duration::from_micros(2);

/// Maximum time for which the feed collects events.
const MAX_LINGER: Duration = Duration::from_millis(5);

/// Minimum number of watchers of a round after which the feed collects events.
const LINGER_FROM_WATCHERS: usize = 100;

/// Memory limits of watches.
#[derive(Debug, Clone, Copy)]
pub(super) struct WatchMemoryLimits {
    pub(super) ring_events: usize,
    pub(super) ring_bytes: usize,
    pub(super) queue_events: usize,
    pub(super) queue_bytes: usize,
    pub(super) waiting_bytes: usize,
}

/// The state of the feed that the writer, the thread and the watchers share.
#[derive(Debug)]
pub(super) struct Feed {
    bounds: WatchMemoryLimits,
    ring: Mutex<Ring>,
    more: Condvar,
    subscribers: Mutex<Subscribers>,
    /// The revision up to which the queues of the watchers contain all events. Changes only under
    /// the lock of `subscribers`.
    dispatched: AtomicU64,
    /// The last revision that is durable and in the ring.
    revision: AtomicU64,
    /// The last revision of a transaction whose commit has begun. Readers of the database can see
    /// the revision before the ring contains it.
    committing: AtomicU64,
    /// The size in bytes of all events in memory, in the ring and in queues.
    held: Arc<AtomicUsize>,
}

/// The latest events, without a gap.
#[derive(Debug)]
struct Ring {
    events: VecDeque<Arc<Notice>>,
    bytes: usize,
    /// The revision after which the ring contains all events.
    start: u64,
    revision: u64,
    /// The revision up to which the thread has taken events from the ring.
    taken: u64,
    closed: bool,
}

/// Returns the time for which the feed collects events after a round for this number of watchers.
fn linger_for(receivers: usize) -> Duration {
    if receivers < LINGER_FROM_WATCHERS {
        return Duration::ZERO;
    }
    let watchers = u32::try_from(receivers).unwrap_or(u32::MAX);
    LINGER_PER_WATCHER.saturating_mul(watchers).min(MAX_LINGER)
}

impl Feed {
    pub(super) fn new(bounds: WatchMemoryLimits, revision: u64) -> Self {
        Self {
            bounds,
            ring: Mutex::new(Ring {
                events: VecDeque::new(),
                bytes: 0,
                start: revision,
                revision,
                taken: revision,
                closed: false,
            }),
            more: Condvar::new(),
            subscribers: Mutex::new(Subscribers::default()),
            dispatched: AtomicU64::new(revision),
            revision: AtomicU64::new(revision),
            committing: AtomicU64::new(revision),
            held: Arc::default(),
        }
    }

    /// Records that the commit of a transaction begins. `revision` is the last revision of the
    /// transaction.
    pub(super) fn commit_begins(&self, revision: u64) {
        self.committing.fetch_max(revision, Ordering::SeqCst);
    }

    /// Returns the last durable revision.
    pub(super) fn revision(&self) -> u64 {
        self.revision.load(Ordering::Acquire)
    }

    /// Returns the revision up to which all events are in queues.
    pub(super) fn dispatched(&self) -> u64 {
        self.dispatched.load(Ordering::Acquire)
    }

    /// Returns the counter of bytes in memory.
    pub(super) fn counted(&self) -> Arc<AtomicUsize> {
        Arc::clone(&self.held)
    }

    /// Appends durable events in order. Only the writer calls this method.
    pub(super) fn publish(&self, events: impl IntoIterator<Item = Event>, revision: u64) {
        let mut ring = self.ring.lock();
        for event in events {
            ring.bytes += event.weight();
            ring.events.push_back(Notice::new(event, &self.held));
        }
        ring.trim(&self.bounds);
        ring.revision = revision;
        self.revision.store(revision, Ordering::Release);
        drop(ring);
        self.more.notify_one();
    }

    /// Distributes events until the feed is closed. This is the main function of a thread.
    pub(super) fn dispatch(&self) {
        let mut cursor = self.dispatched();
        let mut linger = Duration::ZERO;
        loop {
            let mut ring = self.ring.lock();
            while ring.revision == cursor && !ring.closed {
                self.more.wait(&mut ring);
            }
            if !linger.is_zero() && !ring.closed {
                // Each watcher then receives the events of several commits in one write.
                MutexGuard::unlocked(&mut ring, || thread::sleep(linger));
            }
            if ring.revision == cursor {
                // The feed is closed, and all events are distributed.
                drop(ring);
                self.subscribers.lock().close();
                return;
            }
            let events = ring.after(cursor);
            cursor = ring.revision;
            ring.taken = cursor;
            ring.trim(&self.bounds);
            drop(ring);
            let receivers = self.deliver(events.as_deref(), cursor);
            linger = linger_for(receivers);
        }
    }

    /// Distributes one round of events. `None` means that the ring has dropped undistributed
    /// events. Returns the number of watchers that receive events.
    fn deliver(&self, events: Option<&[Arc<Notice>]>, revision: u64) -> usize {
        let mut receivers = 0;
        let mut subscribers = self.subscribers.lock();
        match events {
            None => subscribers.lag_all(),
            Some(events) => {
                // The queues are checked before this round is queued, because a watcher without
                // older events is not slow.
                subscribers.shed(
                    &self.held,
                    self.bounds.ring_bytes + self.bounds.waiting_bytes,
                );
                for (prefix, round) in subscribers.rounds(events) {
                    receivers += subscribers.send(&prefix, &round, &self.bounds);
                }
            }
        }
        self.dispatched.store(revision, Ordering::Release);
        receivers
    }

    /// Registers a watcher. Returns `None` if the feed is closed.
    pub(super) fn subscribe(&self, prefix: &str) -> Option<Subscription> {
        let queue = Arc::default();
        let mut subscribers = self.subscribers.lock();
        if subscribers.closed {
            return None;
        }
        Some(Subscription {
            id: subscribers.insert(prefix, Arc::clone(&queue)),
            queue,
            from: self.dispatched(),
        })
    }

    /// Removes a watcher.
    pub(super) fn unsubscribe(&self, prefix: &str, id: u64) {
        self.subscribers.lock().remove(prefix, &[id]);
    }

    /// Returns the number of watchers.
    pub(super) fn watchers(&self) -> usize {
        self.subscribers.lock().len()
    }

    /// Returns the events after the revision `from` and up to the revision `until`. Returns `None`
    /// if the ring does not contain all of these events.
    pub(super) fn recent(&self, prefix: &str, from: u64, until: u64) -> Option<Vec<Arc<Notice>>> {
        let mut events = self.ring.lock().after(from)?;
        events.retain(|event| event.revision() <= until && event.key().starts_with(prefix));
        Some(events)
    }

    /// Returns the last durable revision if no key below the prefix changed after the revision
    /// `from`. Returns `None` if a key changed, or if the ring does not contain all changes that
    /// readers of the database can see.
    pub(super) fn unchanged(&self, prefix: &str, from: u64) -> Option<u64> {
        let ring = self.ring.lock();
        if self.committing.load(Ordering::SeqCst) > ring.revision {
            return None;
        }
        let mut changes = ring.range_after(from)?;
        let unchanged = changes.all(|event| !event.key().starts_with(prefix));
        unchanged.then_some(ring.revision.max(from))
    }

    /// Ends all watches.
    pub(super) fn close(&self) {
        self.ring.lock().closed = true;
        self.more.notify_one();
    }
}

impl Ring {
    /// Drops the oldest events from the ring. Undistributed events have higher limits, so that a
    /// burst does not end all watches.
    fn trim(&mut self, bounds: &WatchMemoryLimits) {
        loop {
            let Some(oldest) = self.events.front() else {
                return;
            };
            let (most_events, most_bytes) = if oldest.revision() <= self.taken {
                (bounds.ring_events, bounds.ring_bytes)
            } else {
                (
                    MAX_UNDISTRIBUTED_EVENTS.max(bounds.ring_events),
                    MAX_UNDISTRIBUTED_BYTES.max(bounds.ring_bytes),
                )
            };
            if self.events.len() <= most_events && self.bytes <= most_bytes {
                return;
            }
            self.bytes -= oldest.weight();
            self.start = oldest.revision();
            self.events.pop_front();
        }
    }

    fn after(&self, revision: u64) -> Option<Vec<Arc<Notice>>> {
        Some(self.range_after(revision)?.cloned().collect())
    }

    fn range_after(&self, revision: u64) -> Option<vec_deque::Iter<'_, Arc<Notice>>> {
        (revision >= self.start).then(|| {
            let first = self
                .events
                .partition_point(|event| event.revision() <= revision);
            self.events.range(first..)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::stored::Stored;

    #[test]
    fn feed_collects_events_only_for_many_watchers() {
        assert_eq!(linger_for(1), Duration::ZERO);
        assert_eq!(linger_for(99), Duration::ZERO);
        assert_eq!(linger_for(1000), Duration::from_millis(2));
        assert_eq!(linger_for(1_000_000), MAX_LINGER);
    }

    #[test]
    fn event_queue_of_a_lagging_watcher_is_dropped() {
        let bounds = WatchMemoryLimits {
            ring_events: 1,
            ring_bytes: 1 << 20,
            queue_events: 4,
            queue_bytes: 1 << 20,
            waiting_bytes: 1 << 20,
        };
        let feed = Feed::new(bounds, 0);
        let mut slow = feed.subscribe("/core/pods/").unwrap();
        let notices: Vec<_> = (1..=6)
            .map(|revision| {
                let stored = Stored::new("/core/pods/ns/a".into(), revision, "{}".into());
                let event = Event::Put {
                    stored: stored.unwrap(),
                    previous: None,
                };
                Notice::new(event, &feed.held)
            })
            .collect();
        feed.deliver(Some(&notices[..4]), 4);
        let kept = Arc::strong_count(&notices[0]);
        feed.deliver(Some(&notices[4..]), 6);
        assert!(slow.lagged());
        assert!(Arc::strong_count(&notices[0]) < kept);
        assert!(matches!(slow.waiting(), Err(NoRound::Ended)));
    }

    #[test]
    fn memory_of_shared_events_is_counted_once_and_limit_closes_slowest_watchers() {
        const EVENT: usize = 64 << 10;
        let bounds = WatchMemoryLimits {
            ring_events: 1,
            ring_bytes: EVENT,
            queue_events: 4096,
            queue_bytes: 1 << 20,
            waiting_bytes: 8 * EVENT,
        };
        let feed = Feed::new(bounds, 0);
        let mut revision = 0;
        let mut publish = |topic: &str| {
            revision += 1;
            let value = format!("{{\"a\":\"{}\"}}", "x".repeat(EVENT - 64));
            let stored = Stored::new(format!("{topic}a").into(), revision, value.into());
            let event = Event::Put {
                stored: stored.unwrap(),
                previous: None,
            };
            let notice = Notice::new(event, &feed.held);
            feed.deliver(Some(&[notice]), revision);
        };
        let (pods, maps) = ("/core/pods/ns/", "/core/configmaps/ns/");
        // Two watchers read none of their shared events. Another watcher reads its own events
        // immediately.
        let slow = [pods, pods].map(|topic| feed.subscribe(topic).unwrap());
        let mut prompt = feed.subscribe(maps).unwrap();
        for _ in 0..8 {
            publish(pods);
            publish(maps);
            prompt.waiting().unwrap();
        }
        assert!(
            feed.held.load(Ordering::Relaxed) <= 8 * EVENT,
            "the feed counts a shared event more than once"
        );
        assert!(slow.iter().all(|one| !one.lagged()));
        publish(pods);
        publish(pods);
        assert!(slow.iter().all(Subscription::lagged));
        assert!(!prompt.lagged());
        assert!(feed.held.load(Ordering::Relaxed) <= EVENT);
        publish(maps);
        assert!(prompt.waiting().is_ok());
    }

    #[test]
    fn large_batch_of_events_does_not_close_a_watcher_with_an_empty_queue() {
        const EVENT: usize = 64 << 10;
        let bounds = WatchMemoryLimits {
            ring_events: 1,
            ring_bytes: EVENT,
            queue_events: 4096,
            queue_bytes: 1 << 20,
            waiting_bytes: EVENT,
        };
        let feed = Feed::new(bounds, 0);
        let mut prompt = feed.subscribe("/core/pods/").unwrap();
        let slow = feed.subscribe("/core/pods/").unwrap();
        for round in 0..3 {
            let notices: Vec<_> = (1..=4)
                .map(|revision| {
                    let value = format!("{{\"a\":\"{}\"}}", "x".repeat(EVENT - 64));
                    let stored = Stored::new("/core/pods/ns/a".into(), revision, value.into());
                    let event = Event::Put {
                        stored: stored.unwrap(),
                        previous: None,
                    };
                    Notice::new(event, &feed.held)
                })
                .collect();
            feed.deliver(Some(&notices), 4 * (round + 1));
            assert!(
                prompt.waiting().is_ok(),
                "the prompt watcher did not receive round {round}"
            );
        }
        assert!(slow.lagged() && !prompt.lagged());
    }
}
