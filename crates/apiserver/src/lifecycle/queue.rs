//! A bounded queue of work: each key at most once, never two workers on the same key, and a
//! backoff with jitter for work that failed.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, HashMap, HashSet, VecDeque};
use std::hash::Hash;
use std::time::Duration;

use parking_lot::Mutex;
use tokio::sync::Notify;
use tokio::time::Instant;
use uuid::Uuid;

const FIRST_BACKOFF: Duration = Duration::from_millis(20);
const LONGEST_BACKOFF: Duration = Duration::from_mins(5);

/// Keys that wait for a worker.
#[derive(Debug)]
pub(super) struct Queue<K> {
    state: Mutex<State<K>>,
    /// Someone should look at the state again.
    work: Notify,
    room: Notify,
    capacity: usize,
}

#[derive(Debug)]
struct State<K> {
    ready: VecDeque<K>,
    /// In `ready`, or at work and to be looked at again after.
    dirty: HashSet<K>,
    at_work: HashSet<K>,
    later: BinaryHeap<Reverse<(Instant, u64)>>,
    /// By the number in `later`.
    delayed: HashMap<u64, K>,
    numbered: HashMap<K, u64>,
    next_number: u64,
    failures: HashMap<K, u32>,
}

impl<K: Clone + Eq + Hash> Queue<K> {
    pub(super) fn new(capacity: usize) -> Self {
        Self {
            state: Mutex::new(State {
                ready: VecDeque::new(),
                dirty: HashSet::new(),
                at_work: HashSet::new(),
                later: BinaryHeap::new(),
                delayed: HashMap::new(),
                numbered: HashMap::new(),
                next_number: 0,
                failures: HashMap::new(),
            }),
            work: Notify::new(),
            room: Notify::new(),
            capacity,
        }
    }

    /// Adds a key, unless it waits already; waits while the queue is full, so that whoever feeds
    /// it slows down.
    pub(super) async fn push(&self, key: K) {
        loop {
            let room = self.room.notified();
            {
                let mut state = self.state.lock();
                if state.ready.len() < self.capacity || state.dirty.contains(&key) {
                    state.add(key);
                    break;
                }
            }
            room.await;
        }
        self.work.notify_one();
    }

    /// Adds a key even if the queue is full: for work that follows from work.
    pub(super) fn push_now(&self, key: K) {
        self.state.lock().add(key);
        self.work.notify_one();
    }

    /// The next key; [`Queue::done`] or [`Queue::failed`] must follow.
    pub(super) async fn pop(&self) -> K {
        loop {
            let wake = {
                let mut state = self.state.lock();
                state.ripen(Instant::now());
                if let Some(key) = state.take() {
                    if !state.ready.is_empty() {
                        self.work.notify_one();
                    }
                    drop(state);
                    self.room.notify_one();
                    return key;
                }
                state.later.peek().map(|Reverse((at, _))| *at)
            };
            let work = self.work.notified();
            match wake {
                None => work.await,
                Some(at) => tokio::select! {
                    () = work => {}
                    () = tokio::time::sleep_until(at) => {}
                },
            }
        }
    }

    /// The work on a key is done, for now or until some time has passed.
    pub(super) fn done(&self, key: &K, again: Option<Duration>) {
        let mut state = self.state.lock();
        state.failures.remove(key);
        state.finish(key, again);
        drop(state);
        self.work.notify_one();
    }

    /// The work on a key failed and is tried again later; tells when.
    pub(super) fn failed(&self, key: &K) -> Duration {
        let mut state = self.state.lock();
        let failures = state.failures.entry(key.clone()).or_default();
        let delay = backoff(*failures, jitter());
        *failures = failures.saturating_add(1);
        state.finish(key, Some(delay));
        drop(state);
        self.work.notify_one();
        delay
    }
}

impl<K: Clone + Eq + Hash> State<K> {
    fn add(&mut self, key: K) {
        // What is due now need not wait any longer.
        if let Some(number) = self.numbered.remove(&key) {
            self.delayed.remove(&number);
        }
        if self.dirty.insert(key.clone()) && !self.at_work.contains(&key) {
            self.ready.push_back(key);
        }
    }

    fn take(&mut self) -> Option<K> {
        let key = self.ready.pop_front()?;
        self.dirty.remove(&key);
        self.at_work.insert(key.clone());
        Some(key)
    }

    fn finish(&mut self, key: &K, again: Option<Duration>) {
        self.at_work.remove(key);
        if self.dirty.contains(key) {
            self.ready.push_back(key.clone());
        } else if let Some(delay) = again {
            self.delay(key.clone(), Instant::now() + delay);
        }
    }

