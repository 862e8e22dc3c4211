//! Applies a cluster's projects when a project or the connection changes, and repairs drift.

use std::collections::{BTreeMap, BTreeSet};
use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::sync::Arc;
use std::time::Duration;

use aws_lc_rs::rand::{SecureRandom as _, SystemRandom};
use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use drover_api::agent::Lane;
use drover_api::drift::PROJECTS;
use drover_api::ids::ClusterUid;
use drover_api::kinds::{OwnedNamespace, Project, ProjectStatus};
use drover_reconcile::{Action, Attempt, Reconciler};
use kube::ResourceExt as _;
use thiserror::Error;
use tokio::time::Instant;

use super::act::{Outcome, apply, observe};
use super::decide::{
    BlockedReason, Decision, Decisions, Namespaces, OwnershipProblem, adopted, decide,
    is_being_deleted, pending_namespace, uid,
};
use super::{of_cluster, status};
use crate::Controllers;
use crate::managed::{ManagedCluster, ProjectsMemory, ProjectsState, SETTLED_AFTER, Secrets};
use drover_apply::{ApplyError, Failure};
use drover_hub::HubError;

/// Maximum time between two repairs of drift.
const REPAIR_INTERVAL: Duration = Duration::from_mins(5);
/// Time until the next reconciliation after a failed write, or while a namespace does not exist or
/// is being deleted. The server receives no event when the state of such a namespace changes.
pub(super) const RETRY_AFTER: Duration = Duration::from_secs(20);
/// Maximum time that a project's deletion waits for a failing cluster to release the project's
/// namespaces.
const RELEASE_TIMEOUT: Duration = Duration::from_mins(1);
/// Maximum number of passes that remove lost namespaces from the status of every project. Each pass
/// writes each status at most once.
const MAX_PASSES: usize = 4;

