//! Upgrades of agents: selects the image, and patches the agent's Deployment and the DaemonSets of the
//! node agents.

use std::fmt::Debug;
use std::time::Duration;

use drover_api::agent::{Lane, NodeClass};
use drover_api::group::{AGENT_NAMESPACE, NODE_AGENT_NAMESPACE, SERVER_FIELD_MANAGER};
use drover_api::ids::ClusterUid;
use drover_api::kinds::{AgentSpec, AgentUpgrade};
use drover_reconcile::{Action, Attempt, Reconciler};
use k8s_openapi::api::apps::v1::{DaemonSet, Deployment};
use kube::Resource;
use kube::api::{Api, Patch, PatchParams};
use serde::de::DeserializeOwned;
use serde_json::json;
use tokio::time::Instant;

use super::Controllers;
use super::managed::{ManagedCluster, Upgrade};
use drover_agent_gateway::registration::import::agent_image;
use drover_agent_gateway::registration::manifest::{AGENT, NODE_AGENT};
use drover_agent_gateway::tunnels::TunnelSource;
use drover_apply::{ApplyError, call};

/// Minimum time between two patches of one cluster.
const BETWEEN_PATCHES: Duration = Duration::from_mins(1);
/// Maximum time between two decisions.
const INTERVAL: Duration = Duration::from_secs(30);

/// Returns the image to set in the agent's Deployment. Returns `None` if the Deployment needs no
/// change.
///
/// `desired` is `spec.agent.image`, or else the server's own image. The server's own image is set
/// only if automatic upgrades are enabled.
pub(crate) fn decide(spec: &AgentSpec, desired: &str, runs: &str) -> Option<String> {
    let may = spec.image.is_some() || spec.upgrade == AgentUpgrade::Automatic;
    (may && runs != desired && !runs.is_empty()).then(|| desired.to_owned())
}

/// The reconciler that sets the image of each cluster's agent.
pub(super) struct AgentUpgrades(pub(super) Controllers);

impl Reconciler for AgentUpgrades {
    type Key = ClusterUid;
    type Error = ApplyError;

    async fn reconcile(&self, uid: &ClusterUid, _: &Attempt) -> Result<Action, ApplyError> {
        let Some(cluster) = self.0.cluster(uid) else {
            return Ok(Action::await_change());
        };
        let reconciling = cluster.unless_deleted(reconcile(&cluster));
        reconciling.await.unwrap_or(Ok(Action::await_change()))
    }
}

async fn reconcile(cluster: &ManagedCluster) -> Result<Action, ApplyError> {
    if !cluster.is_connected() {
        return Ok(Action::await_change());
    }
    let Some(image) = next(cluster) else {
        cluster.finish_upgrade();
        // Boxed, because the calls of the DaemonSets need a large future.
        Box::pin(upgrade_node_agents(cluster)).await?;
        return Ok(Action::requeue(INTERVAL));
    };
    if let Upgrade::Requested { at, .. } = cluster.upgrade()
        && at.elapsed() < BETWEEN_PATCHES
    {
        return Ok(Action::requeue(
            BETWEEN_PATCHES.saturating_sub(at.elapsed()),
        ));
    }
    if let Err(error) = patch(cluster, &image).await {
        cluster.set_upgrade(Upgrade::Failed(error.to_string()));
        return Err(error);
    }
    tracing::info!(cluster.uid = %cluster.uid, image, "upgrading the agent");
    cluster.set_upgrade(Upgrade::Requested {
        image,
        at: Instant::now(),
    });
    Ok(Action::requeue(BETWEEN_PATCHES))
}

fn next(managed: &ManagedCluster) -> Option<String> {
    let cluster = managed.object()?;
    let runs = managed.reported().agent?.image;
    let desired = agent_image(&managed.controllers.settings, &cluster);
    decide(&cluster.spec.agent, &desired, &runs)
}

async fn patch(managed: &ManagedCluster, image: &str) -> Result<(), ApplyError> {
    let tunnels = &managed.controllers.tunnels;
    let client = tunnels.client(&managed.uid, Lane::Controller);
    let api: Api<Deployment> = Api::namespaced(client, AGENT_NAMESPACE);
    set_image(&api, AGENT, AGENT, image).await
}

