//! The state of an import, in the Fleet Cluster.

use drover_api::fleet::FleetCluster;
use drover_gitops::ids::safe_concat_name;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
use kube::ResourceExt as _;

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

/// Returns the message of a completed import.
pub(super) fn imported(cluster: &FleetCluster) -> &'static str {
    let status = cluster.status.as_ref();
    if status.is_some_and(|status| !status.namespace.is_empty()) {
        "installed the agent, which has registered"
    } else {
        "installed the agent, but it did not register within 12 hours; see the ConfigMap \
         drover-agent-status in the cluster, and change spec.redeployAgentGeneration"
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
        cluster.metadata.deletion_timestamp = Some(Time(jiff::Timestamp::UNIX_EPOCH));
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
        status.agent.last_seen = Some(Time(jiff::Timestamp::UNIX_EPOCH));
        status
            .conditions
            .push(drover_api::fleet::FleetCondition::default());
        assert!(before == ImportState::of(&cluster));
        cluster.spec.redeploy_agent_generation = 1;
        assert!(!is_applied(&cluster));
    }
}
