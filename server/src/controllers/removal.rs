//! The end of a Cluster: what Drover applied is taken away, then whatever speaks of it is deleted.
//!
//! A finalizer makes deletion wait. A cluster that cannot be reached is waited for a bounded time
//! only: its agent's key is worth nothing once the Cluster is gone.

use std::time::Duration;

use drover_api::agent::Lane;
use drover_api::group::AGENT_NAMESPACE;
use drover_api::kinds::Cluster;
use k8s_openapi::api::core::v1::Namespace;
use k8s_openapi::api::rbac::v1::{ClusterRole, ClusterRoleBinding};
use kube::api::{Api, DeleteParams, Patch, PatchParams};
use kube::{Client, Resource, ResourceExt as _};
use serde::de::DeserializeOwned;
use serde_json::json;

use super::access::act::{AccessError, call as cluster_call, remove};
use super::keeper::Shared;
use crate::backoff::Backoff;
use crate::hub::{Hub, HubError, call};

/// What makes deletion wait for `finish`.
pub const FINALIZER: &str = "management.drover.dev/cluster";
/// Longest to try to clean up in the cluster.
const CLEAN_WITHIN: Duration = Duration::from_secs(30);
/// Cluster-scoped objects of the manifest that nothing else takes away.
const MANIFEST_ROLES: [&str; 2] = ["drover-controller", "drover-report"];

/// Adds the finalizer where it is missing.
pub(super) async fn hold(hub: &Hub, cluster: &Cluster) {
    if cluster
        .finalizers()
        .iter()
        .any(|finalizer| finalizer == FINALIZER)
    {
        return;
    }
    let mut finalizers = cluster.finalizers().to_vec();
    finalizers.push(FINALIZER.to_owned());
    // Boxed: it happens once, and shall not take room in every cluster's task.
    if let Err(error) = Box::pin(set_finalizers(hub, cluster, &finalizers)).await
        && !error.is_conflict()
    {
        tracing::warn!(
            cluster.name = cluster.name_any(),
            error = &error as &dyn std::error::Error,
            "a cluster has no finalizer yet"
        );
    }
}

/// Compare-and-swap: the version makes the patch fail where somebody else was faster.
async fn set_finalizers(
    hub: &Hub,
    cluster: &Cluster,
    finalizers: &[String],
) -> Result<Cluster, HubError> {
    let patch = json!({"metadata": {
        "finalizers": finalizers,
        "resourceVersion": cluster.resource_version(),
        "uid": cluster.uid(),
    }});
    let (api, name) = (hub.clusters(), cluster.name_any());
    let params = PatchParams::default();
    call(
        "set a cluster's finalizers",
        api.patch(&name, &params, &Patch::Merge(&patch)),
    )
    .await
}

/// Ends a Cluster whose deletion was asked for; returns when it is gone.
pub(super) async fn finish(shared: &Shared) {
    let hub = &shared.controllers.hub;
    let cleaned = tokio::time::timeout(CLEAN_WITHIN, clean(shared)).await;
    if cleaned.is_err() && shared.is_connected() {
        tracing::warn!(cluster.uid = %shared.uid, "what Drover applied in a deleted cluster stays there");
    }
    shared
        .controllers
        .tunnels
        .disconnect(&shared.uid, "the Cluster was deleted at the server");
    let mut backoff = Backoff::new(Duration::from_secs(1), Duration::from_secs(30));
    while let Some(cluster) = shared.cluster() {
        match forget(hub, &cluster).await {
            Ok(()) => {
                hub.stores()
                    .clusters
                    .wait_until_gone(shared.uid.as_str(), Duration::from_secs(5))
                    .await;
            }
            Err(error) => {
                let name = cluster.name_any();
                tracing::warn!(cluster.name = name, %error, "a cluster's end is delayed");
                tokio::time::sleep(backoff.next_delay()).await;
            }
        }
    }
}

/// Cleans up through the tunnel until it has worked, or nobody is connected.
async fn clean(shared: &Shared) {
    let mut backoff = Backoff::new(Duration::from_secs(1), Duration::from_secs(5));
    while shared.is_connected() {
        let client = shared
            .controllers
            .tunnels
            .client(&shared.uid, Lane::Controller);
        match clean_once(&client).await {
            Ok(()) => return,
            Err(error) => {
                tracing::info!(cluster.uid = %shared.uid, %error, "cleaning up in a deleted cluster");
                tokio::time::sleep(backoff.next_delay()).await;
            }
        }
    }
}

/// People's access first; the agent last, since everything goes through it.
async fn clean_once(client: &Client) -> Result<(), AccessError> {
    remove(client).await?;
    let namespaces: Api<Namespace> = Api::all(client.clone());
    let found = namespaces.get_opt(AGENT_NAMESPACE);
    let Some(namespace) = cluster_call("read the agent's namespace".to_owned(), found).await?
    else {
        return Ok(());
    };
    // Owned by the namespace, so that the cluster's garbage collector takes them with it: nobody
    // can delete the rights by which they delete.
    give_to::<ClusterRoleBinding>(client, &namespace).await?;
    give_to::<ClusterRole>(client, &namespace).await?;
    let params = DeleteParams::default();
    let deleted = namespaces.delete(AGENT_NAMESPACE, &params);
    cluster_call("delete the agent's namespace".to_owned(), deleted)
        .await
        .map(|_| ())
}

async fn give_to<K>(client: &Client, owner: &Namespace) -> Result<(), AccessError>
where
    K: Resource<DynamicType = (), Scope = k8s_openapi::ClusterResourceScope>
        + DeserializeOwned
        + Clone
        + std::fmt::Debug,
{
    let api: Api<K> = Api::all(client.clone());
    let patch = Patch::Merge(json!({"metadata": {"ownerReferences": [{
        "apiVersion": "v1",
        "kind": "Namespace",
        "name": AGENT_NAMESPACE,
        "uid": owner.uid(),
    }]}}));
    let params = PatchParams::default();
    for name in MANIFEST_ROLES {
        let patched = api.patch(name, &params, &patch);
        cluster_call(format!("hand {} {name} over", K::kind(&())), patched).await?;
    }
    Ok(())
}

/// Deletes what speaks of the Cluster on the hub, then lets it go.
async fn forget(hub: &Hub, cluster: &Cluster) -> Result<(), HubError> {
    let uid = cluster.uid().unwrap_or_default();
    let params = DeleteParams::default();
    for token in hub.stores().registration_tokens.all() {
        if token.spec.cluster_uid.as_str() == uid {
            let api = hub.registration_tokens();
            gone(
                call(
                    "delete a registration token",
                    api.delete(&token.name_any(), &params),
                )
                .await,
            )?;
        }
    }
    for token in hub.stores().tokens.all() {
        if token
            .spec
            .cluster
            .as_ref()
            .is_some_and(|scope| scope.uid.as_str() == uid)
        {
            let api = hub.tokens();
            gone(call("delete a token", api.delete(&token.name_any(), &params)).await)?;
        }
    }
    let rest: Vec<String> = cluster
        .finalizers()
        .iter()
        .filter(|name| *name != FINALIZER)
        .cloned()
        .collect();
    gone(set_finalizers(hub, cluster, &rest).await)
}

fn gone<T>(result: Result<T, HubError>) -> Result<(), HubError> {
    match result {
        Err(error) if !error.is_not_found() => Err(error),
        _ => Ok(()),
    }
}
