//! Clusters whose agents have not checked in for a time.

use drover_api::fleet::FleetCluster;
use jiff::{SignedDuration, Timestamp};

/// Time after the last check-in from which on a cluster is offline. Drover's agents check in every 5
/// minutes, and Fleet's agents every 15 minutes.
const OFFLINE: SignedDuration = SignedDuration::from_mins(16);

/// Reports whether a cluster is offline. A cluster without a check-in is offline.
pub(crate) fn is_offline(cluster: &FleetCluster, now: Timestamp) -> bool {
    last_seen(cluster).is_none_or(|last_seen| now.duration_since(last_seen) > OFFLINE)
}

/// Returns the time of the last check-in of a cluster's agent.
pub(crate) fn last_seen(cluster: &FleetCluster) -> Option<Timestamp> {
    let status = cluster.status.as_ref()?;
    status.agent.last_seen.as_ref().map(|time| time.0)
}

#[cfg(test)]
mod tests {
    use drover_api::fleet::FleetClusterStatus;
    use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;

    use super::*;

    #[test]
    fn cluster_is_offline_before_its_first_check_in_and_16_minutes_after_the_last() {
        let now = Timestamp::from_second(100_000).unwrap();
        for (minutes, offline) in [(None, true), (Some(16), false), (Some(17), true)] {
            let mut status = FleetClusterStatus::default();
            status.agent.last_seen = minutes.map(|it| Time(now - SignedDuration::from_mins(it)));
            let cluster = FleetCluster {
                status: Some(status),
                ..FleetCluster::default()
            };
            assert_eq!(is_offline(&cluster, now), offline, "{minutes:?}");
        }
    }
}
