//! The history of an object: the recorded kinds, and the response body of a request for the history.

use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// A kind whose objects have a history.
#[derive(Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct HistoryKind {
    /// The API version, such as `apps/v1`.
    pub api_version: &'static str,
    /// The plural name of the resource.
    pub plural: &'static str,
    /// The name of the kind.
    pub kind: &'static str,
    /// True if the objects belong to a namespace.
    pub namespaced: bool,
}

const fn of(api_version: &'static str, plural: &'static str, kind: &'static str) -> HistoryKind {
    HistoryKind {
        api_version,
        plural,
        kind,
        namespaced: true,
    }
}

const fn cluster_scoped(plural: &'static str, kind: &'static str) -> HistoryKind {
    HistoryKind {
        api_version: "rbac.authorization.k8s.io/v1",
        plural,
        kind,
        namespaced: false,
    }
}

/// The kinds whose objects have a history: built-in kinds that users configure. The list must not
/// contain Secrets.
pub static HISTORY_KINDS: [HistoryKind; 14] = [
    of("apps/v1", "deployments", "Deployment"),
    of("apps/v1", "statefulsets", "StatefulSet"),
    of("apps/v1", "daemonsets", "DaemonSet"),
    of("batch/v1", "cronjobs", "CronJob"),
    of("v1", "services", "Service"),
    of("networking.k8s.io/v1", "ingresses", "Ingress"),
    of("v1", "configmaps", "ConfigMap"),
    of(
        "autoscaling/v2",
        "horizontalpodautoscalers",
        "HorizontalPodAutoscaler",
    ),
    of("networking.k8s.io/v1", "networkpolicies", "NetworkPolicy"),
    of("policy/v1", "poddisruptionbudgets", "PodDisruptionBudget"),
    of("rbac.authorization.k8s.io/v1", "roles", "Role"),
    of(
        "rbac.authorization.k8s.io/v1",
        "rolebindings",
        "RoleBinding",
    ),
    cluster_scoped("clusterroles", "ClusterRole"),
    cluster_scoped("clusterrolebindings", "ClusterRoleBinding"),
];

/// Annotations that are not part of the history, because controllers write them, or because they
/// repeat the object.
pub const UNRECORDED_ANNOTATIONS: [&str; 9] = [
    "kubectl.kubernetes.io/last-applied-configuration",
    "control-plane.alpha.kubernetes.io/leader",
    "deployment.kubernetes.io/revision",
    "deprecated.daemonset.template.generation",
    "endpoints.kubernetes.io/last-change-trigger-time",
    "autoscaling.alpha.kubernetes.io/behavior",
    "autoscaling.alpha.kubernetes.io/conditions",
    "autoscaling.alpha.kubernetes.io/current-metrics",
    "objectset.rio.cattle.io/applied",
];

/// Returns the kind, if its objects have a history.
pub fn history_kind(api_version: &str, plural: &str) -> Option<&'static HistoryKind> {
    HISTORY_KINDS
        .iter()
        .find(|kind| kind.api_version == api_version && kind.plural == plural)
}

/// The content of a version.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub enum VersionContent {
    /// The server stores the object.
    Stored,
    /// The object is too large for the history.
    TooLarge,
    /// The object was deleted.
    Deleted,
}

wire! {
    /// The recorded versions of an object.
    ObjectHistory {
        /// True if the object exists now.
        exists: bool,
        /// The versions, newest first.
        versions: Vec<ObjectVersion>,
    }
}

wire! {
    /// A version of an object. The oldest version is the first state that the server read. The object
    /// can have had this state for a long time.
    ObjectVersion {
        /// The number of the version on this server.
        number: u64,
        /// The time at which the server read the version.
        seen: Timestamp,
        /// The resource version.
        resource_version: String,
        /// The generation of the object.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        generation: Option<i64>,
        /// The UID of the object. A different UID than in the previous version means that the object
        /// was deleted and created again.
        uid: String,
        /// The content.
        content: VersionContent,
        /// The users whose requests through Drover led to the version.
        #[serde(default)]
        users: Vec<String>,
        /// The field managers whose entries changed.
        #[serde(default)]
        managers: Vec<VersionManager>,
        /// The changed fields, compared with the previous version.
        #[serde(default)]
        changes: Vec<FieldChange>,
        /// The number of further changed fields.
        #[serde(default)]
        further_changes: usize,
        /// The object without status, resource version and managed fields.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        object: Option<Value>,
    }
}

wire! {
    /// An entry of `managedFields` that changed.
    #[derive(Eq, PartialOrd, Ord)]
    VersionManager {
        /// The name of the field manager, such as `kubectl-edit`.
        name: String,
        /// The operation, `Apply` or `Update`.
        operation: String,
        /// The subresource of the request, such as `scale`.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        subresource: Option<String>,
        /// The time of the manager's last change.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        time: Option<Timestamp>,
    }
}

wire! {
    /// A changed field. Values are JSON, and long values end with `…`.
    #[derive(Eq)]
    FieldChange {
        /// The path of the field, such as `spec.template.spec.containers[0].image`.
        path: String,
        /// The old value; absent for a new field.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        old: Option<String>,
        /// The new value; absent for a removed field.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        new: Option<String>,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kinds_with_history_contain_no_secrets() {
        let is_secret = |kind: &HistoryKind| kind.plural == "secrets" || kind.kind == "Secret";
        assert!(!HISTORY_KINDS.iter().any(is_secret));
        assert!(history_kind("apps/v1", "deployments").is_some());
        assert!(history_kind("v1", "pods").is_none());
    }
}
