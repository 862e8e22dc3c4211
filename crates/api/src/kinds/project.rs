//! Project: a set of namespaces in a cluster.

use std::collections::BTreeMap;

use k8s_openapi::apimachinery::pkg::apis::meta::v1::Condition;
use serde::{Deserialize, Serialize};

use super::binding::ClusterReference;

/// A set of namespaces in one cluster. Users can bind roles in the project.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "crd", derive(kube::CustomResource, kube::KubeSchema))]
#[cfg_attr(
    feature = "crd",
    kube(
        group = "management.drover.dev",
        version = "v1alpha1",
        kind = "Project",
        status = "ProjectStatus",
        shortname = "dprj",
        category = "drover",
        derive = "PartialEq",
        doc = "A set of namespaces in one cluster.",
        validation = Rule::new("self.metadata.name.matches('^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?$')")
            .message("a project's name has 1 to 63 characters: lower-case letters, digits and \"-\", with a letter or digit at both ends"),
        printcolumn(name = "Cluster", type_ = "string", json_path = ".spec.cluster.name"),
        printcolumn(name = "Ready", type_ = "string", json_path = ".status.conditions[?(@.type==\"Ready\")].status"),
        printcolumn(name = "Reason", type_ = "string", json_path = ".status.conditions[?(@.type==\"Ready\")].reason"),
        printcolumn(name = "Age", type_ = "date", json_path = ".metadata.creationTimestamp")
    )
)]
#[cfg_attr(feature = "crd", x_kube(
    validation = Rule::new("self.cluster.name == oldSelf.cluster.name")
        .message("a project's cluster cannot change: create a project in the other cluster")
))]
#[serde(rename_all = "camelCase")]
pub struct ProjectSpec {
    /// The cluster that contains the project's namespaces.
    pub cluster: ClusterReference,
    /// Name to display. The default is the object's name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "crd", schemars(length(max = 256)))]
    pub display_name: Option<String>,
    /// Description of the project, as free text.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "crd", schemars(length(max = 1024)))]
    pub description: Option<String>,
    /// Namespaces of the project. A namespace belongs to at most one project.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[cfg_attr(feature = "crd", schemars(length(max = 500)))]
    #[cfg_attr(feature = "crd", x_kube(merge_strategy = ListMerge::Map(vec!["name".into()])))]
    pub namespaces: Vec<ProjectNamespace>,
    /// Quotas of the project and of each of its namespaces.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub quota: Option<ProjectQuota>,
    /// Default requests and limits of containers.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub container_defaults: Option<ContainerDefaults>,
    /// Pod Security Standard of the namespaces. If unset, the cluster's default applies.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pod_security: Option<PodSecurity>,
}

/// A namespace in the spec of a project.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "crd", derive(kube::KubeSchema))]
#[serde(rename_all = "camelCase")]
pub struct ProjectNamespace {
    /// Name of the namespace (RFC 1123).
    #[cfg_attr(feature = "crd", schemars(length(min = 1, max = 63)))]
    #[cfg_attr(feature = "crd", x_kube(validation = Rule::new("self.matches('^[a-z0-9]([a-z0-9-]*[a-z0-9])?$')")
        .message("a namespace's name has lower-case letters, digits and \"-\", with a letter or digit at both ends")))]
    pub name: String,
    /// True to add an existing namespace to the project. False to create the namespace. If false,
    /// the server rejects an existing namespace. Without this check, every user who can change a
    /// project could access any namespace.
    #[serde(default)]
    pub adopt: bool,
    /// UID of the existing namespace to add. The server does not add a namespace with a different
    /// UID. If unset, the server stores the UID of the existing namespace in `status.adopted` and
    /// adds only this namespace.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "crd", schemars(length(min = 1, max = 128)))]
    pub uid: Option<String>,
}

/// Quotas of a project, with the resource names of ResourceQuota (`requests.cpu`, `pods`).
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "crd", derive(kube::KubeSchema))]
#[serde(rename_all = "camelCase")]
pub struct ProjectQuota {
    /// Quota of all namespaces together, as Kubernetes quantities.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub project: BTreeMap<String, String>,
    /// Quota of each namespace, as Kubernetes quantities.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub namespace: BTreeMap<String, String>,
}

/// Requests and limits of containers that do not specify requests or limits, as Kubernetes
/// quantities.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "crd", derive(kube::KubeSchema))]
#[serde(rename_all = "camelCase")]
pub struct ContainerDefaults {
    /// Default requests by resource name.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub requests: BTreeMap<String, String>,
    /// Default limits by resource name.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub limits: BTreeMap<String, String>,
}

/// A level of the Pod Security Standards.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "crd", derive(schemars::JsonSchema))]
pub enum PodSecurity {
    /// Privileged: no restrictions.
    Privileged,
    /// Baseline: prevents known privilege escalations.
    Baseline,
    /// Restricted: requires hardened pods.
    Restricted,
}

/// Observed state of a project.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "crd", derive(kube::KubeSchema))]
#[serde(rename_all = "camelCase")]
pub struct ProjectStatus {
    /// The namespaces that belong to the project.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub namespaces: Vec<OwnedNamespace>,
    /// The namespaces that the server is creating.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub making: Vec<NamespaceInCreation>,
    /// The existing namespaces to add to the project, with their recorded UIDs. The server keeps an
    /// entry while the spec contains the namespace with `adopt`, even if the namespace was deleted.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub adopted: Vec<OwnedNamespace>,
    /// The condition `Ready`. True if the namespaces match the spec. Otherwise, the message
    /// contains the reason.
    #[serde(default)]
    #[cfg_attr(feature = "crd", x_kube(merge_strategy = ListMerge::Map(vec!["type".into()])))]
    pub conditions: Vec<Condition>,
}

/// A namespace of a project. The UID distinguishes the namespace from a later namespace with the
/// same name.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "crd", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct OwnedNamespace {
    /// Name of the namespace in the cluster.
    pub name: String,
    /// UID of the namespace in the cluster.
    pub uid: String,
}

/// A namespace that the server is creating. If the server restarts during the creation, the digest
/// identifies the namespace that the server created. Other clients cannot forge the digest.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "crd", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct NamespaceInCreation {
    /// Name of the namespace in the cluster.
    pub name: String,
    /// SHA-256, in base64url without padding, of a secret that the server puts into the new
    /// namespace.
    pub digest: String,
}
