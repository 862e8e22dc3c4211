//! A queue of keys. The queue contains each key at most once. Two concurrent calls never receive
//! the same key.
//!
//! ```text
//!            trigger                    take                  done
//! (unknown) ─────────▶ Delayed ─▶ Ready ─────▶ Running ─────────────────▶ (unknown)
//!                         ▲                      │  requeue, failure,
//!                         └──────────────────────┘  trigger while running
//! ```

use std::cmp::Reverse;
use std::collections::{BinaryHeap, HashMap, VecDeque};
use std::fmt;
use std::hash::Hash;
use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
use tokio::sync::Notify;
use tokio::time::Instant;

use crate::backoff::jitter;
use crate::metrics::ControllerMetrics;
use crate::options::Options;

/// Information about one call for a key: the preceding failures, and the delay before a retry.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Attempt {
    /// Number of consecutive failures of this key before the call.
    pub failures: u32,
    /// Error text of the last failure.
    pub last_failure: Option<Arc<str>>,
    /// Delay before the retry if this call fails.
    pub retry_in: Duration,
}

/// The queue of one controller. The documentation of this module describes the states of a key.
pub struct Queue<K> {
    state: Mutex<State<K>>,
    work: Notify,
    room: Notify,
    options: Options,
    metrics: ControllerMetrics,
}

struct State<K> {
    ready: VecDeque<K>,
    entries: HashMap<K, Entry>,
    timers: BinaryHeap<Reverse<(Instant, u64)>>,
    /// Keys with a delay, indexed by the number of their timer in `timers`. A cancelled timer has
    /// no entry.
    timed: HashMap<u64, K>,
    next_timer: u64,
}

#[derive(Default)]
struct Entry {
    phase: Phase,
    timer: Option<u64>,
    /// Earliest time of the next call. Triggers do not cause an earlier call.
    not_before: Option<Instant>,
    failures: u32,
    last_failure: Option<Arc<str>>,
    retry_in: Duration,
}

#[derive(Clone, Copy, Default)]
enum Phase {
    #[default]
    Idle,
    Delayed(Instant),
    Ready,
    Running {
        triggered: bool,
    },
}

/// The result of a call to the reconciler.
pub(crate) enum Outcome {
    Done {
        requeue: Option<Duration>,
    },
    Failed {
        reason: Arc<str>,
    },
    /// The controller aborted the call. The queue schedules the call again.
    Interrupted,
}

impl<K> fmt::Debug for Queue<K> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Queue")
            .field("controller", &self.options.name)
            .finish_non_exhaustive()
    }
}

impl<K: Clone + Eq + Hash> Queue<K> {
    /// Creates an empty queue.
    pub(crate) fn new(options: Options, metrics: ControllerMetrics) -> Self {
        Self {
            state: Mutex::new(State {
                ready: VecDeque::new(),
                entries: HashMap::new(),
                timers: BinaryHeap::new(),
                timed: HashMap::new(),
                next_timer: 0,
            }),
            work: Notify::new(),
            room: Notify::new(),
            options,
            metrics,
        }
    }

    /// Adds a key, even if the queue has reached its capacity.
    pub fn enqueue(&self, key: K) {
        self.enqueue_after(key, self.options.debounce);
    }

    /// Adds a key that becomes ready after the duration `after`.
    pub(crate) fn enqueue_after(&self, key: K, after: Duration) {
        let now = Instant::now();
        let mut state = self.state.lock();
        state.trigger(key, now, after);
        self.metrics.set_depth(state.ready.len());
        drop(state);
        self.work.notify_one();
    }

    /// Adds a key. Waits until the number of ready keys is below the queue's capacity.
    pub async fn enqueue_when_room(&self, key: K) {
        loop {
            let room = self.room.notified();
            if self.has_room() || self.state.lock().is_waiting(&key) {
                return self.enqueue(key);
            }
            room.await;
        }
    }

    /// Returns true if the number of ready keys is below the queue's capacity.
    pub(crate) fn has_room(&self) -> bool {
        self.state.lock().ready.len() < self.options.capacity
    }

    /// Waits for the next key. The caller must call [`Queue::finish`] afterwards. Cancel-safe.
    pub(crate) async fn take(&self) -> (K, Attempt) {
        loop {
            let work = self.work.notified();
            let wake = {
                let mut state = self.state.lock();
                state.make_due_ready(Instant::now());
                if let Some(taken) = state.take(&self.options) {
                    self.metrics.set_depth(state.ready.len());
                    if !state.ready.is_empty() {
                        self.work.notify_one();
                    }
                    drop(state);
                    self.room.notify_one();
                    self.metrics.started(taken.1.failures);
                    return taken;
                }
                state.timers.peek().map(|Reverse((at, _))| *at)
            };
            match wake {
                None => work.await,
                Some(at) => tokio::select! {
                    () = work => {}
                    () = tokio::time::sleep_until(at) => {}
                },
            }
        }
    }

    /// Records the end of a call for a key, and schedules the next call for the key.
    pub(crate) fn finish(&self, key: &K, outcome: Outcome) {
        let now = Instant::now();
        let mut state = self.state.lock();
        state.finish(key, outcome, now, &self.options);
        self.metrics.set_depth(state.ready.len());
        drop(state);
        self.work.notify_one();
    }