/// Reasons why projects were not applied.
#[derive(Debug, Error)]
pub(crate) enum ProjectsError {
    /// A request to the hub failed.
    #[error(transparent)]
    Hub(#[from] HubError),
    /// The server cannot read the cluster's namespaces.
    #[error(transparent)]
    Cluster(#[from] ApplyError),
    /// Projects change faster than the controller can decide.
    #[error("the projects of the cluster change too often; will retry")]
    ChangingTooOften,
    /// The stores are incomplete.
    #[error("the server has not loaded all objects of the hub yet; will retry")]
    Untrusted,
    /// The system's random generator failed.
    #[error("cannot generate a random secret")]
    Random,
}

impl ProjectsError {
    /// Reports whether the hub rejected the write because the decision was based on an outdated
    /// object.
    fn is_outdated(&self) -> bool {
        matches!(self, Self::Hub(error) if error.is_conflict() || error.is_not_found())
    }
}

/// The reconciler that applies the projects of each cluster.
pub(crate) struct Projects(pub(crate) Controllers);

impl Reconciler for Projects {
    type Key = ClusterUid;
    type Error = ProjectsError;

    async fn reconcile(&self, uid: &ClusterUid, _: &Attempt) -> Result<Action, ProjectsError> {
        let Some(cluster) = self.0.cluster(uid) else {
            return Ok(Action::await_change());
        };
        let reconciling = cluster.unless_deleted(Box::pin(reconcile(&cluster)));
        reconciling.await.unwrap_or(Ok(Action::await_change()))
    }

    fn is_expected(&self, error: &ProjectsError) -> bool {
        error.is_outdated()
    }
}

/// Reports whether the projects of a cluster have changed since the server applied the projects.
pub(crate) fn is_outdated(cluster: &ManagedCluster) -> bool {
    *cluster.state.projects_digest.lock() != Some(digest(cluster))
}

async fn reconcile(cluster: &ManagedCluster) -> Result<Action, ProjectsError> {
    let mut state = cluster.state.projects.lock().await;
    let desired = digest(cluster);
    *cluster.state.projects_digest.lock() = Some(desired);
    if !cluster.is_connected() {
        state.progress.disconnected();
        return reconcile_offline(cluster, &mut state).await;
    }
    state.disconnected_since = None;
    let reported = cluster.drift_digest(PROJECTS);
    let wait = state.progress.wait(desired, reported.as_ref());
    if !wait.is_zero() {
        return Ok(Action::requeue(wait));
    }
    state.progress.begin(desired, reported);
    let pause = apply_projects(cluster, &mut state.memory).await?;
    state.progress.done(pause);
    let (desired, reported) = (digest(cluster), cluster.drift_digest(PROJECTS));
    Ok(Action::requeue(
        state.progress.wait(desired, reported.as_ref()),
    ))
}

/// Reconciles a cluster without a connected agent: sets the condition of its projects, and removes
/// the finalizer of deleted projects.
async fn reconcile_offline(
    cluster: &ManagedCluster,
    state: &mut ProjectsState,
) -> Result<Action, ProjectsError> {
    let since = *state.disconnected_since.get_or_insert_with(Instant::now);
    // A short disconnect, such as the reconnect to another replica or a restart of the server,
    // changes no condition.
    let wait = SETTLED_AFTER.saturating_sub(since.elapsed());
    if !wait.is_zero() {
        return Ok(Action::requeue(wait));
    }
    set_disconnected(cluster).await?;
    Ok(Action::requeue(REPAIR_INTERVAL))
}

async fn set_disconnected(managed: &ManagedCluster) -> Result<(), HubError> {
    let hub = &managed.controllers.hub;
    for project in of_cluster(hub.stores(), &managed.uid) {
        if is_being_deleted(&project) {
            status::abandon(hub, &project, "no agent of its cluster is connected").await;
            continue;
        }
        let present = project.status.clone().unwrap_or_default();
        let desired = status::with_condition(&project, present, &status::disconnected());
        status::write(hub, &project, &desired).await?;
    }
    Ok(())
}

/// Applies the projects to the cluster, and writes their status. Returns the time until the next
/// periodic reconciliation.
async fn apply_projects(
    managed: &ManagedCluster,
    memory: &mut ProjectsMemory,
) -> Result<Duration, ProjectsError> {
    let (hub, controllers) = (&managed.controllers.hub, &managed.controllers);
    if !hub.stores().health().is_trusted() {
        return Err(ProjectsError::Untrusted);
    }
    let projects = of_cluster(hub.stores(), &managed.uid);
    for project in &projects {
        status::add_finalizer(hub, project).await?;
    }
    let client = controllers.tunnels.client(&managed.uid, Lane::Controller);
    let found = match observe(&client, !projects.is_empty()).await {
        Ok(found) => found,
        // The account has the permissions of an older version, and no project needs more.
        Err(ApplyError::Forbidden { .. }) if projects.is_empty() => return Ok(REPAIR_INTERVAL),
        Err(error) => return set_failed(managed, memory, error).await,
    };
    if projects.is_empty() && found.is_empty() {
        return Ok(REPAIR_INTERVAL);
    }
    let (projects, decisions) = record_losses(managed, memory, &found).await?;
    let outcome = apply(&client, &projects, &decisions, &found, &memory.secrets).await;
    for failure in &outcome.failures {
        let error = &failure.error as &dyn std::error::Error;
        tracing::warn!(cluster.uid = %managed.uid, error, "failed to apply at least one object \
            of a project");
    }
    let mut failed = !outcome.failures.is_empty();
    if failed && !managed.is_connected() {
        // A failure because of a disconnect does not change the conditions. The next reconciliation
        // finds the completed changes.
        return Ok(RETRY_AFTER);
    }
    let mut first = None;
    for project in &projects {
        match write_result(managed, memory, project, &decisions, &found, &outcome).await {
            Ok(again) => failed |= again,
            // A failed write of one project does not affect the others.
            Err(error) => first = first.or(Some(error)),
        }
    }
    let uids: BTreeSet<String> = projects.iter().map(|project| uid(project)).collect();
    memory.ending.retain(|uid, _| uids.contains(uid));
    if let Some(error) = first {
        return Err(error);
    }
    Ok(if failed { RETRY_AFTER } else { REPAIR_INTERVAL })
}

/// Removes lost namespaces from the status of every project, and announces the namespaces to
/// create. Runs before the first change of the cluster.
async fn record_losses(
    managed: &ManagedCluster,
    memory: &mut ProjectsMemory,
    found: &Namespaces,
) -> Result<(Vec<Arc<Project>>, Decisions), ProjectsError> {
    let hub = &managed.controllers.hub;
    for _ in 0..MAX_PASSES {
        let projects = of_cluster(hub.stores(), &managed.uid);
        let decisions = decide(&projects, found);
        let desired = |key: &(String, String)| {
            let decision = decisions.get(&key.0);
            decision.is_some_and(|decision| decision.to_create.contains(&key.1))
        };
        memory.secrets.retain(|key, _| desired(key));
        let mut written = false;
        for project in &projects {
            let Some(decision) = decisions.get(&uid(project)) else {
                continue;
            };
            let announced_status = announced_status(project, decision, &mut memory.secrets)?;
            written |= status::write(hub, project, &announced_status).await?;
        }
        // A new project has no finalizer yet that delays its deletion.
        let delayed =
            |project: &Arc<Project>| status::has_finalizer(project) || is_being_deleted(project);
        if !written && projects.iter().all(delayed) {
            return Ok((projects, decisions));
        }
        for project in &projects {
            status::add_finalizer(hub, project).await?;
        }
    }
    Err(ProjectsError::ChangingTooOften)
}

/// Computes the status of a project before the first change of the cluster: retained namespaces,
/// and announced creations.
fn announced_status(
    project: &Project,
    decision: &Decision,
    secrets: &mut Secrets,
) -> Result<ProjectStatus, ProjectsError> {
    let mut status = project.status.clone().unwrap_or_default();
    if !is_being_deleted(project) {
        status.adopted = adopted(project, decision);
    }
    status
        .namespaces
        .retain(|own| decision.retained.contains_key(&own.name));
    status.making.retain(|making| {
        let (name, gained) = (&making.name, decision.gained.contains_key(&making.name));
        let secret = secrets.get(&(uid(project), name.clone()));
        gained || secret.is_some_and(|secret| pending_namespace(name, secret) == *making)
    });
    for name in &decision.to_create {
        let key = (uid(project), name.clone());
        if status.making.iter().any(|making| making.name == *name) {
            continue;
        }
        let secret = generate_secret()?;
        status.making.push(pending_namespace(name, &secret));
        secrets.insert(key, secret);
    }
    Ok(status)
}

fn generate_secret() -> Result<String, ProjectsError> {
    let mut bytes = [0_u8; 16];
    let filled = SystemRandom::new().fill(&mut bytes);
    filled.map_err(|_| ProjectsError::Random)?;
    Ok(URL_SAFE_NO_PAD.encode(bytes))
}

/// Writes the result to the project's status. Returns true if the project needs a reconciliation
/// after [`RETRY_AFTER`].
async fn write_result(
    managed: &ManagedCluster,
    memory: &mut ProjectsMemory,
    project: &Project,
    decisions: &Decisions,
    found: &Namespaces,
    outcome: &Outcome,
) -> Result<bool, ProjectsError> {
    let hub = &managed.controllers.hub;
    let empty = Decision::default();
    let decision = decisions.get(&uid(project)).unwrap_or(&empty);
    let failures = failures_of(project, decision, found, &outcome.failures);
    if is_being_deleted(project) {
        let since = *memory
            .ending
            .entry(uid(project))
            .or_insert_with(Instant::now);
        if failures.is_empty() {
            status::remove_finalizer(hub, project).await?;
            return Ok(false);
        }
        if since.elapsed() >= RELEASE_TIMEOUT {
            status::abandon(hub, project, "its cluster failed to release its namespaces").await;
            return Ok(true);
        }
    }
    let status = resulting_status(project, outcome.own.get(&uid(project)));
    let condition_value = status::condition_value(decision, &failures);
    let status = status::with_condition(project, status, &condition_value);
    status::write(hub, project, &status).await?;
    let awaited = decision.blocked_reasons.iter().any(|it| {
        let problem = match it {
            BlockedReason::Namespace { problem, .. } => problem,
            BlockedReason::Limits(_) => return false,
        };
        matches!(
            problem,
            OwnershipProblem::Terminating | OwnershipProblem::Missing
        )
    });
    Ok(awaited || !failures.is_empty())
}

/// Computes the status of a project after the changes of the cluster: owned namespaces, and pending
/// creations.
fn resulting_status(project: &Project, own: Option<&BTreeMap<String, String>>) -> ProjectStatus {
    let mut status = project.status.clone().unwrap_or_default();
    let Some(own) = own else {
        return status;
    };
    let entry = |(name, uid): (&String, &String)| OwnedNamespace {
        name: name.clone(),
        uid: uid.clone(),
    };
    status.namespaces = own.iter().map(entry).collect();
    status
        .making
        .retain(|making| !own.contains_key(&making.name));
    status
}

/// Returns the failures that affect a project.
fn failures_of<'a>(
    project: &Project,
    decision: &Decision,
    found: &Namespaces,
    failures: &'a [Failure],
) -> Vec<&'a ApplyError> {
    let mine = failures.iter().filter(|failure| {
        let name = &failure.namespace;
        let labels = found.get(name).and_then(|there| there.labels.as_ref());
        let label = labels.and_then(|labels| labels.get(drover_api::group::PROJECT_LABEL));
        name.is_empty()
            || decision.to_create.contains(name)
            || decision.own().any(|(own, _)| own == name)
            || label.is_some_and(|label| *label == uid(project))
    });
    mine.map(|failure| &failure.error).collect()
}

