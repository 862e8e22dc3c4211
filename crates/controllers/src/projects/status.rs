//! What a project says of itself on the hub, and the finalizer by which its end waits.

use std::convert::Infallible;
use std::time::Duration;

use drover_api::conditions::{READY, Tristate, Verdict, set_condition};
use drover_api::group::SERVER_FIELD_MANAGER;
use drover_api::kinds::{Project, ProjectStatus};
use drover_reconcile::{Action, Attempt, Options, Reconciler, Runtime, finalizer};
use jiff::Timestamp;
use kube::ResourceExt as _;
use kube::api::{Patch, PatchParams};
use serde_json::{Value, json};

use super::decide::{Impediment, Standing, Why, is_ending, uid};
use super::reconciler::RETRY_AFTER;
use drover_apply::ApplyError;
use drover_hub::{Hub, HubError, call};

/// Delays deletion of a project until its namespaces are released.
const FINALIZER: &str = "management.drover.dev/project";
/// The longest time between two searches for projects whose cluster does not exist.
const INTERVAL: Duration = Duration::from_mins(1);
/// After a search, so that a burst of changes is one.
const COOLDOWN: Duration = Duration::from_secs(1);
/// Impediments that are named; of more, the number is.
const NAMED: usize = 3;

/// Whether deletion of a project waits for the server.
pub(super) fn has_finalizer(project: &Project) -> bool {
    finalizer::has_finalizer(project, FINALIZER)
}

/// Delays deletion of a project.
pub(super) async fn add_finalizer(hub: &Hub, project: &Project) -> Result<(), HubError> {
    if has_finalizer(project) || is_ending(project) {
        return Ok(());
    }
    let (api, params) = (hub.projects(), parameters());
    let adding = finalizer::add_finalizer(&api, project, FINALIZER, &params);
    let written = call("add a project's finalizer", adding).await?;
    seen(hub, &written).await;
    Ok(())
}

/// Ends the delay of a project's deletion.
pub(crate) async fn remove_finalizer(hub: &Hub, project: &Project) -> Result<(), HubError> {
    if !has_finalizer(project) {
        return Ok(());
    }
    let (api, params) = (hub.projects(), parameters());
    let removing = finalizer::remove_finalizer(&api, project, FINALIZER, &params);
    match call("remove a project's finalizer", removing).await {
        Err(error) if error.is_not_found() => Ok(()),
        Err(error) => Err(error),
        // The last finalizer of a project that is being deleted takes the object with it.
        Ok(written) if written.metadata.deletion_timestamp.is_some() => Ok(()),
        Ok(written) => {
            seen(hub, &written).await;
            Ok(())
        }
    }
}

/// Writes a status, if it is another.
pub(super) async fn write(
    hub: &Hub,
    project: &Project,
    wanted: &ProjectStatus,
) -> Result<bool, HubError> {
    let empty = ProjectStatus::default();
    if project.status.as_ref().unwrap_or(&empty) == wanted {
        return Ok(false);
    }
    // With the version that was decided from: what became another meanwhile is looked at again.
    let patch: Value = json!({
        "metadata": { "resourceVersion": project.resource_version(), "uid": project.uid() },
        "status": {
            "namespaces": wanted.namespaces,
            "making": wanted.making,
            "adopted": wanted.adopted,
            "conditions": wanted.conditions,
        },
    });
    let (api, name) = (hub.projects(), project.name_any());
    let (params, patch) = (parameters(), Patch::Merge(&patch));
    let patched = api.patch_status(&name, &params, &patch);
    let written = call("write a project's status", patched).await?;
    seen(hub, &written).await;
    Ok(true)
}

/// Waits until memory shows what was written: from what it showed before, the next look could give
/// another project a namespace that this one has by now.
async fn seen(hub: &Hub, written: &Project) {
    let (projects, uid) = (&hub.stores().projects, uid(written));
    while !projects.wait_for(written).await && projects.by_uid(&uid).is_some() {
        let name = written.name_any();
        tracing::warn!(
            project.name = name,
            "the hub does not tell of what was written to it"
        );
    }
}

fn parameters() -> PatchParams {
    PatchParams {
        field_manager: Some(SERVER_FIELD_MANAGER.to_owned()),
        ..PatchParams::default()
    }
}

/// A status with another verdict.
pub(super) fn saying(
    project: &Project,
    mut status: ProjectStatus,
    verdict: &Verdict,
) -> ProjectStatus {
    let generation = project.metadata.generation;
    let conditions = &mut status.conditions;
    set_condition(conditions, READY, verdict, generation, Timestamp::now());
    status
}

