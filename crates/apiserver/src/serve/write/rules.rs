//! The properties of kinds that affect writes: the flags of kube-apiserver's strategies.

use serde_json::Value;

use crate::resource::{Origin, Resource};
use crate::serve::metadata;
use crate::serve::shared::Target;

/// The default action for the dependents of a deleted object.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Dependents {
    /// Delete the dependents.
    Delete,
    /// Orphan the dependents.
    Orphan,
    /// The kind has no dependents, and rejects a propagation policy.
    Unsupported,
}

/// Reports whether an update creates a missing object.
pub(crate) fn creates_on_update(resource: &Resource) -> bool {
    matches!(
        (
            resource.group_version.group.as_str(),
            resource.plural.as_str()
        ),
        ("", "events" | "services" | "endpoints" | "limitranges")
            | ("events.k8s.io", "events")
            | (
                "rbac.authorization.k8s.io",
                "roles" | "rolebindings" | "clusterroles" | "clusterrolebindings"
            )
            | ("coordination.k8s.io", "leases" | "leasecandidates")
            | ("node.k8s.io", "runtimeclasses")
    )
}

/// Reports whether an update may omit the resourceVersion.
pub(crate) fn updates_unconditionally(resource: &Resource) -> bool {
    if resource.origin == Origin::Custom {
        return false;
    }
    !matches!(
        (
            resource.group_version.group.as_str(),
            resource.plural.as_str()
        ),
        (
            "apiextensions.k8s.io"
                | "coordination.k8s.io"
                | "admissionregistration.k8s.io"
                | "node.k8s.io",
            _
        ) | ("policy", "poddisruptionbudgets")
            | (
                "storage.k8s.io",
                "csidrivers" | "csistoragecapacities" | "volumeattachments" | "csinodes"
            )
    )
}

/// Reports whether a delete returns the object instead of a Status.
pub(crate) fn shows_deleted(resource: &Resource) -> bool {
    matches!(
        (
            resource.group_version.group.as_str(),
            resource.plural.as_str()
        ),
        (
            "",
            "pods"
                | "services"
                | "serviceaccounts"
                | "namespaces"
                | "resourcequotas"
                | "persistentvolumes"
                | "persistentvolumeclaims"
                | "podtemplates"
        ) | ("storage.k8s.io" | "resource.k8s.io", _)
    ) && resource.origin == Origin::BuiltIn
}

/// Returns the default propagation of the resource.
pub(crate) fn dependents(resource: &Resource) -> Dependents {
    match (
        resource.group_version.group.as_str(),
        resource.plural.as_str(),
    ) {
        ("" | "events.k8s.io", "events") => Dependents::Unsupported,
        ("batch", "jobs") | ("", "replicationcontrollers") => Dependents::Orphan,
        _ => Dependents::Delete,
    }
}

/// Returns the grace period in seconds, for kinds with graceful deletion (pods).
pub(crate) fn grace_period(target: &Target, object: &Value, requested: Option<i64>) -> Option<i64> {
    if !target.is("", "pods") {
        return None;
    }
    let period = requested
        .or_else(|| object["spec"]["terminationGracePeriodSeconds"].as_i64())
        .unwrap_or(0);
    let placed = object["spec"]["nodeName"]
        .as_str()
        .is_some_and(|node| !node.is_empty());
    let over = matches!(
        object["status"]["phase"].as_str(),
        Some("Failed" | "Succeeded")
    );
    if !placed || over {
        return Some(0);
    }
    Some(match period {
        ..0 => 1,
        // Limits the period so that its end is a valid date.
        period => period.min(i64::from(i32::MAX)),
    })
}

/// Reports whether an update that removes the last finalizer can delete the object.
pub(crate) fn may_be_removed(target: &Target, object: &Value) -> bool {
    // A namespace has additional finalizers in its spec.
    !target.is("", "namespaces")
        || object["spec"]["finalizers"]
            .as_array()
            .is_none_or(Vec::is_empty)
}

/// Reports whether an update deletes an object whose deletion has started.
pub(crate) fn is_removed_by_update(target: &Target, object: &Value, old: &Value) -> bool {
    metadata::finalizers(object).is_empty()
        && metadata::is_deleting(old)
        && metadata::integer(old, "deletionGracePeriodSeconds").unwrap_or(0) == 0
        && may_be_removed(target, object)
}
