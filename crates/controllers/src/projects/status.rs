//! The status of projects on the hub, and the finalizer that delays their deletion.

use std::convert::Infallible;
use std::time::Duration;

use drover_api::conditions::{ConditionValue, READY, Tristate, set_condition};
use drover_api::kinds::{Project, ProjectStatus};
use drover_reconcile::{Action, Attempt, Options, Reconciler, Runtime, finalizer};
use jiff::Timestamp;
use kube::ResourceExt as _;
use serde_json::{Value, json};

use super::decide::{BlockedReason, Decision, OwnershipProblem, is_being_deleted, uid};
use super::reconciler::RETRY_AFTER;
use drover_apply::ApplyError;
use drover_hub::{Hub, HubError, Writer};

/// Finalizer that delays deletion of a project until its namespaces are released.
const FINALIZER: &str = "management.drover.dev/project";
/// Maximum time between two searches for projects whose cluster does not exist.
const INTERVAL: Duration = Duration::from_mins(1);
/// Pause after a search for projects whose cluster does not exist. Merges a burst of changes into
/// one search.
const COOLDOWN: Duration = Duration::from_secs(1);
/// Maximum number of blocked reasons that a message lists. The message contains the number of further
/// blocked reasons.
const MAX_NAMED: usize = 3;

/// Reports whether a finalizer delays the deletion of a project.
pub(super) fn has_finalizer(project: &Project) -> bool {
    finalizer::has_finalizer(project, FINALIZER)
}

/// Adds the finalizer to a project.
pub(super) async fn add_finalizer(hub: &Hub, project: &Project) -> Result<(), HubError> {
    if has_finalizer(project) || is_being_deleted(project) {
        return Ok(());
    }
    let (writer, operation) = (writer(hub), "add the finalizer of a project");
    let adding = writer.add_finalizer(operation, project, FINALIZER);
    let written = adding.await?;
    wait_until_visible(hub, &written).await;
    Ok(())
}

/// Removes the finalizer of a project.
pub(crate) async fn remove_finalizer(hub: &Hub, project: &Project) -> Result<(), HubError> {
    if !has_finalizer(project) {
        return Ok(());
    }
    let (writer, operation) = (writer(hub), "remove the finalizer of a project");
    let removing = writer.remove_finalizer(operation, project, FINALIZER);
    match removing.await {
        Err(error) if error.is_not_found() => Ok(()),
        Err(error) => Err(error),
        // Removing the last finalizer of a deleted project deletes the object.
        Ok(written) if written.metadata.deletion_timestamp.is_some() => Ok(()),
        Ok(written) => {
            wait_until_visible(hub, &written).await;
            Ok(())
        }
    }
}

/// Writes the status if it differs from the current status. Returns true after a write.
pub(super) async fn write(
    hub: &Hub,
    project: &Project,
    desired: &ProjectStatus,
) -> Result<bool, HubError> {
    let empty = ProjectStatus::default();
    if project.status.as_ref().unwrap_or(&empty) == desired {
        return Ok(false);
    }
    // The patch contains the resourceVersion of the decision, so a concurrent change causes a
    // conflict and a new reconciliation.
    let patch: Value = json!({
        "metadata": { "resourceVersion": project.resource_version(), "uid": project.uid() },
        "status": {
            "namespaces": desired.namespaces,
            "making": desired.making,
            "adopted": desired.adopted,
            "conditions": desired.conditions,
        },
    });
    let (operation, name) = ("write the status of a project", project.name_any());
    let written = writer(hub).patch_status(operation, &name, &patch).await?;
    wait_until_visible(hub, &written).await;
    Ok(true)
}

/// Waits until the store contains the written project. The wait has no timeout: with an outdated
/// project, the next reconciliation can assign the same namespace to two projects.
async fn wait_until_visible(hub: &Hub, written: &Project) {
    let (projects, uid) = (&hub.stores().projects, uid(written));
    while !projects.wait_for(written).await && projects.by_uid(&uid).is_some() {
        let name = written.name_any();
        tracing::warn!(
            project.name = name,
            "waiting for a written project to appear in the store"
        );
    }
}

/// Returns a writer that does not wait for the store, because the caller waits with
/// [`wait_until_visible`].
fn writer(hub: &Hub) -> Writer<'_, Project> {
    hub.writer().with_manager().without_wait()
}

/// Returns a copy of the status with this Ready condition.
pub(super) fn with_condition(
    project: &Project,
    mut status: ProjectStatus,
    condition_value: &ConditionValue,
) -> ProjectStatus {
    let generation = project.metadata.generation;
    let conditions = &mut status.conditions;
    set_condition(
        conditions,
        READY,
        condition_value,
        generation,
        Timestamp::now(),
    );
    status
}

/// Decides condition Ready of a project. `failures` are the failed operations in the project's
/// namespaces.
pub(super) fn condition_value(decision: &Decision, failures: &[&ApplyError]) -> ConditionValue {
    if let Some(first) = failures.first() {
        let others = failures.len() - 1;
        let more = if others == 0 {
            String::new()
        } else {
            format!("; {others} more operations failed")
        };
        let again = RETRY_AFTER.as_secs();
        return no(
            "ApplyFailed",
            format!("{first}{more}; the server retries within {again} s"),
        );
    }
    let limits = decision.blocked_reasons.iter().find_map(|it| match it {
        BlockedReason::Limits(error) => Some(error),
        BlockedReason::Namespace { .. } => None,
    });
    if let Some(error) = limits {
        let message = format!(
            "{error}; the server does not apply quotas and defaults of the \
            project until you correct the project"
        );
        return no("LimitsInvalid", message);
    }
    if let Some(first) = decision.blocked_reasons.first() {
        return no(reason(first), describe(&decision.blocked_reasons));
    }
    let count = decision.retained.len() + decision.gained.len() + decision.to_create.len();
    ConditionValue {
        status: Tristate::True,
        reason: "Applied",
        message: match count {
            0 => "the project has no namespace".to_owned(),
            1 => "the project's namespace is applied".to_owned(),
            _ => format!("the project's {count} namespaces are applied"),
        },
    }
}