    fn delay(&mut self, key: K, until: Instant) {
        let number = self.next_number;
        self.next_number += 1;
        if let Some(former) = self.numbered.insert(key.clone(), number) {
            self.delayed.remove(&former);
        }
        self.delayed.insert(number, key);
        self.later.push(Reverse((until, number)));
    }

    /// Moves what is due to those that are ready.
    fn ripen(&mut self, now: Instant) {
        while let Some(Reverse((at, number))) = self.later.peek().copied() {
            let superseded = !self.delayed.contains_key(&number);
            if at > now && !superseded {
                break;
            }
            self.later.pop();
            if let Some(key) = self.delayed.remove(&number) {
                self.numbered.remove(&key);
                self.add(key);
            }
        }
    }
}

/// Doubles from 20 ms to 5 min; the last half of it is `jitter`'s, from 0 to 1.
fn backoff(failures: u32, jitter: f64) -> Duration {
    let doubled = FIRST_BACKOFF.saturating_mul(2_u32.saturating_pow(failures));
    doubled.min(LONGEST_BACKOFF).mul_f64(0.5 + jitter / 2.0)
}

/// From 0 to 1; nothing secret depends on it.
fn jitter() -> f64 {
    f64::from(Uuid::new_v4().as_fields().0) / f64::from(u32::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    async fn none_is_ready(queue: &Queue<&'static str>) -> bool {
        tokio::time::timeout(Duration::from_millis(1), queue.pop())
            .await
            .is_err()
    }

    #[tokio::test(start_paused = true)]
    async fn a_key_added_twice_is_worked_on_once() {
        let queue = Queue::new(9);
        queue.push("a").await;
        queue.push("a").await;
        assert_eq!(queue.pop().await, "a");
        queue.done(&"a", None);
        assert!(none_is_ready(&queue).await);
    }

    #[tokio::test(start_paused = true)]
    async fn a_key_added_while_it_is_worked_on_comes_again_after_and_not_at_the_same_time() {
        let queue = Queue::new(9);
        queue.push("a").await;
        assert_eq!(queue.pop().await, "a");
        queue.push("a").await;
        assert!(none_is_ready(&queue).await);
        queue.done(&"a", None);
        assert_eq!(queue.pop().await, "a");
    }

    #[tokio::test(start_paused = true)]
    async fn work_that_failed_comes_again_later_and_later_and_success_forgets_it() {
        let queue = Queue::new(9);
        queue.push("a").await;
        let mut delays = Vec::new();
        for _ in 0..16 {
            assert_eq!(queue.pop().await, "a");
            delays.push(queue.failed(&"a"));
        }
        assert!(delays[0] <= FIRST_BACKOFF);
        assert!(delays[8] > FIRST_BACKOFF * 64);
        assert!(delays.iter().all(|delay| *delay <= LONGEST_BACKOFF));
        assert_eq!(queue.pop().await, "a");
        queue.done(&"a", None);
        queue.push("a").await;
        queue.pop().await;
        assert!(queue.failed(&"a") <= FIRST_BACKOFF);
    }

    #[tokio::test(start_paused = true)]
    async fn a_key_that_waits_for_later_comes_at_once_when_it_is_added_and_only_once() {
        let queue = Queue::new(9);
        queue.push("a").await;
        queue.pop().await;
        queue.done(&"a", Some(Duration::from_mins(1)));
        assert!(none_is_ready(&queue).await);
        queue.push("a").await;
        assert_eq!(queue.pop().await, "a");
        queue.done(&"a", None);
        tokio::time::sleep(Duration::from_mins(2)).await;
        assert!(none_is_ready(&queue).await);
    }

    #[tokio::test(start_paused = true)]
    async fn a_full_queue_makes_its_feeder_wait_until_there_is_room() {
        let queue = Queue::new(1);
        queue.push("a").await;
        let full = tokio::time::timeout(Duration::from_secs(1), queue.push("b")).await;
        assert!(full.is_err());
        queue.push_now("c");
        assert_eq!(queue.pop().await, "a");
        assert_eq!(queue.pop().await, "c");
        queue.push("b").await;
        assert_eq!(queue.pop().await, "b");
    }

    #[tokio::test(start_paused = true)]
    async fn two_workers_share_what_is_ready() {
        let queue = std::sync::Arc::new(Queue::new(9));
        let pop = |queue: &std::sync::Arc<Queue<&'static str>>| {
            let queue = std::sync::Arc::clone(queue);
            tokio::spawn(async move { queue.pop().await })
        };
        let (first, second) = (pop(&queue), pop(&queue));
        tokio::task::yield_now().await;
        queue.push("a").await;
        queue.push("b").await;
        let mut got = [first.await.unwrap(), second.await.unwrap()];
        got.sort_unstable();
        assert_eq!(got, ["a", "b"]);
    }
}
