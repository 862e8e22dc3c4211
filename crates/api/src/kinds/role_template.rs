//! Roles in clusters and projects.

use k8s_openapi::api::rbac::v1::PolicyRule;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Condition;
use serde::{Deserialize, Serialize};

/// A role that people can be given in any cluster, or in any project.
///
/// Rules about the group `management.drover.dev` are about the cluster's, or the project's, own
/// objects on the hub, such as who else is given a role there; all others are about the cluster.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "crd", derive(kube::CustomResource, kube::KubeSchema))]
#[cfg_attr(
    feature = "crd",
    kube(
        group = "management.drover.dev",
        version = "v1alpha1",
        kind = "RoleTemplate",
        status = "RoleTemplateStatus",
        shortname = "drt",
        category = "drover",
        derive = "PartialEq",
        doc = "A role that people can be given in clusters or projects.",
        validation = Rule::new("self.metadata.name.matches('^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?$')")
            .message("a role's name has 1 to 63 characters: lower-case letters, digits and \"-\", with a letter or digit at both ends"),
        printcolumn(name = "Context", type_ = "string", json_path = ".spec.context"),
        printcolumn(name = "Locked", type_ = "boolean", json_path = ".spec.locked"),
        printcolumn(name = "Ready", type_ = "string", json_path = ".status.conditions[?(@.type==\"Ready\")].status"),
        printcolumn(name = "Reason", type_ = "string", json_path = ".status.conditions[?(@.type==\"Ready\")].reason"),
        printcolumn(name = "Age", type_ = "date", json_path = ".metadata.creationTimestamp")
    )
)]
#[cfg_attr(feature = "crd", x_kube(
    validation = Rule::new("self.context == oldSelf.context")
        .message("a role's context cannot change, people may have it already: make another role"),
    validation = Rule::new("self.context == 'Project' || !has(self.clusterRules)")
        .message("clusterRules are for roles in projects: put them into rules, which hold in the whole cluster")
))]
#[serde(rename_all = "camelCase")]
pub struct RoleTemplateSpec {
    /// Where people can be given it.
    pub context: RoleContext,
    /// What people call it; the object's name if unset.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "crd", schemars(length(max = 256)))]
    pub display_name: Option<String>,
    /// What it is for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "crd", schemars(length(max = 1024)))]
    pub description: Option<String>,
    /// What it allows: in the whole cluster, or in the namespaces of the project.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[cfg_attr(feature = "crd", schemars(length(max = 500)))]
    pub rules: Vec<PolicyRule>,
    /// What a role in a project allows in the whole cluster, such as reading storage classes.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[cfg_attr(feature = "crd", schemars(length(max = 100)))]
    pub cluster_rules: Vec<PolicyRule>,
    /// ClusterRoles that clusters have by themselves, such as `view`; what they allow is for the
    /// cluster to say.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[cfg_attr(
        feature = "crd",
        schemars(length(max = 32), inner(length(min = 1, max = 253)))
    )]
    pub external: Vec<String>,
    /// RoleTemplates of the same context whose rights it has as well.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[cfg_attr(
        feature = "crd",
        schemars(length(max = 32), inner(length(min = 1, max = 63)))
    )]
    pub inherits: Vec<String>,
    /// Nobody else is given it; whoever has it keeps it.
    #[serde(default)]
    pub locked: bool,
}

/// Where people can be given a role.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "crd", derive(schemars::JsonSchema))]
pub enum RoleContext {
    /// In a cluster.
    #[default]
    Cluster,
    /// In a project.
    Project,
}

/// What the server found of a role.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "crd", derive(kube::KubeSchema))]
#[serde(rename_all = "camelCase")]
pub struct RoleTemplateStatus {
    /// `Ready`: whether it says what it allows, or what it inherits cannot be had.
    #[serde(default)]
    #[cfg_attr(feature = "crd", x_kube(merge_strategy = ListMerge::Map(vec!["type".into()])))]
    pub conditions: Vec<Condition>,
}
