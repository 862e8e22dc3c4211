//! Upgrades of agents: selects the image and patches the agent's Deployment.

use std::time::Duration;

use drover_api::agent::Lane;
use drover_api::group::{AGENT_NAMESPACE, SERVER_FIELD_MANAGER};
use drover_api::ids::ClusterUid;
use drover_api::kinds::{AgentSpec, AgentUpgrade};
use drover_reconcile::{Action, Attempt, Reconciler};
use k8s_openapi::api::apps::v1::Deployment;
use kube::api::{Api, Patch, PatchParams};
use serde_json::json;
use tokio::time::Instant;

use super::Controllers;
use super::managed::{ManagedCluster, Upgrade};
use drover_agent_gateway::registration::import::agent_image;
use drover_agent_gateway::registration::manifest::AGENT;
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
    // A strategic merge patch changes only the container with this name.
    let patch = Patch::Strategic(json!({"spec": {"template": {"spec": {"containers": [
        {"name": AGENT, "image": image}
    ]}}}}));
    let params = PatchParams {
        field_manager: Some(SERVER_FIELD_MANAGER.into()),
        ..PatchParams::default()
    };
    let patched = api.patch(AGENT, &params, &patch);
    call(format!("set the image of Deployment {AGENT}"), patched)
        .await
        .map(|_| ())
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
