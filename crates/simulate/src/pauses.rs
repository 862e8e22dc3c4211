//! How long to wait although there is something to do: with what failed, and with everything if
//! there is no end of it.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use tokio::time::Instant;

use crate::act::Act;

/// The first pause after something could not be done; each next is twice as long.
const FIRST: Duration = Duration::from_millis(50);
/// What people do in the cluster waits for a pause of everything, too.
pub(crate) const LONGEST: Duration = Duration::from_secs(3);
/// Decisions in a row, each with something to do, after which it is no hurry any more: objects
/// that never become what they should be must not keep a processor busy.
const HURRY: u32 = 500;

/// See the module.
#[derive(Default)]
pub(crate) struct Pauses {
    /// What could not be done, by [`Act::subject`].
    failing: BTreeMap<String, Failing>,
    busy: u32,
}

struct Failing {
    times: u32,
    until: Instant,
}

impl Pauses {
    /// What of this may be done now; the rest failed a moment ago.
    pub(crate) fn ready(&mut self, acts: Vec<Act>, now: Instant) -> Vec<Act> {
        if self.failing.is_empty() {
            return acts;
        }
        let wanted: BTreeSet<String> = acts.iter().map(Act::subject).collect();
        self.failing.retain(|subject, _| wanted.contains(subject));
        let may = |act: &Act| {
            let failing = self.failing.get(&act.subject());
            failing.is_none_or(|failing| failing.until <= now)
        };
        acts.into_iter().filter(may).collect()
    }

    /// Something was done.
    pub(crate) fn done(&mut self, subject: &str) {
        self.failing.remove(subject);
    }

    /// Something could not be done.
    pub(crate) fn failed(&mut self, subject: String, now: Instant) {
        let failing = self.failing.entry(subject).or_insert(Failing {
            times: 0,
            until: now,
        });
        failing.times = failing.times.saturating_add(1);
        failing.until = now + pause(failing.times);
    }

    /// There is nothing to do, or nothing but what failed: tells when that may be tried again.
    pub(crate) fn quiet(&mut self, now: Instant) -> Option<Duration> {
        self.busy = 0;
        let first = self.failing.values().map(|failing| failing.until).min();
        first.map(|first| first.saturating_duration_since(now))
    }

    /// Something was done, and there may be more: how long to wait with all of it.
    pub(crate) fn next(&mut self) -> Duration {
        self.busy = self.busy.saturating_add(1);
        match self.busy.saturating_sub(HURRY) {
            0 => Duration::ZERO,
            times => pause(times),
        }
    }
}

fn pause(times: u32) -> Duration {
    FIRST
        .saturating_mul(2_u32.saturating_pow(times.min(16) - 1))
        .min(LONGEST)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn renew(node: &str) -> Act {
        Act::Renew {
            node: node.to_owned(),
            uid: node.to_owned(),
        }
    }

    #[test]
    fn what_fails_waits_longer_each_time_and_keeps_nothing_else_waiting() {
        let mut pauses = Pauses::default();
        let mut now = Instant::now();
        for expected in [FIRST, FIRST * 2, FIRST * 4] {
            pauses.failed(renew("bad").subject(), now);
            let both = || vec![renew("bad"), renew("good")];
            assert_eq!(pauses.ready(both(), now), [renew("good")]);
            assert_eq!(pauses.quiet(now), Some(expected));
            now += expected;
            assert_eq!(pauses.ready(both(), now), both());
        }
        for _ in 0..20 {
            pauses.failed(renew("bad").subject(), now);
        }
        assert_eq!(pauses.quiet(now), Some(LONGEST));
        pauses.done(&renew("bad").subject());
        assert_eq!(pauses.quiet(now), None);
    }

    #[test]
    fn what_nobody_wants_any_more_is_forgotten() {
        let mut pauses = Pauses::default();
        let now = Instant::now();
        pauses.failed(renew("bad").subject(), now);
        assert_eq!(pauses.ready(vec![renew("good")], now), [renew("good")]);
        assert_eq!(pauses.quiet(now), None);
        assert_eq!(pauses.ready(vec![renew("bad")], now), [renew("bad")]);
    }

    #[test]
    fn endless_work_slows_everything_down_until_there_is_none() {
        let mut pauses = Pauses::default();
        assert_eq!(pauses.next(), Duration::ZERO);
        for _ in 0..HURRY + 20 {
            pauses.next();
        }
        assert_eq!(pauses.next(), LONGEST);
        assert_eq!(pauses.quiet(Instant::now()), None);
        assert_eq!(pauses.next(), Duration::ZERO);
    }
}
