//! The versions of the charts of HelmOps whose version is a range.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use drover_api::fleet::{HelmOp, go_duration};
use drover_charts::{Access, ChartError, ChartRequest, Charts, EntryError, address};
use drover_gitops::helm_op::ChartRange;
use drover_hub::{HubError, call};
use drover_reconcile::Backoff;
use jiff::Timestamp;
use k8s_openapi::api::core::v1::Secret;
use kube::{Api, Client};
use parking_lot::Mutex;
use thiserror::Error;

use crate::mirror::Key;
use crate::repos::random;

/// Shortest interval of polls.
const SHORTEST: Duration = Duration::from_secs(15);
/// Delays after failed polls.
const BACKOFF: Backoff = Backoff::new(Duration::from_secs(15), Duration::from_mins(15));

/// The reason why a poll found no version.
#[derive(Debug, Error)]
pub(super) enum PollError {
    #[error(transparent)]
    Hub(#[from] HubError),
    #[error(transparent)]
    Chart(#[from] ChartError),
    #[error("spec.helmSecretName: the Secret {0} does not exist in the namespace of the HelmOp")]
    NoSecret(String),
    #[error("spec.helmSecretName: {source} in the Secret {name}")]
    Secret { name: String, source: EntryError },
    #[error("the address {0:?} of the chart must begin with https://, http:// or oci://")]
    Address(String),
}

/// The last poll of a HelmOp.
#[derive(Clone, Debug)]
pub(super) struct Poll {
    /// The ranges of the HelmOp at the poll.
    ranges: BTreeSet<ChartRange>,
    /// The versions of the last successful poll of these ranges.
    pub(super) found: BTreeMap<ChartRange, String>,
    pub(super) at: Timestamp,
    /// The last poll failed.
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

impl Poll {
    /// Returns the time of the next poll. Without an interval, versions are found once.
    pub(super) fn next(&self, helm_op: &HelmOp) -> Option<Timestamp> {
        let interval = interval(helm_op);
        let pause = match &self.failure {
            Some(failure) => Some(failure.delay.max(interval.unwrap_or_default())),
            None => interval,
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

    /// Reports whether each range has a version.
    pub(super) fn is_complete(&self) -> bool {
        self.ranges
            .iter()
            .all(|range| self.found.contains_key(range))
    }
}

/// Finds versions in Helm repositories and registries.
pub(super) struct Versions {
    client: Client,
    charts: Arc<Charts>,
    polls: Mutex<BTreeMap<Key, Poll>>,
}

impl Versions {
    pub(super) fn new(client: Client, charts: Arc<Charts>) -> Self {
        Self {
            client,
            charts,
            polls: Mutex::default(),
        }
    }

    /// Removes the poll of a HelmOp without ranges.
    pub(super) fn forget(&self, key: &Key) {
        self.polls.lock().remove(key);
    }

    /// Returns the last poll. Polls first if the ranges have changed or a poll is due.
    pub(super) async fn poll(
        &self,
        key: &Key,
        helm_op: &HelmOp,
        secret: &str,
        ranges: BTreeSet<ChartRange>,
    ) -> Poll {
        let last = self.polls.lock().get(key).cloned();
        let last = last.filter(|last| last.ranges == ranges);
        let now = Timestamp::now();
        if let Some(last) = &last
            && last.next(helm_op).is_none_or(|next| next > now)
        {
            return last.clone();
        }
        let result = Box::pin(self.find(key, helm_op, secret, &ranges)).await;
        let poll = after(last, ranges, result, Timestamp::now());
        self.polls.lock().insert(key.clone(), poll.clone());
        poll
    }

    async fn find(
        &self,
        key: &Key,
        helm_op: &HelmOp,
        secret: &str,
        ranges: &BTreeSet<ChartRange>,
    ) -> Result<BTreeMap<ChartRange, String>, PollError> {
        let access = self.access(key, helm_op, secret).await?;
        let mut found = BTreeMap::new();
        for range in ranges {
            let (repo, chart) = address(&range.repo, &range.chart)
                .ok_or_else(|| PollError::Address(range.repo.clone()))?;
            let request = ChartRequest {
                repo,
                chart,
                version: range.version.clone(),
                access: access.clone(),
                ..ChartRequest::default()
            };
            let version = self.charts.newest_version(&request).await?;
            found.insert(range.clone(), version);
        }
        Ok(found)
    }

    async fn access(&self, key: &Key, helm_op: &HelmOp, name: &str) -> Result<Access, PollError> {
        let access = Access {
            insecure_skip_tls_verify: helm_op.spec.insecure_skip_tls_verify,
            ..Access::default()
        };
        if name.is_empty() {
            return Ok(access);
        }
        let secrets = Api::<Secret>::namespaced(self.client.clone(), &key.namespace);
        let secret = call("read the credential of a HelmOp", secrets.get_opt(name)).await?;
        let secret = secret.ok_or_else(|| PollError::NoSecret(name.to_owned()))?;
        let data = secret.data.unwrap_or_default();
        let access = access.with_secret(|entry| data.get(entry).map(|bytes| &*bytes.0));
        access.map_err(|source| PollError::Secret {
            name: name.to_owned(),
            source,
        })
    }
}

fn interval(helm_op: &HelmOp) -> Option<Duration> {
    let text = helm_op.spec.polling_interval.as_deref();
    let interval = text.and_then(go_duration::parse).filter(|it| !it.is_zero());
    interval.map(|interval| interval.max(SHORTEST))
}

/// Returns the poll after `last`. A failed poll keeps the versions.
fn after(
    last: Option<Poll>,
    ranges: BTreeSet<ChartRange>,
    result: Result<BTreeMap<ChartRange, String>, PollError>,
    at: Timestamp,
) -> Poll {
    let (found, failure) = match result {
        Ok(found) => (found, None),
        Err(error) => {
            let (found, failure) = last
                .map(|last| (last.found, last.failure))
                .unwrap_or_default();
            let count = failure.map_or(0, |failure| failure.count);
            let failure = Failure {
                reason: error.to_string(),
                count: count + 1,
                delay: BACKOFF.delay(count, random()),
            };
            (found, Some(failure))
        }
    };
    Poll {
        ranges,
        found,
        at,
        failure,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn failed_poll_keeps_the_versions_and_is_repeated_later() {
        let range = ChartRange {
            repo: "https://a".to_owned(),
            chart: "shop".to_owned(),
            version: "^1".to_owned(),
        };
        let ranges = BTreeSet::from([range.clone()]);
        let found = BTreeMap::from([(range, "1.2.3".to_owned())]);
        let at = Timestamp::UNIX_EPOCH;
        let once = HelmOp::default();
        let mut often = HelmOp::default();
        often.spec.polling_interval = Some("1m".to_owned());
        let minute = Some(at + Duration::from_mins(1));
        let polled = after(None, ranges.clone(), Ok(found), at);
        assert!(polled.is_complete());
        assert_eq!((polled.next(&once), polled.next(&often)), (None, minute));

        let failure = || Err(PollError::NoSecret("registry".to_owned()));
        let failed = after(Some(polled), ranges.clone(), failure(), at);
        assert!(failed.is_complete() && failed.failure.is_some());
        assert_eq!(failed.next(&often), minute);
        let mut failing = after(None, ranges.clone(), failure(), at);
        assert!(!failing.is_complete());
        for _ in 0..10 {
            failing = after(Some(failing), ranges.clone(), failure(), at);
        }
        let delay = failing.next(&once).unwrap().duration_since(at).as_secs();
        assert!((450..=900).contains(&delay), "{delay}");
    }
}
