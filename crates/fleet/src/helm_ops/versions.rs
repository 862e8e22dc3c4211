//! The versions that polls have found for the charts of HelmOps whose version is a range.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use drover_api::fleet::HelmOp;
use drover_gitops::helm_op::ChartRange;
use drover_reconcile::Backoff;
use jiff::Timestamp;
use parking_lot::Mutex;

use crate::mirror::Key;
use crate::repos::{polling_interval, random};

/// Minimum interval of polls.
const MIN_INTERVAL: Duration = Duration::from_secs(15);
/// Delays after failed polls.
const BACKOFF: Backoff = Backoff::new(Duration::from_secs(15), Duration::from_mins(15));

/// The cause of a poll. A changed cause causes a poll at once.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Cause {
    pub(super) uid: String,
    pub(super) generation: i64,
    /// Name of the Secret with the credential, or empty.
    pub(super) secret: String,
    pub(super) ranges: BTreeSet<ChartRange>,
}

/// The last poll of a HelmOp.
#[derive(Clone, Debug)]
pub(super) struct Poll {
    cause: Cause,
    /// The versions of the last successful polls.
    pub(super) found: BTreeMap<ChartRange, String>,
    pub(super) at: Timestamp,
    /// The reason of the failure of the last poll.
    pub(super) failure: Option<Failure>,
}

/// A failed poll.
#[derive(Clone, Debug)]
pub(super) struct Failure {
    pub(super) reason: String,
    /// Failed polls since the last successful poll.
    count: u32,
    /// The time until the next poll.
    delay: Duration,
}

/// The versions of the ranges of one poll, and the reason why a version is missing.
pub(super) type Found = (BTreeMap<ChartRange, String>, Option<String>);

impl Poll {
    /// Returns the poll after `last`. A failed poll keeps the versions.
    pub(super) fn after(last: Option<Self>, cause: Cause, found: Found, at: Timestamp) -> Self {
        let (found, reason) = found;
        let last = last.filter(|last| last.cause.uid == cause.uid);
        let count = last.as_ref().and_then(|last| last.failure.as_ref());
        let count = count.map_or(0, |failure| failure.count);
        let mut all = last.map(|last| last.found).unwrap_or_default();
        all.extend(found);
        all.retain(|range, _| cause.ranges.contains(range));
        Self {
            cause,
            found: all,
            at,
            failure: reason.map(|reason| Failure {
                reason,
                count: count + 1,
                delay: BACKOFF.delay(count, random()),
            }),
        }
    }

    pub(super) fn is_for(&self, cause: &Cause) -> bool {
        self.cause == *cause
    }

    /// Returns the time of the next poll. Without an interval, versions are found once.
    pub(super) fn next(&self, helm_op: &HelmOp) -> Option<Timestamp> {
        let pause = match &self.failure {
            Some(failure) => Some(failure.delay),
            None => interval(helm_op),
        };
        pause.map(|pause| self.at + pause)
    }

    /// Returns the status, the reason and the message of the condition `Polled`.
    pub(super) fn condition(&self, helm_op: &HelmOp) -> (&'static str, &'static str, String) {
        match (&self.failure, self.next(helm_op)) {
            (None, _) => ("True", "", String::new()),
            (Some(failure), None) => ("False", "PollFailed", failure.reason.clone()),
            (Some(failure), Some(next)) => {
                let next = next.strftime("%Y-%m-%dT%H:%M:%SZ");
                let message = format!("{}; the next attempt is at {next}", failure.reason);
                ("False", "PollFailed", message)
            }
        }
    }
}

fn interval(helm_op: &HelmOp) -> Option<Duration> {
    let interval = polling_interval(helm_op.spec.polling_interval.as_deref());
    interval.map(|interval| interval.max(MIN_INTERVAL))
}

/// The last polls of all HelmOps with ranges.
#[derive(Debug, Default)]
pub(crate) struct Versions {
    polls: Mutex<BTreeMap<Key, Poll>>,
}

impl Versions {
    pub(super) fn get(&self, key: &Key) -> Option<Poll> {
        self.polls.lock().get(key).cloned()
    }

    pub(super) fn set(&self, key: &Key, poll: Poll) {
        self.polls.lock().insert(key.clone(), poll);
    }

    /// Removes a poll. Returns true if the poll existed.
    pub(super) fn forget(&self, key: &Key) -> bool {
        self.polls.lock().remove(key).is_some()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn failed_poll_keeps_the_versions_and_is_repeated_with_a_backoff() {
        let range = ChartRange {
            repo: "https://a".to_owned(),
            chart: "shop".to_owned(),
            version: "^1".to_owned(),
        };
        let cause = Cause {
            uid: "1".to_owned(),
            generation: 1,
            secret: String::new(),
            ranges: [range.clone()].into(),
        };
        let versions = BTreeMap::from([(range, "1.2.3".to_owned())]);
        let at = Timestamp::UNIX_EPOCH;
        let once = HelmOp::default();
        let mut daily = HelmOp::default();
        daily.spec.polling_interval = Some("24h".to_owned());
        let poll = Poll::after(None, cause.clone(), (versions.clone(), None), at);
        let day = Some(at + Duration::from_hours(24));
        assert_eq!((poll.next(&once), poll.next(&daily)), (None, day));
        let corrected = Cause {
            generation: 2,
            ..cause.clone()
        };
        assert!(poll.is_for(&cause) && !poll.is_for(&corrected));

        let failed = || (BTreeMap::new(), Some("no route".to_owned()));
        let seconds = |poll: &Poll, helm_op: &HelmOp| {
            poll.next(helm_op).unwrap().duration_since(at).as_secs()
        };
        let mut failing = Poll::after(Some(poll), corrected.clone(), failed(), at);
        assert_eq!(failing.found, versions);
        assert!((7..=15).contains(&seconds(&failing, &daily)));
        for _ in 0..10 {
            failing = Poll::after(Some(failing), corrected.clone(), failed(), at);
        }
        assert!((450..=900).contains(&seconds(&failing, &once)));
        let recreated = Cause {
            uid: "2".to_owned(),
            ..cause
        };
        let other = Poll::after(Some(failing), recreated, failed(), at);
        assert!(other.found.is_empty());
        assert!((7..=15).contains(&seconds(&other, &once)));
    }
}
