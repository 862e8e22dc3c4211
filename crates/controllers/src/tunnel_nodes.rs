//! Tells the node agents of a cluster which nodes are selected for tunnels, and closes the tunnels of
//! other nodes.

use std::time::Duration;

use drover_api::agent::Lane;
use drover_api::group::{AGENT_NAMESPACE, SERVER_FIELD_MANAGER, TUNNEL_NODES};
use drover_api::ids::ClusterUid;
use drover_api::kinds::Cluster;
use drover_reconcile::{Action, Attempt, Reconciler};
use jiff::Timestamp;
use k8s_openapi::api::core::v1::ConfigMap;
use k8s_openapi::api::rbac::v1::RoleBinding;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use kube::api::{Api, DeleteParams, Patch, PatchParams, PostParams};
use kube::{Client, ResourceExt as _};
use tokio::time::Instant;

use super::Controllers;
use super::agent_keys::close_invalid;
use super::managed::{ManagedCluster, NodeSelection, WrittenSelection};
use drover_agent_gateway::registration::manifest::{labels, worker_tunnels};
use drover_apply::{ApplyError, call, is_conflict, unless_gone};

/// Interval at which the server writes the selection again, because another writer may have changed it.
const INTERVAL: Duration = Duration::from_mins(5);

impl NodeSelection {
    fn of(cluster: &Cluster) -> Self {
        let status = cluster.status.as_ref();
        let agents = status.map_or(&[][..], |status| &status.node_agents);
        let names: Vec<&str> = agents.iter().map(|agent| &*agent.node).collect();
        Self {
            nodes: names.join("\n"),
            workers: cluster.spec.node_agents.worker_tunnels,
        }
    }
}

/// The reconciler that writes the selection to each cluster.
pub(super) struct TunnelNodes(pub(super) Controllers);

impl Reconciler for TunnelNodes {
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

async fn reconcile(managed: &ManagedCluster) -> Result<Action, ApplyError> {
    let Some(cluster) = managed.object() else {
        return Ok(Action::await_change());
    };
    close_invalid(managed, &cluster, Timestamp::now());
    if !managed.is_connected() {
        return Ok(Action::await_change());
    }
    let selection = NodeSelection::of(&cluster);
    let mut written = managed.state.tunnel_nodes.lock().await;
    if let Some(written) = &*written
        && written.selection == selection
        && let Some(wait) = INTERVAL.checked_sub(written.at.elapsed())
    {
        return Ok(Action::requeue(wait));
    }
    let tunnels = &managed.controllers.tunnels;
    let client = tunnels.client(&managed.uid, Lane::Controller);
    match write(&client, &selection).await {
        Ok(()) => {}
        // The roles of older manifests do not permit the write, and these manifests contain no node
        // agents.
        Err(ApplyError::Forbidden { .. }) if !selection.workers => {}
        Err(error) => return Err(error),
    }
    *written = Some(WrittenSelection {
        selection,
        at: Instant::now(),
    });
    Ok(Action::requeue(INTERVAL))
}

/// Writes the permission of workers before the names of the nodes, so that an error does not leave a
/// permission that the Cluster no longer allows.
async fn write(client: &Client, selection: &NodeSelection) -> Result<(), ApplyError> {
    write_worker_permission(client, selection.workers).await?;
    let config_maps: Api<ConfigMap> = Api::namespaced(client.clone(), AGENT_NAMESPACE);
    let config_map = ConfigMap {
        metadata: ObjectMeta {
            name: Some(TUNNEL_NODES.to_owned()),
            labels: Some(labels()),
            ..ObjectMeta::default()
        },
        data: Some([("nodes".to_owned(), selection.nodes.clone())].into()),
        ..ConfigMap::default()
    };
    let params = PatchParams::apply(SERVER_FIELD_MANAGER).force();
    let patch = Patch::Apply(&config_map);
    let patched = config_maps.patch(TUNNEL_NODES, &params, &patch);
    let patched = call(format!("write ConfigMap {TUNNEL_NODES}"), patched).await;
    patched.map(drop)
}

async fn write_worker_permission(client: &Client, allowed: bool) -> Result<(), ApplyError> {
    let bindings: Api<RoleBinding> = Api::namespaced(client.clone(), AGENT_NAMESPACE);
    let binding = worker_tunnels();
    let name = binding.name_any();
    if allowed {
        let params = PostParams::default();
        let created = bindings.create(&params, &binding);
        match call(format!("create RoleBinding {name}"), created).await {
            Err(ApplyError::Call { source, .. }) if is_conflict(&source) => Ok(()),
            created => created.map(drop),
        }
    } else {
        let params = DeleteParams::default();
        let deleted = bindings.delete(&name, &params);
        unless_gone(call(format!("delete RoleBinding {name}"), deleted).await)
    }
}
