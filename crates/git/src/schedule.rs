//! When to poll which repository: pure, without a clock and without random numbers.
//!
//! Times are durations since any fixed start. Each key is polled at its interval with jitter, so
//! that polls of many repositories spread. After failures, the delay doubles. A time that the server
//! named is always respected, also for polls that a webhook requests.

use std::collections::{BTreeSet, HashMap};
use std::hash::Hash;
use std::time::Duration;

/// The shortest interval.
pub const MIN_INTERVAL: Duration = Duration::from_secs(1);
/// The longest delay after failures, unless the interval is longer.
pub const MAX_BACKOFF: Duration = Duration::from_mins(15);
/// The fraction of the interval by which a poll can be early or late.
const JITTER: f64 = 0.1;

/// The end of a poll.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// The server answered.
    Success,
    /// The poll failed.
    Failure {
        /// The server permits the next request after this time.
        retry_after: Option<Duration>,
    },
}

/// The delay before the next poll after a success. `random` is in `[0, 1)`.
pub fn delay_after_success(interval: Duration, random: f64) -> Duration {
    let factor = 1.0 + JITTER * (2.0 * unit(random) - 1.0);
    interval.max(MIN_INTERVAL).mul_f64(factor)
}

/// The delay before the next poll after `failures` failures in a row. `random` is in `[0, 1)`.
///
/// The delay is between half and all of the doubled interval, never shorter than the interval, and
/// never shorter than `retry_after`.
pub fn delay_after_failure(
    interval: Duration,
    failures: u32,
    retry_after: Option<Duration>,
    random: f64,
) -> Duration {
    let interval = interval.max(MIN_INTERVAL);
    let doubled = interval.saturating_mul(2_u32.saturating_pow(failures.min(20)));
    let longest = doubled.min(MAX_BACKOFF.max(interval));
    let delay = longest.mul_f64(0.5 + 0.5 * unit(random)).max(interval);
    // Clients that wait for the same limit do not return at the same time.
    let named = retry_after.map(|time| time.saturating_add(interval.mul_f64(unit(random))));
    named.map_or(delay, |named| named.max(delay))
}

/// Returns a number in `[0, 1]`, also for invalid numbers.
const fn unit(random: f64) -> f64 {
    if random.is_nan() {
        0.5
    } else {
        random.clamp(0.0, 1.0)
    }
}

/// A schedule of polls. A key is never polled twice at the same time.
#[derive(Clone, Debug)]
pub struct Schedule<K> {
    entries: HashMap<K, Entry>,
    /// The due time and number of each waiting key.
    waiting: BTreeSet<(Duration, u64)>,
    keys: HashMap<u64, K>,
    next_number: u64,
}

#[derive(Clone, Debug)]
struct Entry {
    number: u64,
    interval: Duration,
    failures: u32,
    /// The time before which the server permits no request.
    not_before: Duration,
    state: State,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    Waiting { due: Duration },
    Running { again: bool },
}

impl<K> Default for Schedule<K> {
    fn default() -> Self {
        Self {
            entries: HashMap::new(),
            waiting: BTreeSet::new(),
            keys: HashMap::new(),
            next_number: 0,
        }
    }
}

impl<K: Clone + Eq + Hash> Schedule<K> {
    /// Adds a key that is due at once, or changes the interval of a key. A shorter interval takes
    /// effect at once.
    pub fn insert(&mut self, key: K, interval: Duration, now: Duration) {
        let interval = interval.max(MIN_INTERVAL);
        if let Some(entry) = self.entries.get_mut(&key) {
            entry.interval = interval;
            if entry.failures == 0 {
                let soonest = now.saturating_add(interval);
                self.advance(&key, soonest);
            }
            return;
        }
        let number = self.next_number;
        self.next_number += 1;
        let entry = Entry {
            number,
            interval,
            failures: 0,
            not_before: Duration::ZERO,
            state: State::Waiting { due: now },
        };
        self.waiting.insert((now, number));
        self.keys.insert(number, key.clone());
        self.entries.insert(key, entry);
    }

    /// Removes a key. The end of its running poll has no effect.
    pub fn remove(&mut self, key: &K) {
        if let Some(entry) = self.entries.remove(key) {
            self.keys.remove(&entry.number);
            if let State::Waiting { due } = entry.state {
                self.waiting.remove(&(due, entry.number));
            }
        }
    }

    /// Makes a key due at once, for a webhook or a change of the specification. During a poll, the
    /// key is polled once more. A time that the server named is respected.
    pub fn poll_now(&mut self, key: &K, now: Duration) {
        if let Some(Entry {
            state: State::Running { again },
            ..
        }) = self.entries.get_mut(key)
        {
            *again = true;
            return;
        }
        self.advance(key, now);
    }

    /// Moves the due time of a waiting key to an earlier time.
    fn advance(&mut self, key: &K, to: Duration) {
        if let Some(entry) = self.entries.get_mut(key)
            && let State::Waiting { due } = entry.state
        {
            let to = to.max(entry.not_before).min(due);
            self.waiting.remove(&(due, entry.number));
            self.waiting.insert((to, entry.number));
            entry.state = State::Waiting { due: to };
        }
    }

    /// Starts the polls that are due, the longest due first, and at most `max`.
    pub fn start_due(&mut self, now: Duration, max: usize) -> Vec<K> {
        let mut started = Vec::new();
        while started.len() < max
            && let Some(&(due, number)) = self.waiting.first()
            && due <= now
        {
            self.waiting.pop_first();
            if let Some(key) = self.keys.get(&number)
                && let Some(entry) = self.entries.get_mut(key)
            {
                entry.state = State::Running { again: false };
                started.push(key.clone());
            }
        }
        started
    }

    /// Ends a poll. `random` is in `[0, 1)`.
    pub fn finish(&mut self, key: &K, outcome: Outcome, now: Duration, random: f64) {
        let Some(entry) = self.entries.get_mut(key) else {
            return;
        };
        let State::Running { again } = entry.state else {
            return;
        };
        let delay = match outcome {
            Outcome::Success => {
                entry.failures = 0;
                entry.not_before = Duration::ZERO;
                delay_after_success(entry.interval, random)
            }
            Outcome::Failure { retry_after } => {
                entry.failures = entry.failures.saturating_add(1);
                entry.not_before =
                    retry_after.map_or(Duration::ZERO, |time| now.saturating_add(time));
                delay_after_failure(entry.interval, entry.failures, retry_after, random)
            }
        };
        let due = if again {
            now.max(entry.not_before)
        } else {
            now.saturating_add(delay)
        };
        entry.state = State::Waiting { due };
        self.waiting.insert((due, entry.number));
    }

    /// Returns the time of the next poll.
    pub fn next_due(&self) -> Option<Duration> {
        self.waiting.first().map(|(due, _)| *due)
    }

    /// Returns the time of the next poll of a key. Returns `None` during a poll.
    pub fn due(&self, key: &K) -> Option<Duration> {
        match self.entries.get(key)?.state {
            State::Waiting { due } => Some(due),
            State::Running { .. } => None,
        }
    }

    /// Returns the number of keys.
    pub fn len(&self) -> usize {
        self.entries.len()
    }

    /// Reports whether the schedule has no key.
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }
}

#[cfg(test)]
mod tests;