/// Sets the image of a container in the pod template of a workload.
async fn set_image<K>(
    api: &Api<K>,
    name: &str,
    container: &str,
    image: &str,
) -> Result<(), ApplyError>
where
    K: Resource<DynamicType = ()> + Clone + Debug + DeserializeOwned,
{
    // A strategic merge patch changes only the container with this name.
    let patch = Patch::Strategic(json!({"spec": {"template": {"spec": {"containers": [
        {"name": container, "image": image}
    ]}}}}));
    let params = PatchParams {
        field_manager: Some(SERVER_FIELD_MANAGER.into()),
        ..PatchParams::default()
    };
    let patched = api.patch(name, &params, &patch);
    let operation = format!("set the image of {} {name}", K::kind(&()));
    call(operation, patched).await.map(drop)
}

/// Sets the image of the node agents to the image of the agent, after the agent's rollout.
///
/// A new pod of a node agent needs the agent to register its key. The server therefore changes the
/// DaemonSets only while it uses the agent, so that an upgrade cannot remove the last connection.
async fn upgrade_node_agents(managed: &ManagedCluster) -> Result<(), ApplyError> {
    let tunnels = &managed.controllers.tunnels;
    let (Some(cluster), Some(report)) = (managed.object(), managed.reported().agent) else {
        return Ok(());
    };
    let image = agent_image(&managed.controllers.settings, &cluster);
    let is_rolled_out = report.image == image && report.updated_available >= report.wanted;
    let active = tunnels.active(&managed.uid);
    let uses_agent = active.is_some_and(|active| active.source == TunnelSource::Agent);
    let mut upgraded = managed.state.node_agents_image.lock().await;
    if !is_rolled_out || !uses_agent || upgraded.as_ref() == Some(&image) {
        return Ok(());
    }
    let client = tunnels.client(&managed.uid, Lane::Controller);
    let api: Api<DaemonSet> = Api::namespaced(client, NODE_AGENT_NAMESPACE);
    for class in NodeClass::ALL {
        let name = class.service_account();
        let read = call(format!("read DaemonSet {name}"), api.get_opt(name)).await;
        // Older manifests contain no node agents, and their roles do not permit the request.
        let found = match read {
            Err(ApplyError::Forbidden { .. }) => None,
            read => read?,
        };
        if found.is_none_or(|found| node_agent_image(&found) == Some(&image)) {
            continue;
        }
        set_image(&api, name, NODE_AGENT, &image).await?;
        tracing::info!(cluster.uid = %managed.uid, image, name, "upgrading node agents");
    }
    *upgraded = Some(image);
    Ok(())
}

fn node_agent_image(daemon_set: &DaemonSet) -> Option<&String> {
    let pod = daemon_set.spec.as_ref()?.template.spec.as_ref()?;
    let mut containers = pod.containers.iter();
    let container = containers.find(|container| container.name == NODE_AGENT)?;
    container.image.as_ref()
}

#[cfg(test)]
mod tests {
    use AgentUpgrade::{Automatic, Manual};

    use super::*;

    #[test]
    fn agent_image_is_upgraded_only_with_automatic_policy_or_explicit_image() {
        let spec = |upgrade, image: Option<&str>| AgentSpec {
            image: image.map(str::to_owned),
            upgrade,
            gitops_only: false,
        };
        for (spec, expected, runs, changes) in [
            (spec(Automatic, None), "a:2", "a:1", true),
            (spec(Automatic, None), "a:2", "a:2", false),
            (spec(Manual, None), "a:2", "a:1", false),
            (spec(Manual, Some("b:1")), "b:1", "a:1", true),
            (spec(Manual, Some("b:1")), "b:1", "b:1", false),
            (spec(Automatic, None), "a:2", "", false),
        ] {
            assert_eq!(
                decide(&spec, expected, runs).is_some(),
                changes,
                "{spec:?} {runs}"
            );
        }
    }
}
