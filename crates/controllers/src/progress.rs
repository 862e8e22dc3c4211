//! When a cluster is compared and changed again: after a change on the hub, after drift in the
//! cluster, and regularly.

use std::time::Duration;

use tokio::time::Instant;

/// Least time between a comparison and the next because of drift.
const SETTLED_AFTER: Duration = Duration::from_secs(1);
/// The same when drift follows each comparison.
const SETTLED_AT_MOST: Duration = Duration::from_secs(30);
/// Comparisons because of drift after which the time grows no more.
const MAX_RESTLESS: u32 = 5;

/// The last comparison of one cluster.
#[derive(Debug, Default)]
pub(super) struct Progress {
    /// Digest of what the hub wanted.
    wanted: Option<u64>,
    /// When the next one is due even without a change; none after a failure or a disconnect.
    again_at: Option<Instant>,
    drift: DriftWatch,
}

/// Compares the digest that the agent reports with the one at the start of the last comparison.
#[derive(Debug, Default)]
struct DriftWatch {
    reported: Option<String>,
    begun: Option<Instant>,
    ended: Option<Instant>,
    /// Comparisons in a row because of drift.
    restless: u32,
}

impl Progress {
    /// The digest of what the hub wanted at the last comparison.
    pub(super) fn wanted(&self) -> Option<u64> {
        self.wanted
    }

    /// How long the next comparison can wait; zero if it is due.
    pub(super) fn wait(&self, wanted: u64, reported: Option<&String>) -> Duration {
        let now = Instant::now();
        let Some(again_at) = self.again_at.filter(|_| self.wanted == Some(wanted)) else {
            return Duration::ZERO;
        };
        let drift = self.drift.due_at(reported);
        let due = drift.map_or(again_at, |drift| drift.min(again_at));
        due.saturating_duration_since(now)
    }

    /// A comparison begins. Until [`Self::done`] the next one is due at once.
    pub(super) fn begin(&mut self, wanted: u64, reported: Option<String>) {
        let regular = self.again_at.is_none_or(|at| at <= Instant::now());
        let by_drift = !regular
            && self.wanted == Some(wanted)
            && self.drift.due_at(reported.as_ref()).is_some();
        self.drift.begin(reported, by_drift);
        self.wanted = Some(wanted);
        self.again_at = None;
    }

    /// The comparison has succeeded; the next one is due after this time.
    pub(super) fn done(&mut self, again: Duration) {
        let now = Instant::now();
        self.drift.ended = Some(now);
        self.again_at = Some(now + again);
    }

    /// The cluster is disconnected: the next comparison is due when it is back.
    pub(super) fn disconnected(&mut self) {
        self.again_at = None;
    }
}

impl DriftWatch {
    /// When the drift is to be repaired, if there is any. The writes of a comparison are among the
    /// digest, so that each change is followed by one comparison that finds nothing.
    fn due_at(&self, reported: Option<&String>) -> Option<Instant> {
        let settled = (SETTLED_AFTER * (1 << self.restless)).min(SETTLED_AT_MOST);
        let ended = self.ended.filter(|_| self.reported.as_ref() != reported)?;
        Some(ended + settled)
    }

    fn begin(&mut self, reported: Option<String>, by_drift: bool) {
        if by_drift {
            self.restless = (self.restless + 1).min(MAX_RESTLESS);
        } else if self
            .begun
            .is_some_and(|begun| begun.elapsed() > SETTLED_AT_MOST)
        {
            self.restless = 0;
        }
        self.reported = reported;
        self.begun = Some(Instant::now());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const REPAIR: Duration = Duration::from_mins(5);

    #[tokio::test(start_paused = true)]
    async fn comparison_is_due_after_a_change_a_failure_a_disconnect_and_regularly() {
        let (mut progress, same) = (Progress::default(), Some("a".to_owned()));
        assert_eq!(progress.wait(1, None), Duration::ZERO);
        progress.begin(1, same.clone());
        assert_eq!(progress.wait(1, same.as_ref()), Duration::ZERO, "it failed");
        progress.begin(1, same.clone());
        progress.done(REPAIR);
        assert_eq!(progress.wait(1, same.as_ref()), REPAIR);
        assert_eq!(progress.wait(2, same.as_ref()), Duration::ZERO);
        tokio::time::advance(REPAIR).await;
        assert_eq!(progress.wait(1, same.as_ref()), Duration::ZERO);
        progress.begin(1, same.clone());
        progress.done(REPAIR);
        progress.disconnected();
        assert_eq!(progress.wait(1, same.as_ref()), Duration::ZERO);
    }

    #[tokio::test(start_paused = true)]
    async fn drift_that_never_ends_is_repaired_more_and_more_slowly() {
        let mut progress = Progress::default();
        progress.begin(1, Some("0".to_owned()));
        progress.done(REPAIR);
        let mut waits = Vec::new();
        for number in 1..8 {
            let drifted = Some(number.to_string());
            let wait = progress.wait(1, drifted.as_ref());
            waits.push(wait.as_secs());
            tokio::time::advance(wait).await;
            progress.begin(1, drifted);
            progress.done(REPAIR);
        }
        assert_eq!(waits, [1, 2, 4, 8, 16, 30, 30]);
        tokio::time::advance(REPAIR).await;
        progress.begin(1, Some("x".to_owned()));
        progress.done(REPAIR);
        assert_eq!(
            progress.wait(1, Some("y".to_owned()).as_ref()),
            Duration::from_secs(1)
        );
    }
}
