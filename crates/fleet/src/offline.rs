//! Clusters whose agents have not checked in for a time, or may not check in at present.

use drover_api::fleet::{BundleDeployment, FleetCluster};
use drover_api::kinds::CheckInSpec;
use drover_gitops::check_in::{CheckIns, Expected};
use drover_gitops::states::{State, state_of};
use jiff::tz::TimeZone;
use jiff::{SignedDuration, Timestamp};
use kube::ResourceExt as _;

use crate::clusters::{CHECK_IN, CLUSTER_UID_LABEL};

/// Time after the last check-in from which on a cluster is offline. Drover's agents check in every 5
/// minutes, and Fleet's agents every 15 minutes.
const OFFLINE: SignedDuration = SignedDuration::from_mins(16);

/// The contact of a cluster's agent with the hub.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Contact {
    /// The agent follows its bundle deployments.
    Online,
    /// The agent connects again in its next window.
    Waiting {
        /// Latest time of the next check-in.
        next: Timestamp,
    },
    /// The agent has not checked in for too long, or never.
    Offline { last_seen: Option<Timestamp> },
}

impl Contact {
    /// Returns the contact at `now`.
    pub(crate) fn of(cluster: &FleetCluster, now: Timestamp) -> Self {
        let last_seen = last_seen(cluster);
        let Some(seen) = last_seen else {
            return Self::Offline { last_seen };
        };
        // The condition of the cluster shows windows that are not valid. Its agent ignores them.
        let windows = check_ins(cluster).and_then(Result::ok);
        let expected = windows.and_then(|windows| windows.expected(seen, now, OFFLINE).ok());
        let silent = now.duration_since(seen) > OFFLINE;
        match expected {
            Some(Expected::Connected) => Self::Online,
            Some(Expected::Later(next)) => Self::Waiting { next },
            None if !silent => Self::Online,
            Some(Expected::Missed) | None => Self::Offline { last_seen },
        }
    }

    /// Reports whether a rollout of the deployment `wanted` does not wait for the cluster. An agent that
    /// has applied the deployment has reported its result, which stays valid until the next window.
    pub(crate) fn is_absent_for(&self, current: Option<&BundleDeployment>, wanted: &str) -> bool {
        match self {
            Self::Online => false,
            Self::Offline { .. } => true,
            Self::Waiting { .. } => current.is_none_or(|current| {
                let state = state_of(current, wanted);
                !matches!(
                    state,
                    State::Ready | State::NotReady | State::Modified | State::ErrApplied
                )
            }),
        }
    }
}

/// Returns the windows of a cluster's agent, or the reason why they are not valid.
pub(crate) fn check_ins(cluster: &FleetCluster) -> Option<Result<CheckIns, String>> {
    let text = cluster.annotations().get(CHECK_IN)?;
    let parsed = serde_json::from_str::<CheckInSpec>(text).map_err(|error| error.to_string());
    let uid = cluster.labels().get(CLUSTER_UID_LABEL);
    let uid = uid.map_or("", String::as_str);
    Some(parsed.and_then(|spec| {
        CheckIns::new(&spec, uid, |name| TimeZone::get(name).ok())
            .map_err(|error| error.to_string())
    }))
}

/// Returns the time of the last check-in of a cluster's agent.
fn last_seen(cluster: &FleetCluster) -> Option<Timestamp> {
    let status = cluster.status.as_ref()?;
    status.agent.last_seen.as_ref().map(|time| time.0)
}

#[cfg(test)]
mod tests {
    use drover_api::fleet::{FleetClusterStatus, FleetCondition};
    use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;

    use super::*;

    fn seen(at: Option<Timestamp>) -> FleetCluster {
        let mut status = FleetClusterStatus::default();
        status.agent.last_seen = at.map(Time);
        FleetCluster {
            status: Some(status),
            ..FleetCluster::default()
        }
    }

    #[test]
    fn cluster_is_offline_before_its_first_check_in_and_16_minutes_after_the_last() {
        let now = Timestamp::from_second(100_000).unwrap();
        for (minutes, offline) in [(None, true), (Some(16), false), (Some(17), true)] {
            let cluster = seen(minutes.map(|it| now - SignedDuration::from_mins(it)));
            let contact = Contact::of(&cluster, now);
            assert_eq!(contact.is_absent_for(None, "id"), offline, "{minutes:?}");
        }
    }

    #[test]
    fn rollout_waits_for_a_reported_result_between_windows() {
        let next = Timestamp::from_second(100_000).unwrap();
        let reported = |id: &str| -> BundleDeployment {
            serde_json::from_value(serde_json::json!({
                "metadata": { "name": "a" }, "spec": {}, "status": { "appliedDeploymentID": id },
            }))
            .unwrap()
        };
        let waiting = Contact::Waiting { next };
        assert!(waiting.is_absent_for(None, "new"));
        assert!(waiting.is_absent_for(Some(&reported("old")), "new"));
        assert!(!waiting.is_absent_for(Some(&reported("new")), "new"));
        let mut failed = reported("old");
        let condition = FleetCondition {
            type_: "Deployed".to_owned(),
            status: "False".to_owned(),
            ..FleetCondition::default()
        };
        failed.status.get_or_insert_default().conditions = vec![condition];
        assert!(!waiting.is_absent_for(Some(&failed), "new"));
        let offline = Contact::Offline { last_seen: None };
        assert!(offline.is_absent_for(Some(&reported("new")), "new"));
    }

    #[test]
    fn cluster_with_windows_waits_between_them_and_is_offline_after_a_missed_one() {
        let time = |text: &str| text.parse::<Timestamp>().unwrap();
        let mut cluster = seen(Some(time("2026-11-28T02:05:00Z")));
        let nightly = r#"{"schedule":"0 0 2 * * *","duration":"30m"}"#;
        let annotations = cluster.metadata.annotations.get_or_insert_default();
        annotations.insert(CHECK_IN.to_owned(), nightly.to_owned());
        let at = |text| Contact::of(&cluster, time(text));
        assert_eq!(at("2026-11-28T02:20:00Z"), Contact::Online);
        let next = time("2026-11-29T02:00:00Z");
        assert_eq!(at("2026-11-28T12:00:00Z"), Contact::Waiting { next });
        assert_eq!(at("2026-11-29T02:10:00Z"), Contact::Online);
        let missed = at("2026-11-29T02:20:00Z");
        assert!(matches!(missed, Contact::Offline { .. }), "{missed:?}");
    }
}