/// What a project says after a look; `failures` are those in its namespaces.
pub(super) fn verdict(standing: &Standing, failures: &[&ApplyError]) -> Verdict {
    if let Some(first) = failures.first() {
        let others = failures.len() - 1;
        let more = if others == 0 {
            String::new()
        } else {
            format!("; and {others} more could not be done")
        };
        let again = RETRY_AFTER.as_secs();
        return no(
            "ApplyFailed",
            format!("{first}{more}; tried again every {again} s"),
        );
    }
    let limits = standing.impeded.iter().find_map(|it| match it {
        Impediment::Limits(error) => Some(error),
        Impediment::Namespace { .. } => None,
    });
    if let Some(error) = limits {
        let message = format!("{error}; until then nothing of it is changed in the cluster");
        return no("LimitsInvalid", message);
    }
    if let Some(first) = standing.impeded.first() {
        return no(reason(first), told(&standing.impeded));
    }
    let count = standing.keeps.len() + standing.gains.len() + standing.makes.len();
    Verdict {
        status: Tristate::True,
        reason: "Applied",
        message: match count {
            0 => "it has no namespace".to_owned(),
            1 => "its namespace is there, as it says".to_owned(),
            _ => format!("its {count} namespaces are there, as it says"),
        },
    }
}

/// While no agent of the cluster is connected.
pub(super) fn away() -> Verdict {
    Verdict {
        status: Tristate::Unknown,
        reason: "ClusterNotConnected",
        message:
            "no agent of the cluster is connected: what the project says is applied as soon as \
                  one is; see the Cluster's own conditions"
                .to_owned(),
    }
}

/// When the cluster could not even be looked at.
pub(super) fn failed(error: &ApplyError) -> Verdict {
    verdict(&Standing::default(), &[error])
}

fn no(reason: &'static str, message: String) -> Verdict {
    Verdict {
        status: Tristate::False,
        reason,
        message,
    }
}

fn reason(impediment: &Impediment) -> &'static str {
    match impediment {
        Impediment::Limits(_) => "LimitsInvalid",
        Impediment::Namespace { why, .. } => match why {
            Why::Reserved => "NamespaceReserved",
            Why::Held(_) | Why::There => "NamespaceTaken",
            Why::Missing => "NamespaceNotFound",
            Why::Terminating => "NamespaceTerminating",
            Why::Replaced => "NamespaceReplaced",
        },
    }
}

fn told(impediments: &[Impediment]) -> String {
    let named = impediments.iter().take(NAMED).map(|impediment| match impediment {
        Impediment::Limits(error) => error.to_string(),
        Impediment::Namespace { name, why } => match why {
            Why::Reserved => format!(
                "the namespace {name:?} is Kubernetes' own or Drover's, and no project's: take it out"
            ),
            Why::Held(other) => format!(
                "the namespace {name:?} is in the project {other:?}: take it out of that one first"
            ),
            Why::There => format!(
                "the namespace {name:?} is there already, and is not this project's: set adopt to \
                 take it over, or choose another name"
            ),
            Why::Missing => format!(
                "the namespace {name:?} is to be adopted and does not exist in the cluster: correct \
                 its name, create it, or unset adopt so that Drover creates it"
            ),
            Why::Replaced => format!(
                "the namespace {name:?} was deleted and created again, and is not the one to take \
                 over: take it out of the project, then add it again with adopt"
            ),
            Why::Terminating => format!(
                "the namespace {name:?} is being deleted; it is looked for again every {} s",
                RETRY_AFTER.as_secs()
            ),
        },
    });
    let mut told = named.collect::<Vec<_>>().join("; ");
    if impediments.len() > NAMED {
        told = format!("{told}; and {} more", impediments.len() - NAMED);
    }
    told
}

/// Ends projects whose deletion was asked for and whose cluster does not exist, so that no other
/// controller ends them.
struct Strays {
    hub: Hub,
}

impl Reconciler for Strays {
    type Key = ();
    type Error = Infallible;

    async fn reconcile(&self, (): &(), _: &Attempt) -> Result<Action, Infallible> {
        let stores = self.hub.stores();
        if stores.health().is_trusted() {
            for project in stores.projects.all() {
                if is_ending(&project) && is_stray(&self.hub, &project) {
                    abandon(&self.hub, &project, "its cluster is not there any more").await;
                }
            }
        }
        Ok(Action::requeue(INTERVAL))
    }
}

/// Runs the controller of stray projects.
pub(crate) async fn run_strays(hub: &Hub, runtime: &Runtime) {
    let options = Options {
        cooldown: COOLDOWN,
        ..Options::new("stray-projects")
    };
    let reconciler = Strays { hub: hub.clone() };
    let changed = hub.stores().projects.changed();
    runtime.run_single(options, reconciler, [changed]).await;
}

fn is_stray(hub: &Hub, project: &Project) -> bool {
    let cluster = project.spec.cluster.uid.as_ref();
    cluster.is_none_or(|uid| hub.stores().clusters.by_uid(uid.as_str()).is_none())
}

/// Removes the finalizer of a project although something may be left in its cluster.
pub(super) async fn abandon(hub: &Hub, project: &Project, why: &str) {
    if !has_finalizer(project) {
        return;
    }
    let name = project.name_any();
    match remove_finalizer(hub, project).await {
        Ok(()) => tracing::info!(
            project.name = name,
            "a project ended, {why}: its namespaces stay, and lose Drover's labels when the cluster \
             is looked at again"
        ),
        Err(error) => {
            let error = &error as &dyn std::error::Error;
            tracing::warn!(project.name = name, error, "a project's end is delayed");
        }
    }
}

#[cfg(test)]
mod tests;