/// Returns the condition while no agent of the cluster is connected.
pub(super) fn disconnected() -> ConditionValue {
    ConditionValue {
        status: Tristate::Unknown,
        reason: "ClusterNotConnected",
        message:
            "no agent of the cluster is connected: the server applies the project after an agent \
             connects; see the conditions of the Cluster"
                .to_owned(),
    }
}

/// Returns the condition after a failed read of the cluster's namespaces.
pub(super) fn failed(error: &ApplyError) -> ConditionValue {
    condition_value(&Decision::default(), &[error])
}

fn no(reason: &'static str, message: String) -> ConditionValue {
    ConditionValue {
        status: Tristate::False,
        reason,
        message,
    }
}

fn reason(blocked: &BlockedReason) -> &'static str {
    match blocked {
        BlockedReason::Limits(_) => "LimitsInvalid",
        BlockedReason::Namespace { problem, .. } => match problem {
            OwnershipProblem::Reserved => "NamespaceReserved",
            OwnershipProblem::Taken(_) | OwnershipProblem::Exists => "NamespaceTaken",
            OwnershipProblem::Missing => "NamespaceNotFound",
            OwnershipProblem::Terminating => "NamespaceTerminating",
            OwnershipProblem::Replaced => "NamespaceReplaced",
        },
    }
}

fn describe(blocked_reasons: &[BlockedReason]) -> String {
    let named = blocked_reasons.iter().take(MAX_NAMED).map(|blocked| match blocked {
        BlockedReason::Limits(error) => error.to_string(),
        BlockedReason::Namespace { name, problem } => match problem {
            OwnershipProblem::Reserved => format!(
                "namespace {name:?} is reserved for Kubernetes or Drover: remove the namespace \
                from the project"
            ),
            OwnershipProblem::Taken(other) => format!(
                "namespace {name:?} belongs to project {other:?}: first remove the namespace \
                from that project"
            ),
            OwnershipProblem::Exists => format!(
                "namespace {name:?} exists and does not belong to the project: set adopt to add \
                 the namespace to the project, or use a different name"
            ),
            OwnershipProblem::Missing => format!(
                "namespace {name:?} does not exist in the cluster and cannot be adopted: correct \
                 the name, create the namespace, or unset adopt so that Drover creates the namespace"
            ),
            OwnershipProblem::Replaced => format!(
                "namespace {name:?} was deleted and recreated, so Drover does not adopt it: \
                 remove the namespace from the project, then add it again with adopt"
            ),
            OwnershipProblem::Terminating => format!(
                "namespace {name:?} is being deleted; the server checks the namespace every {} s",
                RETRY_AFTER.as_secs()
            ),
        },
    });
    let mut describe = named.collect::<Vec<_>>().join("; ");
    if blocked_reasons.len() > MAX_NAMED {
        describe = format!("{describe}; and {} more", blocked_reasons.len() - MAX_NAMED);
    }
    describe
}

/// The reconciler that removes the finalizer of deleted projects whose cluster does not exist. All
/// other controllers ignore these projects.
struct ProjectsWithoutCluster {
    hub: Hub,
}

impl Reconciler for ProjectsWithoutCluster {
    type Key = ();
    type Error = Infallible;

    async fn reconcile(&self, (): &(), _: &Attempt) -> Result<Action, Infallible> {
        let stores = self.hub.stores();
        if stores.health().is_trusted() {
            for project in stores.projects.all() {
                if is_being_deleted(&project) && lacks_cluster(&self.hub, &project) {
                    abandon(&self.hub, &project, "its cluster was deleted").await;
                }
            }
        }
        Ok(Action::requeue(INTERVAL))
    }
}

/// Runs the controller of deleted projects whose cluster does not exist.
pub(crate) async fn run_without_cluster(hub: &Hub, runtime: &Runtime) {
    let options = Options {
        cooldown: COOLDOWN,
        ..Options::new("stray-projects")
    };
    let reconciler = ProjectsWithoutCluster { hub: hub.clone() };
    let changed = hub.stores().projects.changed();
    runtime.run_single(options, reconciler, [changed]).await;
}

fn lacks_cluster(hub: &Hub, project: &Project) -> bool {
    let cluster = project.spec.cluster.uid.as_ref();
    cluster.is_none_or(|uid| hub.stores().clusters.by_uid(uid.as_str()).is_none())
}

/// Removes the finalizer of a project. The project's labels may stay in the cluster.
pub(super) async fn abandon(hub: &Hub, project: &Project, reason: &str) {
    if !has_finalizer(project) {
        return;
    }
    let name = project.name_any();
    match remove_finalizer(hub, project).await {
        Ok(()) => tracing::info!(
            project.name = name,
            reason,
            "removed the finalizer of a project; the next reconciliation of the cluster removes \
             Drover's labels from the project's namespaces"
        ),
        Err(error) => {
            let error = &error as &dyn std::error::Error;
            tracing::warn!(
                project.name = name,
                error,
                "failed to remove the finalizer of a project; will retry"
            );
        }
    }
}

#[cfg(test)]
mod tests;
