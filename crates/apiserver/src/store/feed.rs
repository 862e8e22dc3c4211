//! Distribution of changes from the writer to watches.
//!
//! The writer appends to a ring and continues. A separate thread distributes the events to watchers
//! by topic, so that a change has no cost for watchers of other topics. The thread ends watchers
//! that read too slowly, instead of waiting for them.

mod queue;

use std::collections::{BTreeMap, HashMap, VecDeque};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};

use parking_lot::{Condvar, Mutex};
use tokio::sync::mpsc::{UnboundedSender, unbounded_channel};

pub(super) use self::queue::Subscription;
use self::queue::{Queue, weight};
use super::event::{Event, Notice};

/// The events of one topic in one round, shared by the topic's watchers.
pub(super) type Round = Arc<[Arc<Notice>]>;

/// Maximum number of events that wait for distribution. Above this number, all watches end.
const MAX_UNDISTRIBUTED_EVENTS: usize = 65_536;

/// Maximum size of the events that wait for distribution, in bytes.
const MAX_UNDISTRIBUTED_BYTES: usize = 64 << 20;

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

#[derive(Debug, Default)]
struct Subscribers {
    next: u64,
    topics: HashMap<Box<str>, BTreeMap<u64, Subscriber>>,
    closed: bool,
}

#[derive(Debug)]
struct Subscriber {
    prefix: Arc<str>,
    more: UnboundedSender<()>,
    queue: Arc<Mutex<Queue>>,
}

/// Returns the topic of a prefix: the part of the prefix up to the last slash.
fn topic(prefix: &str) -> &str {
    prefix.rfind('/').map_or("", |slash| &prefix[..=slash])
}

/// Returns all topics that contain a key.
fn topics(key: &str) -> impl Iterator<Item = &str> {
    std::iter::once("").chain(key.match_indices('/').map(|(slash, _)| &key[..=slash]))
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
            held: Arc::default(),
        }
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
        loop {
            let mut ring = self.ring.lock();
            while ring.revision == cursor && !ring.closed {
                self.more.wait(&mut ring);
            }
            if ring.revision == cursor {
                // The feed is closed, and all events are distributed.
                drop(ring);
                let mut subscribers = self.subscribers.lock();
                subscribers.closed = true;
                subscribers.topics.clear();
                return;
            }
            let events = ring.after(cursor);
            cursor = ring.revision;
            ring.taken = cursor;
            ring.trim(&self.bounds);
            drop(ring);
            self.deliver(events.as_deref(), cursor);
        }
    }

    /// Distributes one round of events. `None` means that the ring has dropped undistributed
    /// events.
    fn deliver(&self, events: Option<&[Arc<Notice>]>, revision: u64) {
        let mut subscribers = self.subscribers.lock();
        match events {
            None => subscribers.end_all(),
            Some(events) => {
                // The queues are checked before this round is queued, because a watcher without
                // older events is not slow.
                subscribers.shed(
                    &self.held,
                    self.bounds.ring_bytes + self.bounds.waiting_bytes,
                );
                for (topic, round) in subscribers.rounds(events) {
                    subscribers.send(&topic, &round.into(), &self.bounds);
                }
            }
        }
        self.dispatched.store(revision, Ordering::Release);
    }

    /// Registers a watcher. Returns `None` if the feed is closed.
    pub(super) fn subscribe(&self, prefix: &Arc<str>) -> Option<Subscription> {
        let (sender, more) = unbounded_channel();
        let queue = Arc::default();
        let mut subscribers = self.subscribers.lock();
        if subscribers.closed {
            return None;
        }
        let id = subscribers.next;
        subscribers.next += 1;
        let subscriber = Subscriber {
            prefix: Arc::clone(prefix),
            more: sender,
            queue: Arc::clone(&queue),
        };
        subscribers
            .topics
            .entry(topic(prefix).into())
            .or_default()
            .insert(id, subscriber);
        Some(Subscription {
            id,
            more,
            queue,
            from: self.dispatched(),
        })
    }

    /// Removes a watcher.
    pub(super) fn unsubscribe(&self, prefix: &str, id: u64) {
        self.subscribers.lock().remove(topic(prefix), &[id]);
    }

    /// Returns the number of watchers.
    pub(super) fn watchers(&self) -> usize {
        let subscribers = self.subscribers.lock();
        subscribers.topics.values().map(BTreeMap::len).sum()
    }

    /// Returns the events after the revision `from` and up to the revision `until`. Returns `None`
    /// if the ring does not contain all of these events.
    pub(super) fn recent(&self, prefix: &str, from: u64, until: u64) -> Option<Vec<Arc<Notice>>> {
        let mut events = self.ring.lock().after(from)?;
        events.retain(|event| event.revision() <= until && event.key().starts_with(prefix));
        Some(events)
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
        (revision >= self.start).then(|| {
            let first = self
                .events
                .partition_point(|event| event.revision() <= revision);
            self.events.range(first..).cloned().collect()
        })
    }
}

