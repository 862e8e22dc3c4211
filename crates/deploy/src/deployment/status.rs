//! The status of bundle deployments, in Fleet's form.

use drover_api::fleet::{BundleDeploymentSpec, BundleDeploymentStatus};
use drover_gitops::states::set_condition;

use super::observe::MAX_LISTED;
use super::{DeployError, Report};

/// The objects are installed.
const INSTALLED: &str = "Installed";
/// The last deployment succeeded.
const DEPLOYED: &str = "Deployed";
/// The objects are observed.
const MONITORED: &str = "Monitored";
/// The objects are ready and not modified.
const READY: &str = "Ready";

/// Returns the status after a deployment. `release` is `namespace/name:revision`, and `now` is a time in
/// RFC 3339.
pub fn deployed(
    mut status: BundleDeploymentStatus,
    spec: &BundleDeploymentSpec,
    release: &str,
    now: &str,
) -> BundleDeploymentStatus {
    release.clone_into(&mut status.release);
    status.applied_deployment_id.clone_from(&spec.deployment_id);
    status.sync_generation = Some(spec.options.force_sync_generation);
    status.downstream_resources_generation = spec.downstream_resources_generation;
    set(&mut status, INSTALLED, None, now);
    set(&mut status, DEPLOYED, None, now);
    status
}

/// Returns the status after a failed deployment. A permanent error completes the deployment ID, so
/// that the agent does not try again. The status keeps the release of the last complete deployment, which
/// a later removal needs.
pub fn failed(
    mut status: BundleDeploymentStatus,
    spec: &BundleDeploymentSpec,
    error: &DeployError,
    now: &str,
) -> BundleDeploymentStatus {
    let message = error.to_string();
    if error.is_permanent() {
        status.ready = false;
        status.non_modified = true;
        status.applied_deployment_id.clone_from(&spec.deployment_id);
        set(
            &mut status,
            READY,
            Some(&format!("not ready: {message}")),
            now,
        );
        set(
            &mut status,
            INSTALLED,
            Some(&format!("not installed: {message}")),
            now,
        );
        set(&mut status, DEPLOYED, None, now);
    } else {
        set(&mut status, DEPLOYED, Some(&message), now);
    }
    status
}

/// Returns true if the last deployment failed permanently. The objects of the previous release are then
/// not observed, because their state would replace the error.
pub fn has_failed(status: &BundleDeploymentStatus) -> bool {
    let mut conditions = status.conditions.iter();
    conditions.any(|condition| condition.type_ == INSTALLED && condition.status == "False")
}

/// Returns the status after an observation.
pub fn observed(
    mut status: BundleDeploymentStatus,
    report: &Report,
    now: &str,
) -> BundleDeploymentStatus {
    status.ready = report.is_ready();
    status.non_modified = report.is_unmodified();
    status.incomplete_state =
        report.non_ready.len() > MAX_LISTED || report.modified.len() > MAX_LISTED;
    status.non_ready_status = report.non_ready.iter().take(MAX_LISTED).cloned().collect();
    status.modified_status = report.modified.iter().take(MAX_LISTED).cloned().collect();
    status.resources.clone_from(&report.resources);
    status.resource_counts = report.counts.clone();
    let cause = cause(report);
    set(&mut status, MONITORED, None, now);
    set(&mut status, READY, cause.as_deref(), now);
    status
}

/// Returns the status after a failed observation.
pub fn unobserved(
    mut status: BundleDeploymentStatus,
    error: &DeployError,
    now: &str,
) -> BundleDeploymentStatus {
    set(&mut status, MONITORED, Some(&error.to_string()), now);
    status
}

/// Returns the cause of a deployment that is not ready, or of a modified deployment.
fn cause(report: &Report) -> Option<String> {
    if let Some(first) = report.non_ready.first() {
        let place = place(
            &first.kind,
            &first.api_version,
            &first.namespace,
            &first.name,
        );
        let messages = first.summary.message.join("; ");
        return Some(
            format!("{place} [{}] {messages}", first.summary.state)
                .trim()
                .to_owned(),
        );
    }
    let first = report.modified.first()?;
    let place = place(
        &first.kind,
        &first.api_version,
        &first.namespace,
        &first.name,
    );
    let difference = match (first.create, first.exist, first.delete) {
        (true, true, _) => "belongs to another owner",
        (true, false, _) => "missing",
        (_, _, true) => "not in the release",
        _ => return Some(format!("{place} modified {}", first.patch)),
    };
    Some(format!("{place} {difference}"))
}

fn place(kind: &str, api_version: &str, namespace: &str, name: &str) -> String {
    let kind = kind.to_lowercase();
    let separator = if namespace.is_empty() { "" } else { "/" };
    format!("{kind}.{api_version} {namespace}{separator}{name}")
}

/// Sets a condition to `False` with an error, or to `True`. The times change only with the content.
fn set(status: &mut BundleDeploymentStatus, kind: &str, error: Option<&str>, now: &str) {
    let value = if error.is_some() { "False" } else { "True" };
    let (reason, message) = error.map_or(("", ""), |message| ("Error", message));
    set_condition(&mut status.conditions, kind, value, reason, message, now);
}
