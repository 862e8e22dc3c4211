//! Removal of a deleted Cluster: what Drover applied is deleted in the cluster, then the Cluster's
//! objects are deleted on the hub.
//!
//! A finalizer delays deletion. A cluster that cannot be reached is waited for a bounded time, and a
//! condition of the Cluster shows it: the agent's key is invalid once the Cluster is gone.

mod report;

use std::time::Duration;

use drover_api::agent::Lane;
use drover_api::group::{ACCESS_LABEL, AGENT_NAMESPACE, CLUSTER_FINALIZER};
use drover_api::ids::ClusterUid;
use drover_api::kinds::Cluster;
use drover_reconcile::{Action, Attempt, Reconciler, finalizer};
use k8s_openapi::api::core::v1::Namespace;
use k8s_openapi::api::rbac::v1::{ClusterRole, ClusterRoleBinding};
use kube::api::{Api, DeleteParams, Patch, PatchParams};
use kube::{Client, Resource, ResourceExt as _};
use serde::de::DeserializeOwned;
use serde_json::json;
use thiserror::Error;
use tokio::time::Instant;

use super::Controllers;
use super::access::act::apply;
use super::access::wanted::Wanted;
use super::managed::{ManagedCluster, RemovalState};
use super::projects;
use drover_apply::{ApplyError, call as cluster_call, unless_gone};
use drover_hub::{Hub, HubError, Writer, call};

/// Longest to wait for the cluster's agent and to clean up; agents dial at least every 15 s.
const CLEAN_WITHIN: Duration = Duration::from_mins(1);
/// How long a Cluster stays after it was said that nothing was cleaned up, for whoever waits.
const SEEN_WITHIN: Duration = Duration::from_secs(6);
/// Longest wait until the store shows that the Cluster is gone.
const GONE_WITHIN: Duration = Duration::from_secs(5);
/// Cluster-scoped objects of the manifest that nothing else takes away.
const MANIFEST_ROLES: [&str; 2] = ["drover-controller", "drover-report"];

/// Whether deletion of a Cluster waits for its removal.
fn has_finalizer(cluster: &Cluster) -> bool {
    finalizer::has_finalizer(cluster, CLUSTER_FINALIZER)
}

/// Adds the finalizer to Clusters, and cleans up those whose deletion was asked for.
pub(super) struct Removal(pub(super) Controllers);

