//! The end of a Cluster: what Drover applied is taken away, then whatever speaks of it is deleted.
//!
//! A finalizer makes deletion wait. A cluster that cannot be reached is waited for a bounded time
//! only, and the Cluster says so while it is waited for: its agent's key is worth nothing once the
//! Cluster is gone.

mod told;

use std::time::Duration;

use drover_api::agent::Lane;
use drover_api::group::CLUSTER_FINALIZER;
use drover_api::group::{ACCESS_LABEL, AGENT_NAMESPACE};
use drover_api::ids::ClusterUid;
use drover_api::kinds::Cluster;
use k8s_openapi::api::core::v1::Namespace;
use k8s_openapi::api::rbac::v1::{ClusterRole, ClusterRoleBinding};
use kube::api::{Api, DeleteParams, Patch, PatchParams};
use kube::{Client, Resource, ResourceExt as _};
use serde::de::DeserializeOwned;
use serde_json::json;

use super::access::act::apply;
use super::access::wanted::Wanted;
use super::keeper::Shared;
use super::projects;
use drover_apply::{ApplyError, call as cluster_call, unless_gone};
use drover_entropy::backoff::Backoff;
use drover_hub::{Hub, HubError, call};

/// Longest to wait for the cluster's agent and to clean up; agents dial at least every 15 s.
const CLEAN_WITHIN: Duration = Duration::from_mins(1);
/// How long a Cluster stays after it was said that nothing was cleaned up, for whoever waits.
const SEEN_WITHIN: Duration = Duration::from_secs(6);
/// Cluster-scoped objects of the manifest that nothing else takes away.
const MANIFEST_ROLES: [&str; 2] = ["drover-controller", "drover-report"];

/// Whether deletion of a Cluster waits for [`finish`].
fn is_held(cluster: &Cluster) -> bool {
    let mut finalizers = cluster.finalizers().iter();
    finalizers.any(|finalizer| finalizer == CLUSTER_FINALIZER)
}

/// Adds the finalizer where it is missing.
pub(super) async fn hold(hub: &Hub, cluster: &Cluster) {
    if is_held(cluster) {
        return;
    }
    let mut finalizers = cluster.finalizers().to_vec();
    finalizers.push(CLUSTER_FINALIZER.to_owned());
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
    clean_up(shared).await;
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
                    .wait_until_gone(shared.uid.as_str())
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

/// Cleans up if the cluster ever had an agent, and says what became of it.
async fn clean_up(shared: &Shared) {
    let registered = |cluster: &Cluster| {
        let status = cluster.status.as_ref();
        status.is_some_and(|status| status.registration.is_some())
    };
    if !shared.cluster().is_some_and(|cluster| registered(&cluster)) {
        return;
    }
    told::tell(shared, &told::trying(shared.is_connected())).await;
    let mut problem = None;
    let cleaned = tokio::time::timeout(CLEAN_WITHIN, clean(shared, &mut problem)).await;
    if cleaned.is_ok() {
        tracing::info!(cluster.uid = %shared.uid, "cleaned up in a deleted cluster");
        return;
    }
    told::tell(shared, &told::failed(problem.as_deref())).await;
    tokio::time::sleep(SEEN_WITHIN).await;
}

/// Cleans up through the tunnel, as soon as there is one, until it has worked.
async fn clean(shared: &Shared, problem: &mut Option<String>) {
    let mut backoff = Backoff::new(Duration::from_secs(1), Duration::from_secs(5));
    loop {
        shared.connected().await;
        let client = shared
            .controllers
            .tunnels
            .client(&shared.uid, Lane::Controller);
        match clean_once(&client).await {
            Ok(()) => return,
            Err(error) => {
                tracing::info!(cluster.uid = %shared.uid, %error, "cleaning up in a deleted cluster");
                *problem = Some(error.to_string());
                tokio::time::sleep(backoff.next_delay()).await;
            }
        }
    }
}

/// People's access first; the agent last, since everything goes through it.
async fn clean_once(client: &Client) -> Result<(), ApplyError> {
    apply(client, ACCESS_LABEL, &Wanted::default()).await?;
    projects::act::clean(client).await?;
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
    if namespace.metadata.deletion_timestamp.is_some() {
        return Ok(());
    }
    let params = DeleteParams::default();
    let deleted = namespaces.delete(AGENT_NAMESPACE, &params);
    let deleted = cluster_call("delete the agent's namespace".to_owned(), deleted);
    unless_gone(deleted.await)
}

async fn give_to<K>(client: &Client, owner: &Namespace) -> Result<(), ApplyError>
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
        unless_gone(cluster_call(format!("hand {} {name} over", K::kind(&())), patched).await)?;
    }
    Ok(())
}

/// Deletes what speaks of the Cluster on the hub, then lets it go.
async fn forget(hub: &Hub, cluster: &Cluster) -> Result<(), HubError> {
    let uid = &ClusterUid::new(cluster.uid().unwrap_or_default());
    let params = DeleteParams::default();
    for token in hub.stores().registration_tokens.all() {
        if token.spec.cluster_uid == *uid {
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
            .is_some_and(|scope| scope.uid == *uid)
        {
            let api = hub.tokens();
            gone(call("delete a token", api.delete(&token.name_any(), &params)).await)?;
        }
    }
    for project in projects::of_cluster(hub.stores(), uid) {
        projects::status::release(hub, &project).await?;
        let (api, name) = (hub.projects(), project.name_any());
        gone(call("delete a project", api.delete(&name, &params)).await)?;
    }
    let rest: Vec<String> = cluster
        .finalizers()
        .iter()
        .filter(|name| *name != CLUSTER_FINALIZER)
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
