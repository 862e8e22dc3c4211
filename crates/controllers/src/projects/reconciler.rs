//! Applies a cluster's projects when they or the connection change, and repairs drift.

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
    Found, Impediment, Plan, Standing, Why, adopted, decide, in_making, is_ending, uid,
};
use super::{of_cluster, status};
use crate::Controllers;
use crate::managed::{ManagedCluster, ProjectsMemory, ProjectsState, SETTLED_AFTER, Secrets};
use drover_apply::{ApplyError, Failure};
use drover_hub::HubError;

/// What somebody changed in the cluster is put right at least this often.
const REPAIR_EVERY: Duration = Duration::from_mins(5);
/// After a failure, and while something is awaited that nobody tells of.
pub(super) const RETRY_AFTER: Duration = Duration::from_secs(20);
/// Longest that a project's end waits for its namespaces to be let go in a cluster that fails.
const ABANDON_AFTER: Duration = Duration::from_mins(1);
/// Rounds until what is lost has left every status; each project takes part in one.
const ROUNDS: usize = 4;

/// Why projects were not applied.
#[derive(Debug, Error)]
pub(crate) enum ProjectsError {
    /// The hub failed.
    #[error(transparent)]
    Hub(#[from] HubError),
    /// The cluster's namespaces could not be read.
    #[error(transparent)]
    Cluster(#[from] ApplyError),
    /// Projects change faster than they are looked at.
    #[error("the projects of the cluster change all the time")]
    Restless,
    /// What decisions are made from is not known.
    #[error("the hub's state is not known at present")]
    Untrusted,
    /// No secret can be drawn.
    #[error("the system gives no random numbers")]
    NoRandom,
}

impl ProjectsError {
    /// Whether the hub has something else by now than was decided from.
    fn is_outdated(&self) -> bool {
        matches!(self, Self::Hub(error) if error.is_conflict() || error.is_not_found())
    }
}

/// Keeps the namespaces of the projects of each cluster.
pub(crate) struct Projects(pub(crate) Controllers);

impl Reconciler for Projects {
    type Key = ClusterUid;
    type Error = ProjectsError;

    async fn reconcile(&self, uid: &ClusterUid, _: &Attempt) -> Result<Action, ProjectsError> {
        let Some(cluster) = self.0.cluster(uid) else {
            return Ok(Action::await_change());
        };
        let reconciling = cluster.unless_deleted(reconcile(&cluster));
        reconciling.await.unwrap_or(Ok(Action::await_change()))
    }

    fn is_expected(&self, error: &ProjectsError) -> bool {
        error.is_outdated()
    }
}

/// Whether projects of a cluster have changed since they were applied.
pub(crate) fn is_outdated(cluster: &ManagedCluster) -> bool {
    *cluster.state.projects_digest.lock() != Some(digest(cluster))
}

async fn reconcile(cluster: &ManagedCluster) -> Result<Action, ProjectsError> {
    let mut state = cluster.state.projects.lock().await;
    let wanted = digest(cluster);
    *cluster.state.projects_digest.lock() = Some(wanted);
    if !cluster.is_connected() {
        state.progress.disconnected();
        return reconcile_offline(cluster, &mut state).await;
    }
    state.away_since = None;
    let reported = cluster.drift_digest(PROJECTS);
    let wait = state.progress.wait(wanted, reported.as_ref());
    if !wait.is_zero() {
        return Ok(Action::requeue(wait));
    }
    state.progress.begin(wanted, reported);
    let pause = look(cluster, &mut state.memory).await?;
    state.progress.done(pause);
    let (wanted, reported) = (digest(cluster), cluster.drift_digest(PROJECTS));
    Ok(Action::requeue(
        state.progress.wait(wanted, reported.as_ref()),
    ))
}

/// While no agent is connected, projects say so, and end at once.
async fn reconcile_offline(
    cluster: &ManagedCluster,
    state: &mut ProjectsState,
) -> Result<Action, ProjectsError> {
    let since = *state.away_since.get_or_insert_with(Instant::now);
    // An agent that goes over to another replica, or a server that starts, changes no condition.
    let wait = SETTLED_AFTER.saturating_sub(since.elapsed());
    if !wait.is_zero() {
        return Ok(Action::requeue(wait));
    }
    say_away(cluster).await?;
    Ok(Action::requeue(REPAIR_EVERY))
}

async fn say_away(managed: &ManagedCluster) -> Result<(), HubError> {
    let hub = &managed.controllers.hub;
    for project in of_cluster(hub.stores(), &managed.uid) {
        if is_ending(&project) {
            status::abandon(hub, &project, "no agent of its cluster is connected").await;
            continue;
        }
        let present = project.status.clone().unwrap_or_default();
        let wanted = status::saying(&project, present, &status::away());
        status::write(hub, &project, &wanted).await?;
    }
    Ok(())
}

/// Makes the cluster what its projects say, and the projects say what came of it; returns when to
/// look again even if nothing changes.
async fn look(
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
        // Its account has the rights of an older version, and nobody asks for more.
        Err(ApplyError::Forbidden { .. }) if projects.is_empty() => return Ok(REPAIR_EVERY),
        Err(error) => return say_failed(managed, memory, error).await,
    };
    if projects.is_empty() && found.is_empty() {
        return Ok(REPAIR_EVERY);
    }
    let (projects, plan) = settle(managed, memory, &found).await?;
    let outcome = apply(&client, &projects, &plan, &found, &memory.secrets).await;
    for failure in &outcome.failures {
        let error = &failure.error as &dyn std::error::Error;
        tracing::warn!(cluster.uid = %managed.uid, error, "a project was not applied in full");
    }
    let mut failed = !outcome.failures.is_empty();
    if failed && !managed.is_connected() {
        // Why that failed is no news of the projects; the next look finds what was done.
        return Ok(RETRY_AFTER);
    }
    let mut first = None;
    for project in &projects {
        match conclude(managed, memory, project, &plan, &found, &outcome).await {
            Ok(again) => failed |= again,
            // What keeps one from being written keeps no other.
            Err(error) => first = first.or(Some(error)),
        }
    }
    let uids: BTreeSet<String> = projects.iter().map(|project| uid(project)).collect();
    memory.ending.retain(|uid, _| uids.contains(uid));
    if let Some(error) = first {
        return Err(error);
    }
    Ok(if failed { RETRY_AFTER } else { REPAIR_EVERY })
}

/// What is lost leaves every status, and what will be made is announced, before anything is done.
async fn settle(
    managed: &ManagedCluster,
    memory: &mut ProjectsMemory,
    found: &Found,
) -> Result<(Vec<Arc<Project>>, Plan), ProjectsError> {
    let hub = &managed.controllers.hub;
    for _ in 0..ROUNDS {
        let projects = of_cluster(hub.stores(), &managed.uid);
        let plan = decide(&projects, found);
        let wanted = |key: &(String, String)| {
            let standing = plan.get(&key.0);
            standing.is_some_and(|standing| standing.makes.contains(&key.1))
        };
        memory.secrets.retain(|key, _| wanted(key));
        let mut written = false;
        for project in &projects {
            let Some(standing) = plan.get(&uid(project)) else {
                continue;
            };
            let announced = announced(project, standing, &mut memory.secrets)?;
            written |= status::write(hub, project, &announced).await?;
        }
        // One that came meanwhile has nothing that makes its end wait.
        let delayed = |project: &Arc<Project>| status::has_finalizer(project) || is_ending(project);
        if !written && projects.iter().all(delayed) {
            return Ok((projects, plan));
        }
        for project in &projects {
            status::add_finalizer(hub, project).await?;
        }
    }
    Err(ProjectsError::Restless)
}

/// What a project says before anything is done: what it keeps, and what is made for it.
fn announced(
    project: &Project,
    standing: &Standing,
    secrets: &mut Secrets,
) -> Result<ProjectStatus, ProjectsError> {
    let mut status = project.status.clone().unwrap_or_default();
    if !is_ending(project) {
        status.adopted = adopted(project, standing);
    }
    status
        .namespaces
        .retain(|own| standing.keeps.contains_key(&own.name));
    status.making.retain(|making| {
        let (name, gained) = (&making.name, standing.gains.contains_key(&making.name));
        let secret = secrets.get(&(uid(project), name.clone()));
        gained || secret.is_some_and(|secret| in_making(name, secret) == *making)
    });
    for name in &standing.makes {
        let key = (uid(project), name.clone());
        if status.making.iter().any(|making| making.name == *name) {
            continue;
        }
        let secret = draw()?;
        status.making.push(in_making(name, &secret));
        secrets.insert(key, secret);
    }
    Ok(status)
}

fn draw() -> Result<String, ProjectsError> {
    let mut bytes = [0_u8; 16];
    let filled = SystemRandom::new().fill(&mut bytes);
    filled.map_err(|_| ProjectsError::NoRandom)?;
    Ok(URL_SAFE_NO_PAD.encode(bytes))
}

/// Writes what came of a look; returns whether something is to be tried again soon.
async fn conclude(
    managed: &ManagedCluster,
    memory: &mut ProjectsMemory,
    project: &Project,
    plan: &Plan,
    found: &Found,
    outcome: &Outcome,
) -> Result<bool, ProjectsError> {
    let hub = &managed.controllers.hub;
    let empty = Standing::default();
    let standing = plan.get(&uid(project)).unwrap_or(&empty);
    let failures = failures_of(project, standing, found, &outcome.failures);
    if is_ending(project) {
        let since = *memory
            .ending
            .entry(uid(project))
            .or_insert_with(Instant::now);
        if failures.is_empty() {
            status::remove_finalizer(hub, project).await?;
            return Ok(false);
        }
        if since.elapsed() >= ABANDON_AFTER {
            status::abandon(
                hub,
                project,
                "its cluster does not let go of its namespaces",
            )
            .await;
            return Ok(true);
        }
    }
    let status = concluded(project, outcome.own.get(&uid(project)));
    let verdict = status::verdict(standing, &failures);
    let status = status::saying(project, status, &verdict);
    status::write(hub, project, &status).await?;
    let awaited = standing.impeded.iter().any(|it| {
        let why = match it {
            Impediment::Namespace { why, .. } => why,
            Impediment::Limits(_) => return false,
        };
        matches!(why, Why::Terminating | Why::Missing)
    });
    Ok(awaited || !failures.is_empty())
}

/// What is a project's own after a look, and what is still in making.
fn concluded(project: &Project, own: Option<&BTreeMap<String, String>>) -> ProjectStatus {
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

/// What failed in a project's namespaces, or everywhere.
fn failures_of<'a>(
    project: &Project,
    standing: &Standing,
    found: &Found,
    failures: &'a [Failure],
) -> Vec<&'a ApplyError> {
    let mine = failures.iter().filter(|failure| {
        let name = &failure.namespace;
        let labels = found.get(name).and_then(|there| there.labels.as_ref());
        let label = labels.and_then(|labels| labels.get(drover_api::group::PROJECT_LABEL));
        name.is_empty()
            || standing.makes.contains(name)
            || standing.own().any(|(own, _)| own == name)
            || label.is_some_and(|label| *label == uid(project))
    });
    mine.map(|failure| &failure.error).collect()
}