/// Why the removal of a cluster is delayed.
#[derive(Debug, Error)]
pub(super) enum RemovalError {
    #[error(transparent)]
    Hub(#[from] HubError),
    #[error("cannot clean up in the cluster")]
    CleanUp(#[source] ApplyError),
}

impl Reconciler for Removal {
    type Key = ClusterUid;
    type Error = RemovalError;

    async fn reconcile(&self, uid: &ClusterUid, _: &Attempt) -> Result<Action, RemovalError> {
        let Some(managed) = self.0.cluster(uid) else {
            return Ok(Action::await_change());
        };
        let Some(cluster) = managed.object() else {
            return Ok(Action::await_change());
        };
        if cluster.metadata.deletion_timestamp.is_none() {
            add_finalizer(&managed.controllers.hub, &cluster).await?;
            return Ok(Action::await_change());
        }
        managed.stop_work().await;
        let mut state = managed.state.removal.lock().await;
        step(&managed, &cluster, &mut state).await
    }

    fn is_expected(&self, error: &RemovalError) -> bool {
        matches!(error, RemovalError::Hub(error) if error.is_conflict())
    }
}

/// Adds the finalizer where it is missing.
async fn add_finalizer(hub: &Hub, cluster: &Cluster) -> Result<(), HubError> {
    if has_finalizer(cluster) {
        return Ok(());
    }
    let (api, params) = (hub.clusters(), PatchParams::default());
    let adding = finalizer::add_finalizer(&api, cluster, CLUSTER_FINALIZER, &params);
    unless_not_found(call("add a cluster's finalizer", adding).await)
}

/// One step of the removal; the next one follows the requeue.
async fn step(
    managed: &ManagedCluster,
    cluster: &Cluster,
    state: &mut RemovalState,
) -> Result<Action, RemovalError> {
    let at_once = Ok(Action::requeue(Duration::ZERO));
    match state {
        RemovalState::NotBegun => {
            let status = cluster.status.as_ref();
            if status.is_none_or(|status| status.registration.is_none()) {
                *state = RemovalState::CleanedUp;
                return at_once;
            }
            report::report(managed, &report::begun(managed.is_connected())).await;
            *state = RemovalState::CleaningUp {
                until: Instant::now() + CLEAN_WITHIN,
                problem: None,
            };
            at_once
        }
        RemovalState::CleaningUp { until, problem } if Instant::now() >= *until => {
            report::report(managed, &report::failed(problem.as_deref())).await;
            *state = RemovalState::Failed {
                until: Instant::now() + SEEN_WITHIN,
            };
            at_once
        }
        RemovalState::CleaningUp { until, problem } => {
            if !managed.is_connected() {
                return Ok(Action::requeue(*until - Instant::now()));
            }
            let tunnels = &managed.controllers.tunnels;
            let client = tunnels.client(&managed.uid, Lane::Controller);
            match tokio::time::timeout_at(*until, clean_once(&client)).await {
                Err(_) => at_once,
                Ok(Err(error)) => {
                    *problem = Some(error.to_string());
                    Err(RemovalError::CleanUp(error))
                }
                Ok(Ok(())) => {
                    tracing::info!(cluster.uid = %managed.uid, "cleaned up in a deleted cluster");
                    *state = RemovalState::CleanedUp;
                    at_once
                }
            }
        }
        RemovalState::Failed { until } => {
            let wait = until.saturating_duration_since(Instant::now());
            if wait.is_zero() {
                *state = RemovalState::CleanedUp;
            }
            Ok(Action::requeue(wait))
        }
        RemovalState::CleanedUp => {
            let controllers = &managed.controllers;
            controllers
                .tunnels
                .disconnect(&managed.uid, "the Cluster was deleted at the server");
            forget(&controllers.hub, cluster).await?;
            // The store shows soon that the Cluster is gone.
            Ok(Action::requeue(GONE_WITHIN))
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
    set_owner::<ClusterRoleBinding>(client, &namespace).await?;
    set_owner::<ClusterRole>(client, &namespace).await?;
    if namespace.metadata.deletion_timestamp.is_some() {
        return Ok(());
    }
    let params = DeleteParams::default();
    let deleted = namespaces.delete(AGENT_NAMESPACE, &params);
    let deleted = cluster_call("delete the agent's namespace".to_owned(), deleted);
    unless_gone(deleted.await)
}

async fn set_owner<K>(client: &Client, owner: &Namespace) -> Result<(), ApplyError>
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

/// Deletes the objects of the Cluster on the hub, then removes the finalizer.
async fn forget(hub: &Hub, cluster: &Cluster) -> Result<(), HubError> {
    let uid = &ClusterUid::new(cluster.uid().unwrap_or_default());
    let stores = hub.stores();
    let registrations = Writer::new(hub.registration_tokens(), &stores.registration_tokens);
    for token in stores.registration_tokens.all() {
        if token.spec.cluster_uid == *uid {
            let deleting = registrations.delete_if_present("delete a registration token", &token);
            deleting.await?;
        }
    }
    let tokens = Writer::new(hub.tokens(), &stores.tokens);
    for token in stores.tokens.all() {
        if token
            .spec
            .cluster
            .as_ref()
            .is_some_and(|scope| scope.uid == *uid)
        {
            tokens.delete_if_present("delete a token", &token).await?;
        }
    }
    let projects = Writer::new(hub.projects(), &stores.projects);
    for project in projects::of_cluster(stores, uid) {
        projects::status::remove_finalizer(hub, &project).await?;
        projects
            .delete_if_present("delete a project", &project)
            .await?;
    }
    let (api, params) = (hub.clusters(), PatchParams::default());
    let removing = finalizer::remove_finalizer(&api, cluster, CLUSTER_FINALIZER, &params);
    unless_not_found(call("remove a cluster's finalizer", removing).await)
}

fn unless_not_found<T>(result: Result<T, HubError>) -> Result<(), HubError> {
    match result {
        Err(error) if !error.is_not_found() => Err(error),
        _ => Ok(()),
    }
}
