//! When the writer looks for old history: while changes are made, and when what they left grows
//! old. A store in which nothing happens is left alone.

use std::time::{Duration, Instant};

/// The least time between two looks, and how soon one comes after a change that had none.
pub(in crate::store) const EVERY: Duration = Duration::from_secs(1);

/// How long the writer rests between steps of compaction that have a transaction of their own.
const PAUSE: Duration = Duration::from_millis(20);

/// See the module. The time is given.
#[derive(Debug)]
pub(in crate::store) struct Looks {
    /// History may be old: the next transaction takes some off.
    due: bool,
    last: Option<Instant>,
    /// When to look although nobody changes anything.
    next: Option<Instant>,
}

impl Looks {
    /// What was left by the last process is looked at soon.
    pub(in crate::store) fn new(now: Instant) -> Self {
        Self {
            due: false,
            last: None,
            next: Some(now + EVERY),
        }
    }

    /// Whether the next transaction is to take something off.
    pub(in crate::store) fn is_due(&self) -> bool {
        self.due
    }

    /// Somebody wants it now.
    pub(in crate::store) fn force(&mut self) {
        self.due = true;
    }

    /// A change is about to be made.
    pub(in crate::store) fn changing(&mut self, now: Instant) {
        let rested = self.last.is_none_or(|last| now >= last + EVERY);
        self.due |= rested;
    }

    /// The time that was waited for may have come.
    pub(in crate::store) fn woke(&mut self, now: Instant) {
        self.due |= self.next.is_some_and(|next| now >= next);
    }

    /// A change was made without a step of compaction.
    pub(in crate::store) fn changed(&mut self, now: Instant) {
        self.again(now + EVERY);
    }

    /// It could not be done now.
    pub(in crate::store) fn failed(&mut self, now: Instant) {
        self.due = false;
        self.next = None;
        self.again(now + EVERY);
    }

    /// A step was made: whether there is more to do at once, and when else the next row is too old.
    pub(in crate::store) fn stepped(&mut self, now: Instant, more: bool, next: Option<Duration>) {
        self.last = Some(now);
        self.due = more;
        self.next = next.map(|after| now + after.max(EVERY));
    }

    /// How long to wait for changes before looking; for ever if there is no reason to.
    pub(in crate::store) fn rest(&self, now: Instant) -> Option<Duration> {
        if self.due {
            return Some(PAUSE);
        }
        self.next.map(|next| next.saturating_duration_since(now))
    }

    fn again(&mut self, at: Instant) {
        self.next = Some(self.next.map_or(at, |next| next.min(at)));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A writer that has nothing to do but to look, for so long: how often it wakes.
    fn wakes(
        looks: &mut Looks,
        from: Instant,
        lasting: Duration,
        mut step: impl FnMut(Instant) -> (bool, Option<Duration>),
    ) -> u32 {
        let (mut now, mut count) = (from, 0);
        while let Some(rest) = looks.rest(now) {
            now += rest;
            if now > from + lasting {
                break;
            }
            count += 1;
            looks.woke(now);
            if looks.is_due() {
                let (more, next) = step(now);
                looks.stepped(now, more, next);
            }
        }
        count
    }

    const DAY: Duration = Duration::from_hours(24);

    #[test]
    fn a_store_without_history_is_looked_at_once_a_day_and_all_other_days_not_at_all() {
        let start = Instant::now();
        let mut looks = Looks::new(start);
        assert_eq!(wakes(&mut looks, start, DAY, |_| (false, None)), 1);
        assert_eq!(looks.rest(start + DAY), None);
    }

    #[test]
    fn a_change_is_looked_at_within_a_second_and_again_only_when_it_is_old() {
        let start = Instant::now();
        let mut looks = Looks::new(start);
        looks.changing(start);
        assert!(looks.is_due(), "the first change takes old history along");
        let old = start + Duration::from_mins(5);
        looks.stepped(start, false, Some(old - start));
        // So soon after the last look, changes are made for themselves.
        looks.changing(start + EVERY / 2);
        assert!(!looks.is_due());
        looks.changed(start + EVERY / 2);
        assert_eq!(looks.rest(start + EVERY / 2), Some(EVERY));
        let step = |now| (false, (now < old).then(|| old - now));
        assert_eq!(wakes(&mut looks, start, DAY, step), 2);
    }

    #[test]
    fn under_changes_all_the_time_there_is_a_look_in_a_second_and_none_between_changes() {
        let start = Instant::now();
        let mut looks = Looks::new(start);
        let mut steps = 0;
        for number in 0..600_u32 {
            let now = start + EVERY / 10 * number;
            looks.woke(now);
            looks.changing(now);
            if looks.is_due() {
                steps += 1;
                looks.stepped(now, false, Some(Duration::from_mins(1)));
            } else {
                looks.changed(now);
            }
        }
        assert_eq!(steps, 60);
    }

    #[test]
    fn much_old_history_goes_in_steps_with_pauses_between_them() {
        let start = Instant::now();
        let mut looks = Looks::new(start);
        let mut left = 100;
        let step = |_| {
            left -= 1;
            (left > 0, None)
        };
        assert_eq!(wakes(&mut looks, start, DAY, step), 100);
    }

    #[test]
    fn what_could_not_be_done_is_tried_again_after_a_second() {
        let start = Instant::now();
        let mut looks = Looks::new(start);
        looks.force();
        assert_eq!(looks.rest(start), Some(PAUSE));
        looks.failed(start);
        assert_eq!(looks.rest(start), Some(EVERY));
    }
}
