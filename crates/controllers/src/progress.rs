//! Schedules the comparisons of a cluster's existing objects with the desired objects: after a
//! change on the hub, after drift in the cluster, and periodically.

use std::time::Duration;

use tokio::time::Instant;

/// Minimum time between a comparison and a repair of drift.
const MIN_SETTLE_TIME: Duration = Duration::from_secs(1);
/// Maximum time between a comparison and a repair of drift, reached after repeated drift.
const MAX_SETTLE_TIME: Duration = Duration::from_secs(30);
/// Number of consecutive repairs of drift after which the delay stops growing.
const MAX_REPEATS: u32 = 5;

/// State of the last comparison of one cluster.
#[derive(Debug, Default)]
pub(super) struct Progress {
    /// Digest of the desired state on the hub at the last comparison.
    desired: Option<u64>,
    /// Time of the next periodic comparison. `None` after a failure or a disconnect.
    due_at_latest: Option<Instant>,
    drift: DriftWatch,
}

/// Detects drift: compares the agent's reported digest with the digest at the start of the last
/// comparison.
#[derive(Debug, Default)]
struct DriftWatch {
    reported: Option<String>,
    begun: Option<Instant>,
    ended: Option<Instant>,
    /// Number of consecutive comparisons that drift triggered.
    repeats: u32,
}

impl Progress {
    /// Returns the digest of the desired state on the hub at the last comparison.
    pub(super) fn desired(&self) -> Option<u64> {
        self.desired
    }

    /// Returns the time until the next comparison. Returns zero if a comparison is due.
    pub(super) fn wait(&self, desired: u64, reported: Option<&String>) -> Duration {
        let now = Instant::now();
        let Some(due_at_latest) = self.due_at_latest.filter(|_| self.desired == Some(desired))
        else {
            return Duration::ZERO;
        };
        let drift = self.drift.due_at(reported);
        let due = drift.map_or(due_at_latest, |drift| drift.min(due_at_latest));
        due.saturating_duration_since(now)
    }

    /// Records the start of a comparison. Until [`Self::done`], the next comparison is due
    /// immediately.
    pub(super) fn begin(&mut self, desired: u64, reported: Option<String>) {
        let regular = self.due_at_latest.is_none_or(|at| at <= Instant::now());
        let by_drift = !regular
            && self.desired == Some(desired)
            && self.drift.due_at(reported.as_ref()).is_some();
        self.drift.begin(reported, by_drift);
        self.desired = Some(desired);
        self.due_at_latest = None;
    }

    /// Records the success of a comparison. The next periodic comparison is due after `interval`.
    pub(super) fn done(&mut self, interval: Duration) {
        let now = Instant::now();
        self.drift.ended = Some(now);
        self.due_at_latest = Some(now + interval);
    }

    /// Records a disconnect. The next comparison is due after the reconnect.
    pub(super) fn disconnected(&mut self) {
        self.due_at_latest = None;
    }
}

impl DriftWatch {
    /// Returns the time at which to repair the drift. Returns `None` if the cluster has no drift.
    ///
    /// The writes of a comparison also change the digest, so each comparison with writes causes a
    /// second comparison without writes.
    fn due_at(&self, reported: Option<&String>) -> Option<Instant> {
        let settled = (MIN_SETTLE_TIME * (1 << self.repeats)).min(MAX_SETTLE_TIME);
        let ended = self.ended.filter(|_| self.reported.as_ref() != reported)?;
        Some(ended + settled)
    }

    fn begin(&mut self, reported: Option<String>, by_drift: bool) {
        if by_drift {
            self.repeats = (self.repeats + 1).min(MAX_REPEATS);
        } else if self
            .begun
            .is_some_and(|begun| begun.elapsed() > MAX_SETTLE_TIME)
        {
            self.repeats = 0;
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
    async fn cluster_reconciliation_is_due_after_change_failure_disconnect_or_interval() {
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
    async fn delay_between_repairs_grows_with_repeated_drift() {
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
