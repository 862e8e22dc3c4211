//! The condition of a Cluster that is being deleted.

use drover_api::conditions::{CLEANED_UP, ConditionValue, Tristate, set_condition};
use drover_api::group::{ACCESS_LABEL, AGENT_NAMESPACE, NODE_AGENT_NAMESPACE, PROJECT_LABEL};
use drover_api::kinds::Cluster;
use jiff::Timestamp;
use kube::ResourceExt as _;

use super::CLEAN_UP_TIMEOUT;
use crate::managed::ManagedCluster;
use drover_agent_gateway::registration::manifest::{AGENT, NAME_LABEL};

/// Returns the condition at the start of the clean-up.
pub(super) fn started(connected: bool) -> ConditionValue {
    let (reason, message) = if connected {
        (
            "CleaningUp",
            "the server is deleting Drover's objects in the cluster".to_owned(),
        )
    } else {
        let seconds = CLEAN_UP_TIMEOUT.as_secs();
        let message = format!(
            "no agent of the cluster is connected; the server waits at most {seconds} s for an \
             agent to delete Drover's objects in the cluster"
        );
        ("WaitingForAgent", message)
    };
    ConditionValue {
        status: Tristate::Unknown,
        reason,
        message,
    }
}

/// Returns the condition after the timeout. `problem` is the last error of the cluster, if any.
pub(super) fn failed(problem: Option<&str>) -> ConditionValue {
    let (reason, cause) = match problem {
        Some(problem) => ("CleanUpFailed", problem),
        None => ("AgentGone", "no agent of the cluster connected in time"),
    };
    ConditionValue {
        status: Tristate::False,
        reason,
        message: format!(
            "Drover's objects stay in the cluster ({cause}); to delete them, run in the cluster: {}",
            commands()
        ),
    }
}

/// Returns the commands that delete Drover's objects in the cluster: the objects of the manifest or
/// the Helm chart, and the objects that Drover's controllers created.
fn commands() -> String {
    format!(
        "kubectl delete clusterrolebindings,clusterroles -l {NAME_LABEL}={AGENT} && \
         kubectl delete clusterrolebindings,clusterroles,rolebindings -A -l {ACCESS_LABEL} && \
         kubectl delete resourcequotas,limitranges -A -l {PROJECT_LABEL} && \
         kubectl label namespaces -l {PROJECT_LABEL} {PROJECT_LABEL}- && \
         kubectl delete namespace {AGENT_NAMESPACE} {NODE_AGENT_NAMESPACE} --ignore-not-found"
    )
}

/// Writes the condition, and an event for a failure. Logs a failed write.
pub(super) async fn report(managed: &ManagedCluster, condition_value: &ConditionValue) {
    let Some(cluster) = managed.object() else {
        return;
    };
    let name = cluster.name_any();
    if condition_value.status == Tristate::False {
        tracing::warn!(cluster.name = name, "{}", condition_value.message);
        let notices = &managed.controllers.notices;
        notices
            .warn(&cluster, condition_value.reason, &condition_value.message)
            .await;
    }
    let mut status = cluster.status.clone().unwrap_or_default();
    let (generation, now) = (cluster.metadata.generation, Timestamp::now());
    set_condition(
        &mut status.conditions,
        CLEANED_UP,
        condition_value,
        generation,
        now,
    );
    let desired = Cluster {
        status: Some(status),
        ..Cluster::clone(&cluster)
    };
    let hub = &managed.controllers.hub;
    let writer = hub.writer();
    let writing = writer.replace_status("write the progress of a cluster's removal", &desired);
    if let Err(error) = writing.await {
        let error = &error as &dyn std::error::Error;
        tracing::warn!(
            cluster.name = name,
            error,
            "failed to write the progress of a cluster's removal to the status of the Cluster"
        );
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use drover_api::group::MANAGED_BY_LABEL;

    use super::*;
    use crate::access::desired::tests::desired_for_one_administrator;
    use drover_access::proof::PublicKey;
    use drover_agent_gateway::registration::manifest::Manifest;
    use drover_api::ids::ClusterUid;
    use secrecy::ExposeSecret as _;

    /// Returns the objects of an import manifest.
    fn objects() -> Vec<serde_json::Value> {
        let manifest = Manifest {
            server_url: "https://drover.example:8443".into(),
            server_ca: String::new(),
            cluster_uid: ClusterUid::new("5a1d"),
            cluster_name: "shop".into(),
            token: "droverimport_bbbbbbbbbbbb_secretsecretsecret".into(),
            plan_keys: vec![PublicKey::from_bytes([1; 32])],
            image: "drover-agent:0.1.0".into(),
            image_pull_policy: "Never".into(),
            gitops_only: false,
        };
        let yaml = manifest.write().unwrap();
        serde_saphyr::from_multiple(yaml.expose_secret()).unwrap()
    }

    #[test]
    fn failed_cluster_cleanup_reports_reason_and_commands() {
        for (problem, reason, cause) in [
            (None, "AgentGone", "no agent"),
            (Some("could not delete x: 403"), "CleanUpFailed", "403"),
        ] {
            let condition_value = failed(problem);
            assert_eq!(
                (condition_value.status, condition_value.reason),
                (Tristate::False, reason)
            );
            assert!(
                condition_value.message.contains(cause),
                "{condition_value:?}"
            );
            let run = "kubectl delete namespace drover-agent";
            assert!(condition_value.message.contains(run), "{condition_value:?}");
        }
    }

    #[test]
    fn suggested_cleanup_command_selects_all_roles_of_manifest_and_helm() {
        let commands = commands();
        let selector = commands.split(" -l ").nth(1).unwrap();
        let (label, value) = selector.split(' ').next().unwrap().split_once('=').unwrap();
        let mut found = Vec::new();
        let manifest = objects().into_iter().filter(|object| {
            let kind = object["kind"].as_str().unwrap();
            ["ClusterRole", "ClusterRoleBinding"].contains(&kind)
        });
        for object in manifest {
            let labels = object["metadata"]["labels"].clone();
            let mut labels: BTreeMap<String, String> = serde_json::from_value(labels).unwrap();
            // Helm sets this label on all objects that it installs.
            labels.insert(MANAGED_BY_LABEL.to_owned(), "Helm".to_owned());
            found.push(labels);
        }
        let expected = desired_for_one_administrator();
        let roles = expected.cluster_roles.into_iter().map(|role| role.metadata);
        let bindings = expected.cluster_bindings.into_iter();
        let bindings = bindings.map(|binding| binding.metadata);
        found.extend(roles.chain(bindings).filter_map(|metadata| metadata.labels));
        assert_eq!(found.len(), 8);
        for labels in found {
            assert_eq!(
                labels.get(label).map(String::as_str),
                Some(value),
                "{labels:?}"
            );
        }
    }
}
