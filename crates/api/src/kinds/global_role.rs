//! GlobalRole: a role on the hub and in every cluster.

use std::collections::BTreeMap;

use k8s_openapi::api::rbac::v1::PolicyRule;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Condition;
use serde::{Deserialize, Serialize};

/// A role on the hub and in every cluster.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "crd", derive(kube::CustomResource, kube::KubeSchema))]
#[cfg_attr(
    feature = "crd",
    kube(
        group = "management.drover.dev",
        version = "v1alpha1",
        kind = "GlobalRole",
        status = "GlobalRoleStatus",
        shortname = "dgr",
        category = "drover",
        derive = "PartialEq",
        doc = "A role on the hub and in every cluster.",
        validation = Rule::new("self.metadata.name.matches('^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?$')")
            .message("a role's name has 1 to 63 characters: lower-case letters, digits and \"-\", with a letter or digit at both ends"),
        printcolumn(name = "In Every Cluster", type_ = "string", json_path = ".spec.inEveryCluster"),
        printcolumn(name = "New Users", type_ = "boolean", json_path = ".spec.newUserDefault"),
        printcolumn(name = "Ready", type_ = "string", json_path = ".status.conditions[?(@.type==\"Ready\")].status"),
        printcolumn(name = "Reason", type_ = "string", json_path = ".status.conditions[?(@.type==\"Ready\")].reason"),
        printcolumn(name = "Age", type_ = "date", json_path = ".metadata.creationTimestamp")
    )
)]
#[serde(rename_all = "camelCase")]
pub struct GlobalRoleSpec {
    /// Name to display. The default is the object's name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "crd", schemars(length(max = 256)))]
    pub display_name: Option<String>,
    /// Description of the role, as free text.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "crd", schemars(length(max = 1024)))]
    pub description: Option<String>,
    /// Rules that apply on the whole hub.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[cfg_attr(feature = "crd", schemars(length(max = 500)))]
    pub rules: Vec<PolicyRule>,
    /// Rules that apply in single namespaces of the hub, by namespace name.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    #[cfg_attr(feature = "crd", schemars(extend("maxProperties" = 100)))]
    pub namespaced_rules: BTreeMap<String, Vec<PolicyRule>>,
    /// Names of RoleTemplates with the context `Cluster`. The rules of these RoleTemplates apply in
    /// every cluster, including future clusters, but not on the hub.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[cfg_attr(
        feature = "crd",
        schemars(length(max = 32), inner(length(min = 1, max = 63)))
    )]
    pub in_every_cluster: Vec<String>,
    /// True to bind the role to each new user. A new user is a user at the first sign-in with a
    /// provider, or a local user that an administrator creates.
    #[serde(default)]
    pub new_user_default: bool,
}

/// Observed state of a global role.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "crd", derive(kube::KubeSchema))]
#[serde(rename_all = "camelCase")]
pub struct GlobalRoleStatus {
    /// The condition `Ready`. True if the role's rules are valid. Otherwise, the message contains
    /// the reason.
    #[serde(default)]
    #[cfg_attr(feature = "crd", x_kube(merge_strategy = ListMerge::Map(vec!["type".into()])))]
    pub conditions: Vec<Condition>,
}
