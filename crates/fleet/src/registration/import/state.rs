//! The state of an import, in the Fleet Cluster.

use drover_api::fleet::{FleetCluster, FleetClusterRegistrationToken, FleetCondition};
use drover_gitops::ids::safe_concat_name;
use jiff::{SignedDuration, Timestamp};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
use kube::ResourceExt as _;

use super::CONDITION;
use crate::clusters::CLUSTER_UID_LABEL;
use crate::registration::{GRANTED, IMPORT_TOKEN};

/// The state of a Fleet Cluster on which its import depends. Other changes do not repeat a failed import.
#[derive(PartialEq, Eq)]
pub(in crate::registration) struct ImportState {
    generation: Option<i64>,
    is_deleted: bool,
    annotations: [Option<String>; 2],
    deployed: Option<i64>,
    last_seen: Option<Time>,
}

impl ImportState {
    pub(in crate::registration) fn of(cluster: &FleetCluster) -> Self {
        let annotation = |name| cluster.annotations().get(name).cloned();
        let status = cluster.status.as_ref();
        let token = annotation(IMPORT_TOKEN);
        // An agent checks in every few minutes.
        let waits = token.is_some();
        let seen = status.and_then(|status| status.agent.last_seen.clone());
        Self {
            generation: cluster.metadata.generation,
            is_deleted: cluster.metadata.deletion_timestamp.is_some(),
            annotations: [annotation(GRANTED), token],
            deployed: status.and_then(|status| status.agent_deployed_generation),
            last_seen: seen.filter(|_| waits),
        }
    }
}

/// Reports whether the server imports a cluster.
pub(in crate::registration) fn is_import(cluster: &FleetCluster) -> bool {
    !cluster.spec.kube_config_secret.is_empty()
        && cluster.metadata.deletion_timestamp.is_none()
        && !cluster.labels().contains_key(CLUSTER_UID_LABEL)
}

/// Returns the name of the registration token of an import.
pub(in crate::registration) fn token_name(cluster: &str) -> String {
    safe_concat_name(&["import-token", cluster])
}

/// Reports whether the server has installed the agent since the last change of the generation.
pub(super) fn is_applied(cluster: &FleetCluster) -> bool {
    let deployed = cluster.status.as_ref();
    let deployed = deployed.and_then(|status| status.agent_deployed_generation);
    deployed == Some(cluster.spec.redeploy_agent_generation)
}

/// Message while the agent has not registered.
pub(super) const WAITING: &str = "installed the agent; waiting for its registration";
/// Message after the registration of the agent.
const REGISTERED: &str = "installed the agent, which has registered";
/// Time in which an agent usually registers.
const USUAL_WAIT: SignedDuration = SignedDuration::from_mins(10);

/// Reason of the condition of an agent that does not register.
const NOT_REGISTERED: &str = "AgentNotRegistered";

/// Returns the condition of a cluster's import.
pub(super) fn condition(cluster: &FleetCluster) -> Option<&FleetCondition> {
    let mut conditions = cluster.status.as_ref()?.conditions.iter();
    conditions.find(|condition| condition.type_ == CONDITION)
}

/// Reports whether the condition says that the agent has registered.
pub(super) fn is_registered(cluster: &FleetCluster) -> bool {
    condition(cluster).is_some_and(|it| it.message == REGISTERED)
}

/// The progress of an import after the installation of the agent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Progress {
    /// The agent has not registered.
    Waiting,
    /// The agent has not registered in the usual time.
    Late,
    /// The agent has registered.
    Registered,
    /// The registration token has expired.
    Expired,
}

