//! Looks at a cluster's projects whenever they, or the connection, change, and repairs drift.

use std::collections::{BTreeMap, BTreeSet};
use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::sync::Arc;
use std::time::Duration;

use aws_lc_rs::rand::{SecureRandom as _, SystemRandom};
use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use drover_api::agent::Lane;
use drover_api::drift::PROJECTS;
use drover_api::kinds::{OwnedNamespace, Project, ProjectStatus};
use kube::ResourceExt as _;
use thiserror::Error;
use tokio::time::Instant;

use super::act::{Outcome, Secrets, apply, observe};
use super::decide::{
    Found, Impediment, Plan, Standing, Why, adopted, decide, in_making, is_ending, uid,
};
use super::{of_cluster, status};
use crate::controllers::cluster::decide::SETTLED_AFTER;
use crate::controllers::drift::DriftWatch;
use crate::controllers::keeper::Shared;
use drover_apply::{ApplyError, Failure};
use drover_hub::HubError;

/// What somebody changed in the cluster is put right at least this often.
const REPAIR_EVERY: Duration = Duration::from_mins(5);
/// After a failure, and while something is awaited that nobody tells of.
pub(super) const RETRY_AFTER: Duration = Duration::from_secs(20);
/// After the hub had something else than was decided from.
const AGAIN_AFTER: Duration = Duration::from_secs(1);
/// Longest that one cluster may take its turn.
const LOOK_WITHIN: Duration = Duration::from_mins(2);
/// Pause after a change, so that a burst of them is one look.
const BREATH: Duration = Duration::from_millis(250);
/// Longest that a project's end waits for its namespaces to be let go in a cluster that fails.
const LET_GO_WITHIN: Duration = Duration::from_mins(1);
/// Rounds until what is lost has left every status; each project takes part in one.
const ROUNDS: usize = 4;

/// Why a look ended early.
#[derive(Debug, Error)]
enum LookError {
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
    /// What is left is for the next look.
    #[error("it took longer than {} s", LOOK_WITHIN.as_secs())]
    TooLong,
    /// No secret can be drawn.
    #[error("the system gives no random numbers")]
    NoRandom,
}

impl LookError {
    /// Whether the hub has something else by now than was decided from.
    fn is_outdated(&self) -> bool {
        matches!(self, Self::Hub(error) if error.is_conflict() || error.is_not_found())
    }
}

/// What is kept from look to look.
#[derive(Default)]
struct Memory {
    secrets: Secrets,
    /// Since when projects are waited for that are being deleted.
    ending: BTreeMap<String, Instant>,
}

/// Keeps the namespaces of one cluster's projects as the hub wants them.
pub(in crate::controllers) async fn keep(shared: &Shared) {
    let mut memory = Memory::default();
    let mut drift = DriftWatch::new(PROJECTS);
    loop {
        Box::pin(reachable(shared)).await;
        drift.start(shared);
        let before = digest(shared);
        // Boxed: most clusters rest, and every cluster's task would keep the room for this.
        let looked = tokio::time::timeout(LOOK_WITHIN, look(shared, &mut memory));
        let looked = Box::pin(looked).await.unwrap_or(Err(LookError::TooLong));
        let pause = match looked {
            Ok(pause) => pause,
            Err(error) => {
                if error.is_outdated() {
                    tracing::debug!(cluster.uid = %shared.uid, %error, "projects are looked at again");
                    AGAIN_AFTER
                } else {
                    let error = &error as &dyn std::error::Error;
                    tracing::warn!(cluster.uid = %shared.uid, error, "projects were not applied");
                    RETRY_AFTER
                }
            }
        };
        let again = tokio::time::timeout(pause, async {
            tokio::select! {
                () = changed(shared, before) => false,
                () = drift.changed(shared) => true,
                () = shared.disconnected() => false,
            }
        })
        .await;
        drift.ended(again.unwrap_or(false));
    }
}

/// Waits until an agent is connected; meanwhile, projects say that none is, and end at once.
async fn reachable(shared: &Shared) {
    if shared.is_connected() {
        return;
    }
    // A replica that goes over to another server, or a server that starts, is no news.
    tokio::select! {
        () = shared.connected() => return,
        () = tokio::time::sleep(SETTLED_AFTER) => {}
    }
    loop {
        let before = digest(shared);
        let pause = match say_away(shared).await {
            Ok(()) => REPAIR_EVERY,
            Err(error) => {
                let error = &error as &dyn std::error::Error;
                tracing::warn!(cluster.uid = %shared.uid, error, "projects do not say how they are");
                RETRY_AFTER
            }
        };
        tokio::select! {
            () = shared.connected() => return,
            () = changed(shared, before) => {}
            () = tokio::time::sleep(pause) => {}
        }
    }
}

