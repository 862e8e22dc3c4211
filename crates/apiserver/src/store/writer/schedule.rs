//! The compaction schedule. Compaction runs during changes, and when the remaining history becomes
//! old. An idle store causes no wake-ups.

use std::time::{Duration, Instant};

/// Minimum interval between two compactions, and maximum delay of a compaction after a change.
pub(in crate::store) const EVERY: Duration = Duration::from_secs(1);

/// Pause between compaction steps with their own transaction.
const PAUSE: Duration = Duration::from_millis(20);

/// The schedule of compaction steps. Callers pass the current time.
#[derive(Debug)]
pub(in crate::store) struct CompactionSchedule {
    /// True if the next transaction includes a compaction step.
    due: bool,
    last: Option<Instant>,
    /// The time of the next compaction step on an idle store.
    next: Option<Instant>,
}

impl CompactionSchedule {
    /// Creates a schedule with an early compaction, because the previous process may have left old
    /// history.
    pub(in crate::store) fn new(now: Instant) -> Self {
        Self {
            due: false,
            last: None,
            next: Some(now + EVERY),
        }
    }

    /// Reports whether the next transaction includes a compaction step.
    pub(in crate::store) fn is_due(&self) -> bool {
        self.due
    }

    /// Requests an immediate compaction step.
    pub(in crate::store) fn force(&mut self) {
        self.due = true;
    }

    /// Records that a change is about to be committed.
    pub(in crate::store) fn changing(&mut self, now: Instant) {
        let rested = self.last.is_none_or(|last| now >= last + EVERY);
        self.due |= rested;
    }

    /// Records that a wait for changes has ended.
    pub(in crate::store) fn wait_ended(&mut self, now: Instant) {
        self.due |= self.next.is_some_and(|next| now >= next);
    }

    /// Records that a change was committed without a compaction step.
    pub(in crate::store) fn changed(&mut self, now: Instant) {
        self.again(now + EVERY);
    }

    /// Records that a compaction step failed.
    pub(in crate::store) fn failed(&mut self, now: Instant) {
        self.due = false;
        self.next = None;
        self.again(now + EVERY);
    }

    /// Records that a compaction step ran. `more` is true if more work is pending; `next` is the
    /// time until the next row becomes too old.
    pub(in crate::store) fn stepped(&mut self, now: Instant, more: bool, next: Option<Duration>) {
        self.last = Some(now);
        self.due = more;
        self.next = next.map(|after| now + after.max(EVERY));
    }

    /// Returns the time to wait for changes before the next step. Returns `None` if no step is
    /// scheduled.
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

    /// Counts the wake-ups of an idle writer over a period.
    fn wakes(
        schedule: &mut CompactionSchedule,
        from: Instant,
        lasting: Duration,
        mut step: impl FnMut(Instant) -> (bool, Option<Duration>),
    ) -> u32 {
        let (mut now, mut count) = (from, 0);
        while let Some(rest) = schedule.rest(now) {
            now += rest;
            if now > from + lasting {
                break;
            }
            count += 1;
            schedule.wait_ended(now);
            if schedule.is_due() {
                let (more, next) = step(now);
                schedule.stepped(now, more, next);
            }
        }
        count
    }

    const DAY: Duration = Duration::from_hours(24);

    #[test]
    fn empty_history_causes_no_wake_ups() {
        let start = Instant::now();
        let mut schedule = CompactionSchedule::new(start);
        assert_eq!(wakes(&mut schedule, start, DAY, |_| (false, None)), 1);
        assert_eq!(schedule.rest(start + DAY), None);
    }

    #[test]
    fn compaction_runs_within_a_second_of_a_change_and_when_history_expires() {
        let start = Instant::now();
        let mut schedule = CompactionSchedule::new(start);
        schedule.changing(start);
        assert!(
            schedule.is_due(),
            "the first change does not request compaction of old history"
        );
        let old = start + Duration::from_mins(5);
        schedule.stepped(start, false, Some(old - start));
        // Shortly after the last step, changes are committed without a step.
        schedule.changing(start + EVERY / 2);
        assert!(!schedule.is_due());
        schedule.changed(start + EVERY / 2);
        assert_eq!(schedule.rest(start + EVERY / 2), Some(EVERY));
        let step = |now| (false, (now < old).then(|| old - now));
        assert_eq!(wakes(&mut schedule, start, DAY, step), 2);
    }

    #[test]
    fn continuous_changes_cause_one_compaction_step_per_second() {
        let start = Instant::now();
        let mut schedule = CompactionSchedule::new(start);
        let mut steps = 0;
        for number in 0..600_u32 {
            let now = start + EVERY / 10 * number;
            schedule.wait_ended(now);
            schedule.changing(now);
            if schedule.is_due() {
                steps += 1;
                schedule.stepped(now, false, Some(Duration::from_mins(1)));
            } else {
                schedule.changed(now);
            }
        }
        assert_eq!(steps, 60);
    }

    #[test]
    fn compaction_of_large_history_pauses_between_steps() {
        let start = Instant::now();
        let mut schedule = CompactionSchedule::new(start);
        let mut remaining = 100;
        let step = |_| {
            remaining -= 1;
            (remaining > 0, None)
        };
        assert_eq!(wakes(&mut schedule, start, DAY, step), 100);
    }

    #[test]
    fn failed_compaction_step_is_retried_after_a_second() {
        let start = Instant::now();
        let mut schedule = CompactionSchedule::new(start);
        schedule.force();
        assert_eq!(schedule.rest(start), Some(PAUSE));
        schedule.failed(start);
        assert_eq!(schedule.rest(start), Some(EVERY));
    }
}
