//! Delays actions of a simulation. Failed actions are retried after a backoff. A long series of
//! decisions with actions is throttled.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use drover_reconcile::Backoff;
use tokio::time::Instant;

use crate::action::Action;

/// Delay after the first failure. The delay doubles with each failure.
const MIN_DELAY: Duration = Duration::from_millis(50);
/// Maximum delay of an action. A throttled simulation reacts to users' changes after at most this
/// delay.
pub(crate) const MAX_DELAY: Duration = Duration::from_secs(3);
const BACKOFF: Backoff = Backoff::new(MIN_DELAY, MAX_DELAY);
/// Number of successive decisions with actions after which decisions are throttled. Without
/// throttling, an object that never reaches its desired state would keep one CPU core busy.
const BURST: u32 = 500;

/// The backoff of failed actions, and the throttling of successive decisions with actions.
#[derive(Default)]
pub(crate) struct Retries {
    /// Number of failures of each failed action, and the time of its next attempt. The key is
    /// [`Action::subject`].
    failing: BTreeMap<String, Failing>,
    busy: u32,
}

struct Failing {
    times: u32,
    until: Instant,
}

impl Retries {
    /// Returns the actions to execute now. Omits actions whose backoff has not elapsed.
    pub(crate) fn ready(&mut self, actions: Vec<Action>, now: Instant) -> Vec<Action> {
        if self.failing.is_empty() {
            return actions;
        }
        let current: BTreeSet<String> = actions.iter().map(Action::subject).collect();
        self.failing.retain(|subject, _| current.contains(subject));
        let is_due = |action: &Action| {
            let failing = self.failing.get(&action.subject());
            failing.is_none_or(|failing| failing.until <= now)
        };
        actions.into_iter().filter(is_due).collect()
    }

    /// Records that an action succeeded.
    pub(crate) fn succeeded(&mut self, subject: &str) {
        self.failing.remove(subject);
    }

    /// Records that an action failed.
    pub(crate) fn failed(&mut self, subject: String, now: Instant) {
        let failing = self.failing.entry(subject).or_insert(Failing {
            times: 0,
            until: now,
        });
        failing.times = failing.times.saturating_add(1);
        failing.until = now + delay(failing.times);
    }

    /// Records a decision without executable actions. Returns the delay until the next retry.
    pub(crate) fn idle(&mut self, now: Instant) -> Option<Duration> {
        self.busy = 0;
        let first = self.failing.values().map(|failing| failing.until).min();
        first.map(|first| first.saturating_duration_since(now))
    }

    /// Records a decision with executable actions. Returns the delay before the next decision.
    pub(crate) fn throttle(&mut self) -> Duration {
        self.busy = self.busy.saturating_add(1);
        match self.busy.saturating_sub(BURST) {
            0 => Duration::ZERO,
            times => delay(times),
        }
    }
}

fn delay(times: u32) -> Duration {
    // The delay has no jitter, because no other client competes for the simulated cluster.
    BACKOFF.delay(times - 1, 1.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn renew(node: &str) -> Action {
        Action::RenewLease {
            node: node.to_owned(),
            uid: node.to_owned(),
        }
    }

    #[test]
    fn failed_actions_are_retried_with_backoff_and_do_not_delay_other_actions() {
        let mut retries = Retries::default();
        let mut now = Instant::now();
        for expected in [MIN_DELAY, MIN_DELAY * 2, MIN_DELAY * 4] {
            retries.failed(renew("bad").subject(), now);
            let both = || vec![renew("bad"), renew("good")];
            assert_eq!(retries.ready(both(), now), [renew("good")]);
            assert_eq!(retries.idle(now), Some(expected));
            now += expected;
            assert_eq!(retries.ready(both(), now), both());
        }
        for _ in 0..20 {
            retries.failed(renew("bad").subject(), now);
        }
        assert_eq!(retries.idle(now), Some(MAX_DELAY));
        retries.succeeded(&renew("bad").subject());
        assert_eq!(retries.idle(now), None);
    }

    #[test]
    fn failure_counts_of_obsolete_actions_are_removed() {
        let mut retries = Retries::default();
        let now = Instant::now();
        retries.failed(renew("bad").subject(), now);
        assert_eq!(retries.ready(vec![renew("good")], now), [renew("good")]);
        assert_eq!(retries.idle(now), None);
        assert_eq!(retries.ready(vec![renew("bad")], now), [renew("bad")]);
    }

    #[test]
    fn continuous_actions_are_throttled_until_the_queue_is_empty() {
        let mut retries = Retries::default();
        assert_eq!(retries.throttle(), Duration::ZERO);
        for _ in 0..BURST + 20 {
            retries.throttle();
        }
        assert_eq!(retries.throttle(), MAX_DELAY);
        assert_eq!(retries.idle(Instant::now()), None);
        assert_eq!(retries.throttle(), Duration::ZERO);
    }
}