/// Sets the condition of all projects after a failed read of the cluster's namespaces. Removes the
/// finalizer of a deleted project after [`RELEASE_TIMEOUT`].
async fn set_failed(
    managed: &ManagedCluster,
    memory: &mut ProjectsMemory,
    error: ApplyError,
) -> Result<Duration, ProjectsError> {
    let hub = &managed.controllers.hub;
    for project in of_cluster(hub.stores(), &managed.uid) {
        if is_being_deleted(&project) {
            let since = *memory
                .ending
                .entry(uid(&project))
                .or_insert_with(Instant::now);
            if since.elapsed() >= RELEASE_TIMEOUT {
                status::abandon(hub, &project, "its cluster cannot be read").await;
            }
            continue;
        }
        let present = project.status.clone().unwrap_or_default();
        let desired = status::with_condition(&project, present, &status::failed(&error));
        status::write(hub, &project, &desired).await?;
    }
    Err(error.into())
}

/// Returns the digest of the decision's input: specs, deletions and owned namespaces.
fn digest(managed: &ManagedCluster) -> u64 {
    let mut hasher = DefaultHasher::new();
    for project in of_cluster(managed.controllers.hub.stores(), &managed.uid) {
        let meta = &project.metadata;
        let ending = is_being_deleted(&project);
        (&meta.uid, meta.generation, ending, project.finalizers()).hash(&mut hasher);
        for own in project.status.iter().flat_map(|status| &status.namespaces) {
            (&own.name, &own.uid).hash(&mut hasher);
        }
    }
    hasher.finish()
}

#[cfg(test)]
mod tests;
