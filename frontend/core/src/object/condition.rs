//! Conditions in words, with what to do.

use jiff::Timestamp;
use serde_json::Value;

use super::{Object, read};
use crate::kind::Kind;
use crate::severity::Severity;

/// What a cluster says of an object.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Condition {
    /// Its type, as Kubernetes writes it.
    pub name: String,
    /// What it means.
    pub severity: Severity,
    /// `yes`, `no` or `unknown`.
    pub status: &'static str,
    /// The reason and the message.
    pub told: String,
    /// What to do about it.
    pub advice: Option<&'static str>,
    /// Since when it is so.
    pub since: Option<Timestamp>,
}

/// The conditions of an object, those that trouble first.
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
        Some("True") => "yes",
        Some("False") => "no",
        _ => "unknown",
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
        status,
        told: parts.join(": "),
        advice: advice(kind, name, status, reason).filter(|_| troubles),
        since: read::time(value, "/lastTransitionTime"),
    })
}

/// Types that say something bad when they hold.
const TROUBLES: [&str; 11] = [
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
/// Types that say something good when they hold.
const GOODS: [&str; 10] = [
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

fn severity(name: &str, status: &str, reason: &str) -> Severity {
    // A pod that has done its work is not ready any more, and that is well.
    if reason == "PodCompleted" {
        return Severity::Idle;
    }
    match (TROUBLES.contains(&name), GOODS.contains(&name), status) {
        (true, _, "yes") | (_, true, "no") => Severity::Failing,
        (true, _, "no") | (_, true, "yes") => Severity::Healthy,
        (true, _, _) | (_, true, _) => Severity::Degraded,
        _ if name == "Suspended" && status == "yes" => Severity::Degraded,
        _ => Severity::Idle,
    }
}

fn advice(kind: Kind, name: &str, status: &str, reason: &str) -> Option<&'static str> {
    match kind.name {
        // The advice below is for a state that is known.
        kind if status == "unknown" => Some(of_unknown(kind, reason)),
        "Pod" => of_pod(name, reason),
        "Node" => of_node(name),
        _ => of_workload(name, reason),
    }
}

fn of_unknown(kind: &str, reason: &str) -> &'static str {
    match (kind, reason) {
        ("Node", _) => {
            "The kubelet does not report, so the state is not known: check whether the machine runs, its network, and the kubelet's log."
        }
        ("Pod", _) => "The state is not known: check whether the pod's node is Ready.",
        (_, "DeploymentPaused") => "The rollout is paused: kubectl rollout resume continues it.",
        _ => "The controller does not report this state: check the events.",
    }
}

fn of_pod(name: &str, reason: &str) -> Option<&'static str> {
    Some(match (name, reason) {
        ("PodScheduled", "SchedulingGated") => {
            "Something holds it back on purpose: it goes on when its scheduling gates are removed."
        }
        ("PodScheduled", _) => {
            "No node takes it: add nodes, ask for less, or look at node selector, affinity, taints and volumes."
        }
        ("Initialized", _) => {
            "An init container has not ended yet: look at its state and its logs."
        }
        ("Ready" | "ContainersReady", _) => {
            "Look at the containers that are not ready: their state, their logs and their readiness probe."
        }
        ("PodReadyToStartContainers", _) => {
            "The node is making its network and volumes: if it takes long, the events say why."
        }
        ("DisruptionTarget", _) => "It is being moved away: what owns it makes another one.",
        _ => return None,
    })
}

fn of_workload(name: &str, reason: &str) -> Option<&'static str> {
    Some(match (name, reason) {
        ("Progressing", "ProgressDeadlineExceeded") => {
            "The new pods do not become ready: look at them below, or go back with kubectl rollout undo."
        }
        ("Available", _) => {
            "Fewer pods than it needs are available: look at those below that are not ready."
        }
        ("ReplicaFailure", _) => {
            "Pods cannot be made: a quota, a webhook or a missing service account refuses them, as the message says."
        }
        ("Failed", "BackoffLimitExceeded") => {
            "Its pods failed too often: their logs say why. Then delete it and make it anew."
        }
        ("Failed", "DeadlineExceeded") => {
            "It took longer than it may: raise activeDeadlineSeconds, or have it do less."
        }
        ("Suspended", _) => "It waits until somebody sets suspend to false.",
        _ => return None,
    })
}

fn of_node(name: &str) -> Option<&'static str> {
    Some(match name {
        "Ready" => {
            "Its kubelet does not say that it is well: look whether the machine runs, its network, and the kubelet's log."
        }
        "MemoryPressure" => {
            "It is short of memory and puts pods out: ask for less there, or add nodes."
        }
        "DiskPressure" => "Its disk is nearly full: remove images and logs, or enlarge the disk.",
        "PIDPressure" => "Too many processes run there: look which pod starts them.",
        "NetworkUnavailable" => {
            "Its network is not set up: look at the pods of the network plugin on it."
        }
        _ => return None,
    })
}
