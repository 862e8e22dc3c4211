//! Sets of namespaces.

use std::collections::BTreeMap;

use k8s_openapi::apimachinery::pkg::apis::meta::v1::Condition;
use serde::{Deserialize, Serialize};

use super::binding::ClusterReference;

/// A set of namespaces in one cluster, in which people can be given roles.
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
        .message("a project stays in its cluster: make another one there")
))]
#[serde(rename_all = "camelCase")]
pub struct ProjectSpec {
    /// Where its namespaces are.
    pub cluster: ClusterReference,
    /// What people call it; the object's name if unset.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "crd", schemars(length(max = 256)))]
    pub display_name: Option<String>,
    /// What it is for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "crd", schemars(length(max = 1024)))]
    pub description: Option<String>,
    /// Its namespaces; each is in one project only.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[cfg_attr(feature = "crd", schemars(length(max = 500)))]
    #[cfg_attr(feature = "crd", x_kube(merge_strategy = ListMerge::Map(vec!["name".into()])))]
    pub namespaces: Vec<ProjectNamespace>,
    /// What its namespaces may use together, and each by itself.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub quota: Option<ProjectQuota>,
    /// What a container gets that does not say what it needs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub container_defaults: Option<ContainerDefaults>,
    /// Which pods its namespaces take (Pod Security Standards); as the cluster has it if unset.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pod_security: Option<PodSecurity>,
}

/// A namespace of a project.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "crd", derive(kube::KubeSchema))]
#[serde(rename_all = "camelCase")]
pub struct ProjectNamespace {
    /// Its name (RFC 1123).
    #[cfg_attr(feature = "crd", schemars(length(min = 1, max = 63)))]
    #[cfg_attr(feature = "crd", x_kube(validation = Rule::new("self.matches('^[a-z0-9]([a-z0-9-]*[a-z0-9])?$')")
        .message("a namespace's name has lower-case letters, digits and \"-\", with a letter or digit at both ends")))]
    pub name: String,
    /// Take over a namespace that exists; Drover does not create it. Without it, the namespace is
    /// made, and one that is there is left alone: whoever may change a project only could help
    /// themselves to any.
    #[serde(default)]
    pub adopt: bool,
    /// UID of the namespace to take over; one of the same name with another UID is left alone. If
    /// unset, the server records the UID that the namespace has when it first sees it, in
    /// `status.adopted`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "crd", schemars(length(min = 1, max = 128)))]
    pub uid: Option<String>,
}

/// Bounds of what a project uses, by the names that ResourceQuotas have (`requests.cpu`, `pods`).
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "crd", derive(kube::KubeSchema))]
#[serde(rename_all = "camelCase")]
pub struct ProjectQuota {
    /// All of its namespaces together, as Kubernetes quantities.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub project: BTreeMap<String, String>,
    /// Each namespace, as Kubernetes quantities.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub namespace: BTreeMap<String, String>,
}

/// What a container gets that does not say what it needs, as Kubernetes quantities.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "crd", derive(kube::KubeSchema))]
#[serde(rename_all = "camelCase")]
pub struct ContainerDefaults {
    /// Requests by resource.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub requests: BTreeMap<String, String>,
    /// Limits by resource.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub limits: BTreeMap<String, String>,
}

/// A level of the Pod Security Standards.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "crd", derive(schemars::JsonSchema))]
pub enum PodSecurity {
    /// Everything.
    Privileged,
    /// Nothing that is known to lead out of a container.
    Baseline,
    /// Hardened pods only.
    Restricted,
}

/// What the server knows of a project.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "crd", derive(kube::KubeSchema))]
#[serde(rename_all = "camelCase")]
pub struct ProjectStatus {
    /// The namespaces that are its own.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub namespaces: Vec<OwnedNamespace>,
    /// The namespaces that the server is making for it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub making: Vec<NamespaceInMaking>,
    /// The namespaces that are to be taken over, with the UIDs for which that was asked. An entry
    /// stays while `spec.namespaces` says `adopt`, also after the namespace is gone.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub adopted: Vec<OwnedNamespace>,
    /// `Ready`: whether its namespaces are as it says.
    #[serde(default)]
    #[cfg_attr(feature = "crd", x_kube(merge_strategy = ListMerge::Map(vec!["type".into()])))]
    pub conditions: Vec<Condition>,
}

/// A namespace that is a project's own, by name and UID: one that is deleted and made again by
/// somebody else is not.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "crd", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct OwnedNamespace {
    /// Its name.
    pub name: String,
    /// Its UID in the cluster.
    pub uid: String,
}

/// A namespace that the server is making: should it stop before it has written that it has, it finds
/// its own again by the proof, and nobody can pass another namespace off as that.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "crd", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct NamespaceInMaking {
    /// Its name.
    pub name: String,
    /// SHA-256, in base64url without padding, of what the namespace is made with and nobody else
    /// knows.
    pub digest: String,
}
