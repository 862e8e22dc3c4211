//! The watchers of the feed, by key prefix.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use parking_lot::Mutex;

use super::queue::{Offer, Queue};
use super::{Notice, Round, WatchMemoryLimits};

/// The registered watchers.
#[derive(Debug, Default)]
pub(super) struct Subscribers {
    next: u64,
    prefixes: HashMap<Box<str>, BTreeMap<u64, Subscriber>>,
    /// The number of watchers whose prefix is neither empty nor ends with a slash, such as watchers
    /// of a single object.
    partial: usize,
    pub(super) closed: bool,
}

/// A watcher. Dropping the value ends the watch after its queued events.
#[derive(Debug)]
struct Subscriber(Arc<Mutex<Queue>>);

impl Drop for Subscriber {
    fn drop(&mut self) {
        let waiting = self.0.lock().end();
        wake(waiting);
    }
}

fn wake(waker: Option<std::task::Waker>) {
    if let Some(waker) = waker {
        waker.wake();
    }
}

/// Reports whether a prefix ends within a segment of keys.
fn is_partial(prefix: &str) -> bool {
    !prefix.is_empty() && !prefix.ends_with('/')
}

/// Returns all prefixes of a key that are empty or end with a slash.
fn folders(key: &str) -> impl Iterator<Item = &str> {
    std::iter::once("").chain(key.match_indices('/').map(|(slash, _)| &key[..=slash]))
}

/// Returns all prefixes of a key that end within a segment.
fn partials(key: &str) -> impl Iterator<Item = &str> {
    key.char_indices()
        .map(|(at, character)| &key[..at + character.len_utf8()])
        .filter(|prefix| is_partial(prefix))
}

impl Subscribers {
    /// Registers a watcher, and returns its ID.
    pub(super) fn insert(&mut self, prefix: &str, queue: Arc<Mutex<Queue>>) -> u64 {
        let id = self.next;
        self.next += 1;
        self.partial += usize::from(is_partial(prefix));
        let others = self.prefixes.entry(prefix.into()).or_default();
        others.insert(id, Subscriber(queue));
        id
    }

    pub(super) fn remove(&mut self, prefix: &str, ids: &[u64]) {
        let Some(subscribers) = self.prefixes.get_mut(prefix) else {
            return;
        };
        for id in ids {
            if subscribers.remove(id).is_some() {
                self.partial -= usize::from(is_partial(prefix));
            }
        }
        if subscribers.is_empty() {
            self.prefixes.remove(prefix);
        }
    }

    /// Returns the number of watchers.
    pub(super) fn len(&self) -> usize {
        self.prefixes.values().map(BTreeMap::len).sum()
    }

    /// Groups the events by the prefixes of watchers.
    pub(super) fn rounds(&self, events: &[Arc<Notice>]) -> Vec<(Box<str>, Arc<Round>)> {
        let mut rounds: HashMap<&str, Vec<Arc<Notice>>> = HashMap::new();
        for event in events {
            let mut add = |prefix| {
                if self.prefixes.contains_key(prefix) {
                    rounds.entry(prefix).or_default().push(Arc::clone(event));
                }
            };
            folders(event.key()).for_each(&mut add);
            if self.partial > 0 {
                partials(event.key()).for_each(&mut add);
            }
        }
        rounds
            .into_iter()
            .map(|(prefix, round)| (prefix.into(), Arc::new(Round::new(round))))
            .collect()
    }

    /// Queues a round for the watchers of a prefix. Ends watchers that are too slow. Returns the
    /// number of watchers before slow watchers ended.
    pub(super) fn send(
        &mut self,
        prefix: &str,
        round: &Arc<Round>,
        bounds: &WatchMemoryLimits,
    ) -> usize {
        let Some(subscribers) = self.prefixes.get(prefix) else {
            return 0;
        };
        let count = subscribers.len();
        let mut slow = Vec::new();
        for (id, subscriber) in subscribers {
            let offer = subscriber.0.lock().offer(round, bounds);
            match offer {
                Offer::Queued(waker) => wake(waker),
                Offer::TooSlow => slow.push(*id),
            }
        }
        self.remove(prefix, &slow);
        count
    }

    /// Ends the watchers with the largest queues until at most `limit` bytes of events are in
    /// memory. Watchers with empty queues continue.
    pub(super) fn shed(&mut self, cached_bytes: &AtomicUsize, limit: usize) {
        if cached_bytes.load(Ordering::Relaxed) <= limit {
            return;
        }
        let mut slow: Vec<_> = self
            .prefixes
            .iter()
            .flat_map(|(prefix, subscribers)| {
                let waiting =
                    |(id, one): (&u64, &Subscriber)| (one.0.lock().bytes(), prefix.clone(), *id);
                subscribers.iter().map(waiting)
            })
            .filter(|(bytes, ..)| *bytes > 0)
            .collect();
        slow.sort_unstable_by_key(|(bytes, ..)| *bytes);
        while cached_bytes.load(Ordering::Relaxed) > limit
            && let Some((_, prefix, id)) = slow.pop()
        {
            if let Some(one) = self.prefixes.get(&prefix).and_then(|all| all.get(&id)) {
                one.0.lock().lag();
            }
            self.remove(&prefix, &[id]);
        }
    }

    /// Ends all watchers, because they would miss events.
    pub(super) fn lag_all(&mut self) {
        for subscribers in self.prefixes.values() {
            for subscriber in subscribers.values() {
                subscriber.0.lock().lag();
            }
        }
        self.clear();
    }

    /// Ends all watchers after their queued events, because the feed is closed.
    pub(super) fn close(&mut self) {
        self.closed = true;
        self.clear();
    }

    fn clear(&mut self) {
        self.prefixes.clear();
        self.partial = 0;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn event_of_a_key_is_published_to_watchers_of_all_prefixes_of_the_key() {
        let key = "/core/pods/ns/a";
        let all: Vec<&str> = folders(key).collect();
        assert_eq!(all, ["", "/", "/core/", "/core/pods/", "/core/pods/ns/"]);
        let all: Vec<&str> = all.into_iter().chain(partials(key)).collect();
        for prefix in ["", "/", "/core/pods/", "/core/pods/ns/a", "/core/po"] {
            assert!(all.contains(&prefix), "{prefix}");
        }
        let every = (0..=key.len()).map(|end| &key[..end]);
        assert_eq!(all.len(), every.count(), "each prefix occurs once");
    }

    #[test]
    fn watcher_of_a_single_object_receives_only_events_of_its_prefix() {
        let mut subscribers = Subscribers::default();
        let event = |key: &str| {
            let stored = crate::store::Stored::new(key.into(), 1, "{}".into()).unwrap();
            let event = crate::store::Event::Delete {
                stored,
                revision: 2,
            };
            Notice::new(event, &Arc::default())
        };
        let id = subscribers.insert("/core/pods/ns/a", Arc::default());
        subscribers.insert("/core/pods/ns/b", Arc::default());
        let rounds = subscribers.rounds(&[event("/core/pods/ns/a"), event("/core/pods/ns/ab")]);
        let [(prefix, round)] = rounds.as_slice() else {
            panic!("unexpected rounds: {rounds:?}");
        };
        assert_eq!((&**prefix, round.len()), ("/core/pods/ns/a", 2));
        subscribers.remove("/core/pods/ns/a", &[id]);
        assert!(subscribers.rounds(&[event("/core/pods/ns/a")]).is_empty());
        assert_eq!(subscribers.len(), 1);
    }
}