impl Progress {
    /// Returns the progress while the agent has not registered.
    pub(super) fn of(
        cluster: &FleetCluster,
        token: &FleetClusterRegistrationToken,
        now: Timestamp,
    ) -> Self {
        let before = condition(cluster);
        if before.is_some_and(|it| it.reason == NOT_REGISTERED) {
            return Self::Late;
        }
        // An earlier attempt can have created the token.
        let installed = before.filter(|it| it.message == WAITING);
        let installed = installed.and_then(|it| it.last_update_time.parse().ok());
        let created = token.metadata.creation_timestamp.as_ref().map(|it| it.0);
        let since: Option<Timestamp> = installed.or(created);
        match since {
            Some(since) if now.duration_since(since) >= USUAL_WAIT => Self::Late,
            _ => Self::Waiting,
        }
    }

    /// Returns the status, reason and message of the condition.
    pub(super) const fn condition(self) -> (&'static str, &'static str, &'static str) {
        match self {
            Self::Waiting => ("True", "Imported", WAITING),
            Self::Registered => ("True", "Imported", REGISTERED),
            Self::Late => (
                "False",
                NOT_REGISTERED,
                "installed the agent, but it did not register within 10 minutes; check the pods and \
                 the ConfigMap drover-agent-status in the namespace drover-agent of the cluster, and check that \
                 the cluster can reach the URL of the hub. The server still waits for the registration",
            ),
            Self::Expired => (
                "False",
                NOT_REGISTERED,
                "installed the agent, but it did not register within 12 hours; check the ConfigMap \
                 drover-agent-status in the namespace drover-agent of the cluster, and change \
                 spec.redeployAgentGeneration",
            ),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cluster_of_drover_and_deleted_cluster_are_not_imported() {
        let mut cluster = FleetCluster::default();
        assert!(!is_import(&cluster));
        cluster.spec.kube_config_secret = "kubeconfig".to_owned();
        assert!(is_import(&cluster));
        let mut managed = cluster.clone();
        let label = (CLUSTER_UID_LABEL.to_owned(), "uid".to_owned());
        managed.metadata.labels = Some([label].into());
        assert!(!is_import(&managed));
        cluster.metadata.deletion_timestamp = Some(Time(Timestamp::UNIX_EPOCH));
        assert!(!is_import(&cluster));
    }

    #[test]
    fn changed_generation_repeats_the_import_and_conditions_do_not() {
        let mut cluster = FleetCluster::default();
        assert!(!is_applied(&cluster));
        let status = cluster.status.get_or_insert_default();
        status.agent_deployed_generation = Some(0);
        assert!(is_applied(&cluster));
        let before = ImportState::of(&cluster);
        let status = cluster.status.get_or_insert_default();
        status.agent.last_seen = Some(Time(Timestamp::UNIX_EPOCH));
        status.conditions.push(FleetCondition::default());
        assert!(before == ImportState::of(&cluster));
        cluster.spec.redeploy_agent_generation = 1;
        assert!(!is_applied(&cluster));
    }

    #[test]
    fn agent_that_does_not_register_in_time_is_reported_with_the_next_step() {
        let at = |minutes: i64| Timestamp::from_second(minutes * 60).unwrap();
        let mut token = FleetClusterRegistrationToken::default();
        token.metadata.creation_timestamp = Some(Time(at(0)));
        let mut cluster = FleetCluster::default();
        assert_eq!(Progress::of(&cluster, &token, at(9)), Progress::Waiting);
        assert_eq!(Progress::of(&cluster, &token, at(10)), Progress::Late);
        let written = FleetCondition {
            type_: CONDITION.to_owned(),
            message: WAITING.to_owned(),
            last_update_time: at(5).to_string(),
            ..FleetCondition::default()
        };
        let status = cluster.status.get_or_insert_default();
        status.conditions.push(written);
        assert_eq!(Progress::of(&cluster, &token, at(14)), Progress::Waiting);
        assert_eq!(Progress::of(&cluster, &token, at(15)), Progress::Late);
        for late in [Progress::Late, Progress::Expired].map(Progress::condition) {
            assert_eq!((late.0, late.1), ("False", "AgentNotRegistered"));
            assert!(
                late.2.contains("ConfigMap drover-agent-status"),
                "{}",
                late.2
            );
        }
    }
}