impl Subscribers {
    /// Groups the events of a round by topic, for topics with watchers.
    fn rounds(&self, events: &[Arc<Notice>]) -> Vec<(Box<str>, Vec<Arc<Notice>>)> {
        let mut rounds: HashMap<&str, Vec<Arc<Notice>>> = HashMap::new();
        for event in events {
            for topic in topics(event.key()) {
                if self.topics.contains_key(topic) {
                    rounds.entry(topic).or_default().push(Arc::clone(event));
                }
            }
        }
        rounds
            .into_iter()
            .map(|(topic, round)| (topic.into(), round))
            .collect()
    }

    fn send(&mut self, topic: &str, round: &Round, bounds: &WatchMemoryLimits) {
        let Some(subscribers) = self.topics.get(topic) else {
            return;
        };
        let bytes = weight(round);
        let mut gone = Vec::new();
        for (id, subscriber) in subscribers {
            let taken = if *subscriber.prefix == *topic {
                subscriber.offer(round, bytes, bounds)
            } else {
                let own: Round = round
                    .iter()
                    .filter(|event| event.key().starts_with(&*subscriber.prefix))
                    .cloned()
                    .collect();
                own.is_empty() || subscriber.offer(&own, weight(&own), bounds)
            };
            if !taken {
                gone.push(*id);
            }
        }
        self.remove(topic, &gone);
    }

    /// Ends the watchers with the largest queues until at most `limit` bytes of events are in
    /// memory. Watchers with empty queues continue.
    fn shed(&mut self, cached_bytes: &AtomicUsize, limit: usize) {
        if cached_bytes.load(Ordering::Relaxed) <= limit {
            return;
        }
        let mut slow: Vec<_> = self
            .topics
            .iter()
            .flat_map(|(topic, subscribers)| {
                let waiting =
                    |(id, one): (&u64, &Subscriber)| (one.queue.lock().bytes(), topic.clone(), *id);
                subscribers.iter().map(waiting)
            })
            .filter(|(bytes, ..)| *bytes > 0)
            .collect();
        slow.sort_unstable_by_key(|(bytes, ..)| *bytes);
        while cached_bytes.load(Ordering::Relaxed) > limit
            && let Some((_, topic, id)) = slow.pop()
        {
            if let Some(one) = self.topics.get(&topic).and_then(|all| all.get(&id)) {
                one.queue.lock().lag();
            }
            self.remove(&topic, &[id]);
        }
    }

    fn remove(&mut self, topic: &str, ids: &[u64]) {
        if let Some(subscribers) = self.topics.get_mut(topic) {
            for id in ids {
                subscribers.remove(id);
            }
            if subscribers.is_empty() {
                self.topics.remove(topic);
            }
        }
    }

    fn end_all(&mut self) {
        for (_, subscribers) in self.topics.drain() {
            for subscriber in subscribers.values() {
                subscriber.queue.lock().lag();
            }
        }
    }
}

impl Subscriber {
    /// Queues a round. Returns false if the watcher is too slow or was dropped. A watcher with an
    /// empty queue is never too slow, regardless of the size of the round.
    fn offer(&self, round: &Round, bytes: usize, bounds: &WatchMemoryLimits) -> bool {
        self.queue.lock().offer(round, bytes, bounds) && self.more.send(()).is_ok()
    }
}

#[cfg(test)]
mod tests {
    use tokio::sync::mpsc::error::TryRecvError;

    use super::*;
    use crate::store::stored::Stored;

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
        let mut slow = feed.subscribe(&"/core/pods/".into()).unwrap();
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
        assert!(matches!(slow.waiting(), Err(TryRecvError::Disconnected)));
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
        let slow = [pods, pods].map(|topic| feed.subscribe(&topic.into()).unwrap());
        let mut prompt = feed.subscribe(&maps.into()).unwrap();
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
        let mut prompt = feed.subscribe(&"/core/pods/".into()).unwrap();
        let slow = feed.subscribe(&"/core/pods/".into()).unwrap();
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

    #[test]
    fn event_of_a_key_is_published_to_watchers_of_all_prefixes_of_the_key() {
        let all: Vec<&str> = topics("/core/pods/ns/a").collect();
        assert_eq!(all, ["", "/", "/core/", "/core/pods/", "/core/pods/ns/"]);
        for prefix in ["", "/", "/core/pods/", "/core/pods/ns/a", "/core/po"] {
            assert!(all.contains(&topic(prefix)), "{prefix}");
        }
    }
}
