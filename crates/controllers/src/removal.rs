//! Removal of a deleted Cluster: deletes Drover's objects in the cluster, then the Cluster's
//! objects on the hub.
//!
//! A finalizer delays the deletion. The server waits a bounded time for an unreachable cluster, and
//! a condition of the Cluster shows the wait. The agent's key is invalid after the Cluster is
//! deleted.

mod report;

use std::time::Duration;

use drover_api::agent::Lane;
use drover_api::group::{
    ACCESS_LABEL, AGENT_NAMESPACE, CLUSTER_FINALIZER, DEPLOYER_ACCOUNT, NODE_AGENT_NAMESPACE,
    NODE_REPORT_POLICY,
};
use drover_api::ids::ClusterUid;
use drover_api::kinds::{Cluster, ClusterRegistrationToken, Project, Token};
use drover_reconcile::{Action, Attempt, Reconciler, finalizer};
use k8s_openapi::api::admissionregistration::v1::{
    ValidatingAdmissionPolicy, ValidatingAdmissionPolicyBinding,
};
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
use super::access::desired::DesiredAccess;
use super::managed::{ManagedCluster, RemovalState};
use super::projects;
use drover_apply::{ApplyError, call as cluster_call, unless_gone};
use drover_hub::{Hub, HubError};

/// Maximum time to wait for the agent and to clean up. Agents try to connect at least every 15 s.
const CLEAN_UP_TIMEOUT: Duration = Duration::from_mins(1);
/// Time for which the Cluster has the failed condition before its deletion, so that clients can
/// read the condition.
const FAILURE_SHOWN_FOR: Duration = Duration::from_secs(6);
/// Maximum time to wait until the store shows the deletion of the Cluster.
const DELETION_VISIBLE_WITHIN: Duration = Duration::from_secs(5);
/// Names of the cluster-scoped roles of the manifest. The deletion of the agent's namespace does
/// not delete these roles.
const MANIFEST_ROLES: [&str; 2] = ["drover-controller", "drover-report"];
/// Names of the cluster-scoped bindings of the manifest.
const MANIFEST_BINDINGS: [&str; 3] = ["drover-controller", "drover-report", DEPLOYER_ACCOUNT];

/// Reports whether a finalizer delays the deletion of a Cluster until its removal.
fn has_finalizer(cluster: &Cluster) -> bool {
    finalizer::has_finalizer(cluster, CLUSTER_FINALIZER)
}

/// The reconciler that adds the finalizer to Clusters, and cleans up deleted Clusters.
pub(super) struct Removal(pub(super) Controllers);

