//! Waits until objects that the server applied in a cluster were changed there.

use std::time::Duration;

use tokio::time::Instant;

use super::keeper::Shared;

/// Shortest time between two reconciliations because of drift.
const MIN_INTERVAL: Duration = Duration::from_secs(1);
/// The same when the objects are changed repeatedly.
const MAX_INTERVAL: Duration = Duration::from_secs(30);
/// Reconciliations in a row after which the interval is the longest.
const MAX_REPEATS: u32 = 5;

/// Detects drift of an owner's objects by the digest that the agent reports. The interval grows while
/// the objects are changed again and again.
pub(super) struct DriftWatch {
    owner: &'static str,
    before: Option<String>,
    started: Instant,
    repeats: u32,
}

impl DriftWatch {
    /// For the objects of this owner.
    pub(super) fn new(owner: &'static str) -> Self {
        Self {
            owner,
            before: None,
            started: Instant::now(),
            repeats: 0,
        }
    }

    /// A reconciliation starts; later changes belong to the next one.
    pub(super) fn start(&mut self, shared: &Shared) {
        self.before = shared.drift_digest(self.owner);
        self.started = Instant::now();
    }

    /// Resolves when the digest differs from the one at the start. The writes of the reconciliation
    /// change the digest too, so that one more reconciliation follows, which finds no difference.
    pub(super) async fn changed(&self, shared: &Shared) {
        let interval = (MIN_INTERVAL * (1 << self.repeats)).min(MAX_INTERVAL);
        tokio::time::sleep(interval).await;
        let mut updates = shared.changed();
        while shared.drift_digest(self.owner) == self.before {
            // The sender lives in `shared`, so this cannot fail.
            let _ = updates.changed().await;
        }
    }

    /// The wait has ended, because of drift or for another reason. Resets the interval after a long
    /// time without drift.
    pub(super) fn ended(&mut self, by_drift: bool) {
        if by_drift {
            self.repeats = (self.repeats + 1).min(MAX_REPEATS);
        } else if self.started.elapsed() > MAX_INTERVAL {
            self.repeats = 0;
        }
    }
}
