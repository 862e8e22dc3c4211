//! How kinds differ in what is done around a write: kube-apiserver's strategies, as a table.

use serde_json::Value;

use crate::resource::{Origin, Resource};
use crate::serve::metadata;
use crate::serve::shared::Target;

/// What happens to dependents when a delete does not say.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Dependents {
    /// They go.
    Delete,
    /// They stay.
    Orphan,
    /// The kind has none, and takes no wish about them.
    Unsupported,
}

/// Whether an update makes the object if there is none.
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

/// Whether an update may leave the resource version out.
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

/// Whether a delete answers with the object rather than with a Status.
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

/// What happens to dependents when a delete does not say.
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

/// Seconds that an object takes to go, if its kind goes gracefully (pods).
pub(crate) fn grace_period(target: &Target, object: &Value, asked: Option<i64>) -> Option<i64> {
    if !target.is("", "pods") {
        return None;
    }
    let period = asked
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
        // Nobody waits longer than decades, and an end that far away is still a date.
        period => period.min(i64::from(i32::MAX)),
    })
}

/// Whether an update that leaves no finalizers may remove the object.
pub(crate) fn may_go(target: &Target, object: &Value) -> bool {
    // A namespace has a second list of those who must let go.
    !target.is("", "namespaces")
        || object["spec"]["finalizers"]
            .as_array()
            .is_none_or(Vec::is_empty)
}

/// Whether an object whose deletion has begun goes with this update.
pub(crate) fn goes_with_update(target: &Target, object: &Value, old: &Value) -> bool {
    metadata::finalizers(object).is_empty()
        && metadata::is_deleting(old)
        && metadata::integer(old, "deletionGracePeriodSeconds").unwrap_or(0) == 0
        && may_go(target, object)
}