    #[cfg(test)]
    pub(crate) fn len(&self) -> usize {
        self.state.lock().entries.len()
    }
}

impl<K: Clone + Eq + Hash> State<K> {
    fn is_waiting(&self, key: &K) -> bool {
        let entry = self.entries.get(key);
        entry.is_some_and(|entry| matches!(entry.phase, Phase::Ready | Phase::Running { .. }))
    }

    fn trigger(&mut self, key: K, now: Instant, after: Duration) {
        let entry = self.entries.entry(key.clone()).or_default();
        match &mut entry.phase {
            Phase::Ready => {}
            Phase::Running { triggered } => *triggered = true,
            Phase::Idle | Phase::Delayed(_) => {
                let due = entry.due(now, after);
                self.delay(key, due, now);
            }
        }
    }

    fn take(&mut self, options: &Options) -> Option<(K, Attempt)> {
        let key = self.ready.pop_front()?;
        let entry = self.entries.entry(key.clone()).or_default();
        entry.phase = Phase::Running { triggered: false };
        entry.retry_in = options.backoff.delay(entry.failures, jitter());
        let attempt = Attempt {
            failures: entry.failures,
            last_failure: entry.last_failure.clone(),
            retry_in: entry.retry_in,
        };
        Some((key, attempt))
    }

    fn finish(&mut self, key: &K, outcome: Outcome, now: Instant, options: &Options) {
        let entry = self.entries.entry(key.clone()).or_default();
        let triggered = matches!(entry.phase, Phase::Running { triggered: true });
        entry.phase = Phase::Idle;
        let next = match outcome {
            Outcome::Interrupted => Some(now),
            Outcome::Done { requeue } => {
                entry.failures = 0;
                entry.last_failure = None;
                entry.not_before = (!options.cooldown.is_zero()).then(|| now + options.cooldown);
                if triggered {
                    Some(entry.due(now, options.debounce))
                } else {
                    requeue.map(|after| entry.due(now, after))
                }
            }
            Outcome::Failed { reason } => {
                entry.failures = entry.failures.saturating_add(1);
                entry.last_failure = Some(reason);
                // A trigger shortens the backoff, but not to zero, because the failure itself may
                // cause the trigger.
                let pause = entry.retry_in.min(options.backoff.first());
                entry.not_before = Some(now + pause.max(options.cooldown));
                let retry = entry.due(now, entry.retry_in);
                Some(if triggered {
                    retry.min(entry.due(now, options.debounce))
                } else {
                    retry
                })
            }
        };
        let not_before = entry.not_before.filter(|at| *at > now);
        match (next, not_before) {
            (Some(due), _) => self.delay(key.clone(), due, now),
            (None, Some(at)) => self.set_timer(key.clone(), at),
            (None, None) => self.forget(key),
        }
    }

    /// Makes a key ready at the time `due`. Has no effect if the key becomes ready earlier.
    fn delay(&mut self, key: K, due: Instant, now: Instant) {
        let entry = self.entries.entry(key.clone()).or_default();
        if matches!(entry.phase, Phase::Delayed(at) if at <= due) {
            return;
        }
        if due <= now {
            entry.phase = Phase::Ready;
            if let Some(timer) = entry.timer.take() {
                self.timed.remove(&timer);
            }
            self.ready.push_back(key);
        } else {
            entry.phase = Phase::Delayed(due);
            self.set_timer(key, due);
        }
    }

    fn set_timer(&mut self, key: K, at: Instant) {
        let number = self.next_timer;
        self.next_timer += 1;
        let entry = self.entries.entry(key.clone()).or_default();
        if let Some(former) = entry.timer.replace(number) {
            self.timed.remove(&former);
        }
        self.timed.insert(number, key);
        self.timers.push(Reverse((at, number)));
    }

    fn forget(&mut self, key: &K) {
        if let Some(timer) = self.entries.remove(key).and_then(|entry| entry.timer) {
            self.timed.remove(&timer);
        }
    }

    /// Makes keys ready whose delay has elapsed. Removes keys that were stored only until the end
    /// of their cooldown.
    fn make_due_ready(&mut self, now: Instant) {
        while let Some(Reverse((at, number))) = self.timers.peek().copied() {
            if at > now && self.timed.contains_key(&number) {
                break;
            }
            self.timers.pop();
            let Some(key) = self.timed.remove(&number) else {
                continue;
            };
            let entry = self.entries.entry(key.clone()).or_default();
            entry.timer = None;
            match entry.phase {
                Phase::Delayed(_) => {
                    entry.phase = Phase::Ready;
                    self.ready.push_back(key);
                }
                Phase::Idle => self.forget(&key),
                Phase::Ready | Phase::Running { .. } => {}
            }
        }
    }
}

impl Entry {
    /// Returns the time at which the key becomes ready: after the delay `after`, but not before the
    /// end of the cooldown.
    fn due(&self, now: Instant, after: Duration) -> Instant {
        let due = now + after;
        self.not_before.map_or(due, |at| at.max(due))
    }
}
