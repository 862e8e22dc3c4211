//! Conditions of objects, with advice.

use jiff::Timestamp;
use serde_json::Value;

use super::{Object, read};
use crate::kind::Kind;
use crate::messages::t;
use drover_rows::Severity;

/// A condition of an object.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Condition {
    /// The type of the condition, such as `Ready`.
    pub name: String,
    /// The severity of the condition's status.
    pub severity: Severity,
    /// `yes`, `no` or `unknown`.
    pub status: &'static str,
    /// The reason and the message of the condition.
    pub told: String,
    /// The recommended next step.
    pub advice: Option<&'static str>,
    /// The time of the last transition.
    pub since: Option<Timestamp>,
}

/// Returns the conditions of an object, problems first.
pub(crate) fn conditions(kind: Kind, object: &Object) -> Vec<Condition> {
    let all = read::list(object.value(), "/status/conditions").iter();
    let mut all: Vec<Condition> = all.filter_map(|one| condition(kind, one)).collect();
    all.sort_by_key(|condition| match condition.severity {
        Severity::Failing => 0,
        Severity::Degraded => 1,
        Severity::Progressing => 2,
        Severity::Healthy | Severity::Idle => 3,
    });
    all
}

fn condition(kind: Kind, value: &Value) -> Option<Condition> {
    let name = read::text(value, "/type")?;
    let status = match read::text(value, "/status") {
        Some("True") => Some(true),
        Some("False") => Some(false),
        _ => None,
    };
    let reason = read::text(value, "/reason").unwrap_or_default();
    let severity = severity(name, status, reason);
    let parts = [
        reason.to_owned(),
        read::owned(value, "/message").unwrap_or_default(),
    ];
    let parts: Vec<String> = parts.into_iter().filter(|part| !part.is_empty()).collect();
    let troubles = matches!(severity, Severity::Failing | Severity::Degraded);
    Some(Condition {
        name: name.to_owned(),
        severity,
        status: match status {
            Some(true) => t().states.yes(),
            Some(false) => t().states.no(),
            None => t().states.unknown(),
        },
        told: parts.join(": "),
        advice: advice(kind, name, status, reason).filter(|_| troubles),
        since: read::time(value, "/lastTransitionTime"),
    })
}

/// The condition types that report a problem with status `True`.
const PROBLEM_TYPES: [&str; 11] = [
    "MemoryPressure",
    "DiskPressure",
    "PIDPressure",
    "NetworkUnavailable",
    "ReplicaFailure",
    "Failed",
    "FailureTarget",
    "DisruptionTarget",
    "PodResizePending",
    "AllContainersRestarting",
    "KernelDeadlock",
];
/// The condition types that report health with status `True`.
const HEALTHY_TYPES: [&str; 10] = [
    "Ready",
    "Available",
    "Progressing",
    "PodScheduled",
    "Initialized",
    "ContainersReady",
    "PodReadyToStartContainers",
    "Complete",
    "SuccessCriteriaMet",
    "PodResizeInProgress",
];

fn severity(name: &str, status: Option<bool>, reason: &str) -> Severity {
    // Completed pods are not ready. This is not a problem.
    if reason == "PodCompleted" {
        return Severity::Idle;
    }
    match (
        PROBLEM_TYPES.contains(&name),
        HEALTHY_TYPES.contains(&name),
        status,
    ) {
        (true, _, Some(true)) | (_, true, Some(false)) => Severity::Failing,
        (true, _, Some(false)) | (_, true, Some(true)) => Severity::Healthy,
        (true, _, _) | (_, true, _) => Severity::Degraded,
        _ if name == "Suspended" && status == Some(true) => Severity::Degraded,
        _ => Severity::Idle,
    }
}

fn advice(kind: Kind, name: &str, status: Option<bool>, reason: &str) -> Option<&'static str> {
    match kind.name {
        // The advice in the following arms assumes a known status.
        kind if status.is_none() => Some(of_unknown(kind, reason)),
        "Pod" => of_pod(name, reason),
        "Node" => of_node(name),
        _ => of_workload(name, reason),
    }
}

fn of_unknown(kind: &str, reason: &str) -> &'static str {
    match (kind, reason) {
        ("Node", _) => t().conditions.node_unknown(),
        ("Pod", _) => t().conditions.pod_unknown(),
        (_, "DeploymentPaused") => t().conditions.rollout_paused(),
        _ => t().conditions.not_reported(),
    }
}

fn of_pod(name: &str, reason: &str) -> Option<&'static str> {
    Some(match (name, reason) {
        ("PodScheduled", "SchedulingGated") => t().conditions.scheduling_gated(),
        ("PodScheduled", _) => t().conditions.unschedulable(),
        ("Initialized", _) => t().conditions.init_running(),
        ("Ready" | "ContainersReady", _) => t().conditions.containers_not_ready(),
        ("PodReadyToStartContainers", _) => t().conditions.sandbox_pending(),
        ("DisruptionTarget", _) => t().conditions.disruption(),
        _ => return None,
    })
}

fn of_workload(name: &str, reason: &str) -> Option<&'static str> {
    Some(match (name, reason) {
        ("Progressing", "ProgressDeadlineExceeded") => t().conditions.rollout_stuck(),
        ("Available", _) => t().conditions.too_few_available(),
        ("ReplicaFailure", _) => t().conditions.replica_failure(),
        ("Failed", "BackoffLimitExceeded") => t().conditions.backoff_limit(),
        ("Failed", "DeadlineExceeded") => t().conditions.deadline(),
        ("Suspended", _) => t().conditions.suspended(),
        _ => return None,
    })
}

fn of_node(name: &str) -> Option<&'static str> {
    Some(match name {
        "Ready" => t().conditions.node_not_ready(),
        "MemoryPressure" => t().conditions.memory_pressure(),
        "DiskPressure" => t().conditions.disk_pressure(),
        "PIDPressure" => t().conditions.pid_pressure(),
        "NetworkUnavailable" => t().conditions.network_unavailable(),
        _ => return None,
    })
}