/// The cluster cannot even be looked at.
async fn say_failed(
    managed: &ManagedCluster,
    memory: &mut ProjectsMemory,
    error: ApplyError,
) -> Result<Duration, ProjectsError> {
    let hub = &managed.controllers.hub;
    for project in of_cluster(hub.stores(), &managed.uid) {
        if is_ending(&project) {
            let since = *memory
                .ending
                .entry(uid(&project))
                .or_insert_with(Instant::now);
            if since.elapsed() >= ABANDON_AFTER {
                status::abandon(hub, &project, "its cluster cannot be looked at").await;
            }
            continue;
        }
        let present = project.status.clone().unwrap_or_default();
        let wanted = status::saying(&project, present, &status::failed(&error));
        status::write(hub, &project, &wanted).await?;
    }
    Err(error.into())
}

/// Of what is decided from: what the projects of the cluster say, and what is theirs.
fn digest(managed: &ManagedCluster) -> u64 {
    let mut hasher = DefaultHasher::new();
    for project in of_cluster(managed.controllers.hub.stores(), &managed.uid) {
        let meta = &project.metadata;
        let ending = is_ending(&project);
        (&meta.uid, meta.generation, ending, project.finalizers()).hash(&mut hasher);
        for own in project.status.iter().flat_map(|status| &status.namespaces) {
            (&own.name, &own.uid).hash(&mut hasher);
        }
    }
    hasher.finish()
}

#[cfg(test)]
mod tests;