/// Reasons for a delay of a cluster's removal.
#[derive(Debug, Error)]
pub(super) enum RemovalError {
    #[error(transparent)]
    Hub(#[from] HubError),
    #[error("cannot delete Drover's objects in the cluster")]
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

/// Adds the removal finalizer to a Cluster.
async fn add_finalizer(hub: &Hub, cluster: &Cluster) -> Result<(), HubError> {
    if has_finalizer(cluster) {
        return Ok(());
    }
    // The change of the Cluster starts the next reconciliation.
    let writer = hub.writer().without_wait();
    let operation = "add the finalizer of a Cluster";
    let adding = writer.add_finalizer(operation, cluster, CLUSTER_FINALIZER);
    unless_not_found(adding.await)
}

/// Performs one step of the removal. The requeue starts the next step.
async fn step(
    managed: &ManagedCluster,
    cluster: &Cluster,
    state: &mut RemovalState,
) -> Result<Action, RemovalError> {
    let immediately = Ok(Action::requeue(Duration::ZERO));
    match state {
        RemovalState::NotBegun => {
            let status = cluster.status.as_ref();
            if status.is_none_or(|status| status.registration.is_none()) {
                *state = RemovalState::CleanedUp;
                return immediately;
            }
            report::report(managed, &report::started(managed.is_connected())).await;
            *state = RemovalState::CleaningUp {
                until: Instant::now() + CLEAN_UP_TIMEOUT,
                problem: None,
            };
            immediately
        }
        RemovalState::CleaningUp { until, problem } if Instant::now() >= *until => {
            report::report(managed, &report::failed(problem.as_deref())).await;
            *state = RemovalState::Failed {
                until: Instant::now() + FAILURE_SHOWN_FOR,
            };
            immediately
        }
        RemovalState::CleaningUp { until, problem } => {
            if !managed.is_connected() {
                return Ok(Action::requeue(*until - Instant::now()));
            }
            let tunnels = &managed.controllers.tunnels;
            let client = tunnels.client(&managed.uid, Lane::Controller);
            match tokio::time::timeout_at(*until, clean_up(&client)).await {
                Err(_) => immediately,
                Ok(Err(error)) => {
                    *problem = Some(error.to_string());
                    Err(RemovalError::CleanUp(error))
                }
                Ok(Ok(())) => {
                    tracing::info!(cluster.uid = %managed.uid, "deleted Drover's objects in a \
                                                                removed cluster");
                    *state = RemovalState::CleanedUp;
                    immediately
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
                .disconnect(&managed.uid, "the Cluster was deleted on the hub");
            delete_hub_objects(&controllers.hub, cluster).await?;
            // The store shows the deletion of the Cluster soon.
            Ok(Action::requeue(DELETION_VISIBLE_WITHIN))
        }
    }
}

/// Deletes users' access first and the agent last, because all requests use the agent's tunnel.
async fn clean_up(client: &Client) -> Result<(), ApplyError> {
    apply(client, ACCESS_LABEL, &DesiredAccess::default()).await?;
    projects::act::clean(client).await?;
    let namespaces: Api<Namespace> = Api::all(client.clone());
    let params = DeleteParams::default();
    // The node agents would register again. The roles of older manifests do not permit the deletion, and
    // these manifests contain no node agents.
    let deleted = namespaces.delete(NODE_AGENT_NAMESPACE, &params);
    match cluster_call(
        "delete the namespace of the node agents".to_owned(),
        deleted,
    )
    .await
    {
        Err(ApplyError::Forbidden { .. }) => {}
        deleted => unless_gone(deleted)?,
    }
    let found = namespaces.get_opt(AGENT_NAMESPACE);
    let Some(namespace) = cluster_call("read the agent's namespace".to_owned(), found).await?
    else {
        return Ok(());
    };
    // The namespace becomes the owner of the roles, so that the cluster's garbage collector deletes
    // them with the namespace. The account cannot delete its own permissions and then use them.
    let policy = &[NODE_REPORT_POLICY];
    for set in [
        set_owner::<ValidatingAdmissionPolicyBinding>(client, policy, &namespace).await,
        set_owner::<ValidatingAdmissionPolicy>(client, policy, &namespace).await,
    ] {
        match set {
            // The roles of older manifests do not permit the change, and these manifests have no policy.
            Err(ApplyError::Forbidden { .. }) => {}
            set => set?,
        }
    }
    set_owner::<ClusterRoleBinding>(client, &MANIFEST_BINDINGS, &namespace).await?;
    set_owner::<ClusterRole>(client, &MANIFEST_ROLES, &namespace).await?;
    if namespace.metadata.deletion_timestamp.is_some() {
        return Ok(());
    }
    let deleted = namespaces.delete(AGENT_NAMESPACE, &params);
    let deleted = cluster_call("delete the agent's namespace".to_owned(), deleted);
    unless_gone(deleted.await)
}

async fn set_owner<K>(client: &Client, names: &[&str], owner: &Namespace) -> Result<(), ApplyError>
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
    for name in names {
        let patched = api.patch(name, &params, &patch);
        unless_gone(
            cluster_call(format!("set the owner of {} {name}", K::kind(&())), patched).await,
        )?;
    }
    Ok(())
}

/// Deletes the objects of the Cluster on the hub, then removes the finalizer.
async fn delete_hub_objects(hub: &Hub, cluster: &Cluster) -> Result<(), HubError> {
    let uid = &ClusterUid::new(cluster.uid().unwrap_or_default());
    let stores = hub.stores();
    let registrations = hub.writer::<ClusterRegistrationToken>();
    for token in stores.registration_tokens.all() {
        if token.spec.cluster_uid == *uid {
            let deleting = registrations.delete_if_present("delete a registration token", &token);
            deleting.await?;
        }
    }
    let tokens = hub.writer::<Token>();
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
    let projects = hub.writer::<Project>();
    for project in projects::of_cluster(stores, uid) {
        projects::status::remove_finalizer(hub, &project).await?;
        projects
            .delete_if_present("delete a project", &project)
            .await?;
    }
    let operation = "remove the finalizer of a Cluster";
    let writer = hub.writer();
    let removing = writer.remove_finalizer(operation, cluster, CLUSTER_FINALIZER);
    unless_not_found(removing.await)
}

fn unless_not_found<T>(result: Result<T, HubError>) -> Result<(), HubError> {
    match result {
        Err(error) if !error.is_not_found() => Err(error),
        _ => Ok(()),
    }
}
