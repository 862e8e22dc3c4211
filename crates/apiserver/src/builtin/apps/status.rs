//! Validation of the status of workloads.

use serde_json::Value;

use crate::json::{field, number, text};
use crate::schema::Path;
use crate::schema::findings::Findings;

/// Validates the numbers of replicas and pods.
pub(crate) fn status(value: &Value, found: &mut Findings) {
    let at = Path::new("status");
    let status = field(value, "status");
    let counts = [
        "replicas",
        "readyReplicas",
        "currentReplicas",
        "updatedReplicas",
        "availableReplicas",
        "unavailableReplicas",
        "fullyLabeledReplicas",
        "terminatingReplicas",
        "observedGeneration",
        "collisionCount",
    ];
    for name in counts {
        found.not_negative(&at.child(name), number(status, name));
    }
    let Some(all) = number(status, "replicas").or_else(|| status.is_object().then_some(0)) else {
        return;
    };
    if text(value, "kind") == "DaemonSet" {
        return;
    }
    let bounded: &[&str] = match text(value, "kind") {
        "Deployment" => &["updatedReplicas", "readyReplicas", "availableReplicas"],
        "ReplicaSet" => &["fullyLabeledReplicas", "readyReplicas", "availableReplicas"],
        _ => &[
            "readyReplicas",
            "currentReplicas",
            "updatedReplicas",
            "availableReplicas",
        ],
    };
    for name in bounded {
        let count = number(status, name).unwrap_or_default();
        if count > all {
            let message = "cannot be greater than status.replicas";
            found.invalid(&at.child(name), count, message);
        }
    }
    let ready = number(status, "readyReplicas").unwrap_or_default();
    let name = "availableReplicas";
    let count = number(status, name).unwrap_or_default();
    if count > ready {
        let message = match text(value, "kind") {
            "StatefulSet" => "cannot be greater than status.readyReplicas",
            _ => "cannot be greater than readyReplicas",
        };
        found.invalid(&at.child(name), count, message);
    }
}