async fn say_away(shared: &Shared) -> Result<(), HubError> {
    let hub = &shared.controllers.hub;
    for project in of_cluster(hub.stores(), &shared.uid) {
        if is_ending(&project) {
            status::let_go(hub, &project, "no agent of its cluster is connected").await;
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
async fn look(shared: &Shared, memory: &mut Memory) -> Result<Duration, LookError> {
    let (hub, controllers) = (&shared.controllers.hub, &shared.controllers);
    if !hub.stores().health().is_trusted() {
        return Err(LookError::Untrusted);
    }
    let projects = of_cluster(hub.stores(), &shared.uid);
    for project in &projects {
        status::hold(hub, project).await?;
    }
    // Taken by few at a time: all clusters come back at once when the server starts.
    let _turn = controllers.applying.acquire().await;
    let client = controllers.tunnels.client(&shared.uid, Lane::Controller);
    let found = match observe(&client, !projects.is_empty()).await {
        Ok(found) => found,
        // Its account has the rights of an older version, and nobody asks for more.
        Err(ApplyError::NotAllowed { .. }) if projects.is_empty() => return Ok(REPAIR_EVERY),
        Err(error) => return say_failed(shared, memory, error).await,
    };
    if projects.is_empty() && found.is_empty() {
        return Ok(REPAIR_EVERY);
    }
    let (projects, plan) = settle(shared, memory, &found).await?;
    let outcome = apply(&client, &projects, &plan, &found, &memory.secrets).await;
    for failure in &outcome.failures {
        let error = &failure.error as &dyn std::error::Error;
        tracing::warn!(cluster.uid = %shared.uid, error, "a project was not applied in full");
    }
    let mut failed = !outcome.failures.is_empty();
    if failed && !shared.is_connected() {
        // Why that failed is no news of the projects; the next look finds what was done.
        return Ok(RETRY_AFTER);
    }
    let mut first = None;
    for project in &projects {
        match conclude(shared, memory, project, &plan, &found, &outcome).await {
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
    shared: &Shared,
    memory: &mut Memory,
    found: &Found,
) -> Result<(Vec<Arc<Project>>, Plan), LookError> {
    let hub = &shared.controllers.hub;
    for _ in 0..ROUNDS {
        let projects = of_cluster(hub.stores(), &shared.uid);
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
        let held = |project: &Arc<Project>| status::is_held(project) || is_ending(project);
        if !written && projects.iter().all(held) {
            return Ok((projects, plan));
        }
        for project in &projects {
            status::hold(hub, project).await?;
        }
    }
    Err(LookError::Restless)
}

/// What a project says before anything is done: what it keeps, and what is made for it.
fn announced(
    project: &Project,
    standing: &Standing,
    secrets: &mut Secrets,
) -> Result<ProjectStatus, LookError> {
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

fn draw() -> Result<String, LookError> {
    let mut bytes = [0_u8; 16];
    let filled = SystemRandom::new().fill(&mut bytes);
    filled.map_err(|_| LookError::NoRandom)?;
    Ok(URL_SAFE_NO_PAD.encode(bytes))
}

/// Writes what came of a look; returns whether something is to be tried again soon.
async fn conclude(
    shared: &Shared,
    memory: &mut Memory,
    project: &Project,
    plan: &Plan,
    found: &Found,
    outcome: &Outcome,
) -> Result<bool, LookError> {
    let hub = &shared.controllers.hub;
    let empty = Standing::default();
    let standing = plan.get(&uid(project)).unwrap_or(&empty);
    let failures = failures_of(project, standing, found, &outcome.failures);
    if is_ending(project) {
        let since = *memory
            .ending
            .entry(uid(project))
            .or_insert_with(Instant::now);
        if failures.is_empty() {
            status::release(hub, project).await?;
            return Ok(false);
        }
        if since.elapsed() >= LET_GO_WITHIN {
            status::let_go(
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
    shared: &Shared,
    memory: &mut Memory,
    error: ApplyError,
) -> Result<Duration, LookError> {
    let hub = &shared.controllers.hub;
    for project in of_cluster(hub.stores(), &shared.uid) {
        if is_ending(&project) {
            let since = *memory
                .ending
                .entry(uid(&project))
                .or_insert_with(Instant::now);
            if since.elapsed() >= LET_GO_WITHIN {
                status::let_go(hub, &project, "its cluster cannot be looked at").await;
            }
            continue;
        }
        let present = project.status.clone().unwrap_or_default();
        let wanted = status::saying(&project, present, &status::failed(&error));
        status::write(hub, &project, &wanted).await?;
    }
    Err(error.into())
}

/// Resolves when a project of the cluster is another than before.
async fn changed(shared: &Shared, before: u64) {
    let mut told = shared.controllers.hub.stores().projects.changed();
    while digest(shared) == before {
        // The sender lives in the stores, which `shared` holds.
        if told.changed().await.is_err() {
            return std::future::pending().await;
        }
        tokio::time::sleep(BREATH).await;
    }
}

/// Of what is decided from: what the projects of the cluster say, and what is theirs.
fn digest(shared: &Shared) -> u64 {
    let mut hasher = DefaultHasher::new();
    for project in of_cluster(shared.controllers.hub.stores(), &shared.uid) {
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
