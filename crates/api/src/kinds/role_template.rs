//! RoleTemplate: a role in clusters or projects.

use k8s_openapi::api::rbac::v1::PolicyRule;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Condition;
use serde::{Deserialize, Serialize};

/// A role that can be bound in any cluster, or in any project.
///
/// Rules about the group `management.drover.dev` apply on the hub, to objects of the cluster or the
/// project, such as bindings. Other rules apply in the cluster.
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
        doc = "A role in clusters or projects.",
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
        .message("a role's context cannot change, because bindings of the role can exist: create another role"),
    validation = Rule::new("self.context == 'Project' || !has(self.clusterRules)")
        .message("clusterRules are for roles in projects: use rules, which apply in the whole cluster")
))]
#[serde(rename_all = "camelCase")]
pub struct RoleTemplateSpec {
    /// The scope of the role's bindings: clusters or projects.
    pub context: RoleContext,
    /// Name to display. The default is the object's name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "crd", schemars(length(max = 256)))]
    pub display_name: Option<String>,
    /// Description of the role, as free text.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "crd", schemars(length(max = 1024)))]
    pub description: Option<String>,
    /// Rules for the whole cluster, or for the namespaces of the project.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[cfg_attr(feature = "crd", schemars(length(max = 500)))]
    pub rules: Vec<PolicyRule>,
    /// Rules of a project role for the whole cluster, for example to read storage classes.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[cfg_attr(feature = "crd", schemars(length(max = 100)))]
    pub cluster_rules: Vec<PolicyRule>,
    /// Names of ClusterRoles in the clusters, for example `view`. The ClusterRole in each cluster
    /// determines the permissions.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[cfg_attr(
        feature = "crd",
        schemars(length(max = 32), inner(length(min = 1, max = 253)))
    )]
    pub external: Vec<String>,
    /// Names of RoleTemplates with the same context. The role includes the permissions of these
    /// RoleTemplates.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[cfg_attr(
        feature = "crd",
        schemars(length(max = 32), inner(length(min = 1, max = 63)))
    )]
    pub inherits: Vec<String>,
    /// True to refuse new bindings of the role. Existing bindings remain valid.
    #[serde(default)]
    pub locked: bool,
}

/// The scope of a role's bindings.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "crd", derive(schemars::JsonSchema))]
pub enum RoleContext {
    /// The role can be bound in clusters.
    #[default]
    Cluster,
    /// The role can be bound in projects.
    Project,
}

/// Observed state of a role.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "crd", derive(kube::KubeSchema))]
#[serde(rename_all = "camelCase")]
pub struct RoleTemplateStatus {
    /// The condition `Ready`. True if the role's rules are valid. Otherwise, the message contains
    /// the reason.
    #[serde(default)]
    #[cfg_attr(feature = "crd", x_kube(merge_strategy = ListMerge::Map(vec!["type".into()])))]
    pub conditions: Vec<Condition>,
}
