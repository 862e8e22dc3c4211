//! Request and response bodies for cluster members, project members, projects and access checks.

use jiff::Timestamp;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Condition;
use serde::{Deserialize, Serialize};

use crate::kinds::{ContainerDefaults, PodSecurity, ProjectNamespace, ProjectQuota};

wire! {
    /// A binding of a role to a user or group, in a cluster, in a project or globally.
    MemberView {
        /// Name of the binding.
        id: String,
        /// Name of the GlobalRole or RoleTemplate.
        role: String,
        /// Name of the user. Absent for a group.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        user: Option<String>,
        /// The user's name to display. Absent for a group, or if the user has no display name.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        display_name: Option<String>,
        /// The user's identities at identity providers. Present only for callers who can grant
        /// roles in the same scope. Empty for a user with a local password only.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        identities: Vec<MemberIdentity>,
        /// The group: `drover:<provider>:<id>`. Absent for a user.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        group: Option<String>,
        /// Time at which the binding was created.
        created_at: Timestamp,
        /// The condition `Ready` of the binding.
        #[cfg_attr(feature = "openapi", schema(value_type = Vec<Object>))]
        conditions: Vec<Condition>,
    }
}
wire! {
    /// A user's identity at an identity provider. The identity distinguishes users with equal
    /// names.
    MemberIdentity {
        /// Name of the AuthProvider.
        provider: String,
        /// The user's login name at the provider.
        login: String,
    }
}
wire! {
    /// A user to whom the caller can grant a role.
    PersonView {
        /// Name of the User object. Bindings refer to the user by this name.
        name: String,
        /// Name to display instead of the login name. Absent if not set.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        display_name: Option<String>,
        /// The user's identities at identity providers. Empty for a user with a local password
        /// only.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        identities: Vec<MemberIdentity>,
    }
}
wire! {
    /// A request to bind a role to a user or to a group. Exactly one of `user` and `group` is
    /// required.
    #[serde(deny_unknown_fields)]
    MemberCreate {
        /// Name of the GlobalRole or RoleTemplate to bind.
        role: String,
        /// Name of the User object. Absent if `group` is set.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        user: Option<String>,
        /// The group: `drover:<provider>:<id>`.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        group: Option<String>,
    }
}
wire! {
    /// A project: a set of namespaces in a cluster.
    ProjectView {
        /// Name of the Project object.
        name: String,
        /// UID of the Project object.
        uid: String,
        /// `metadata.generation` of the Project object. The value increases with every change of
        /// the spec.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        generation: Option<i64>,
        /// Name of the Cluster that contains the project.
        cluster: String,
        /// Name to display instead of the object's name. Absent if not set.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        display_name: Option<String>,
        /// Description of the project, as free text.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        description: Option<String>,
        /// The namespaces in the project's spec.
        #[cfg_attr(feature = "openapi", schema(value_type = Vec<Object>))]
        namespaces: Vec<ProjectNamespace>,
        /// Names of the namespaces in the project's status.
        own_namespaces: Vec<String>,
        /// The quota of the project and of each namespace.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        #[cfg_attr(feature = "openapi", schema(value_type = Option<Object>))]
        quota: Option<ProjectQuota>,
        /// Default requests and limits of containers in the project.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        #[cfg_attr(feature = "openapi", schema(value_type = Option<Object>))]
        container_defaults: Option<ContainerDefaults>,
        /// Pod Security Standard of the namespaces. Absent if the cluster's default applies.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        #[cfg_attr(feature = "openapi", schema(value_type = Option<String>))]
        pod_security: Option<PodSecurity>,
        /// Time at which the project was created.
        created_at: Timestamp,
        /// True while the project is being deleted.
        deleting: bool,
        /// True if the caller can change the project.
        #[serde(default)]
        may_change: bool,
        /// True if the caller can delete the project.
        #[serde(default)]
        may_delete: bool,
        /// The condition `Ready` of the project.
        #[cfg_attr(feature = "openapi", schema(value_type = Vec<Object>))]
        conditions: Vec<Condition>,
    }
}
wire! {
    /// A request to create a project.
    #[serde(deny_unknown_fields)]
    ProjectCreate {
        /// Name of the Project object, unique on the hub.
        name: String,
        /// Name of the Cluster that contains the project.
        cluster: String,
        /// Name to display instead of the object's name.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        display_name: Option<String>,
        /// Description of the project, as free text.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        description: Option<String>,
        /// The namespaces to create in the project or to add to the project.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        #[cfg_attr(feature = "openapi", schema(value_type = Vec<Object>))]
        namespaces: Vec<ProjectNamespace>,
        /// The quota of the project and of each namespace.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        #[cfg_attr(feature = "openapi", schema(value_type = Option<Object>))]
        quota: Option<ProjectQuota>,
        /// Default requests and limits of containers in the project.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        #[cfg_attr(feature = "openapi", schema(value_type = Option<Object>))]
        container_defaults: Option<ContainerDefaults>,
        /// Pod Security Standard of the namespaces. If absent, the cluster's default applies.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        #[cfg_attr(feature = "openapi", schema(value_type = Option<String>))]
        pod_security: Option<PodSecurity>,
    }
}
wire! {
    /// A change of a project. If a field is absent, its value does not change.
    #[serde(deny_unknown_fields)]
    ProjectPatch {
        /// The `generation` of the project that the client has read. If the project's current
        /// generation is different, the response is 409.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        generation: Option<i64>,
        /// Name to display. An empty string removes the display name, so that clients display the
        /// object's name.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        display_name: Option<String>,
        /// Description of the project, as free text.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        description: Option<String>,
        /// The complete new list of the project's namespaces.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        #[cfg_attr(feature = "openapi", schema(value_type = Option<Vec<Object>>))]
        namespaces: Option<Vec<ProjectNamespace>>,
        /// The new quota of the project and of each namespace. `{}` removes the quota.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        #[cfg_attr(feature = "openapi", schema(value_type = Option<Object>))]
        quota: Option<ProjectQuota>,
        /// The new default requests and limits of containers. `{}` removes the defaults.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        #[cfg_attr(feature = "openapi", schema(value_type = Option<Object>))]
        container_defaults: Option<ContainerDefaults>,
        /// The new Pod Security Standard of the namespaces.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        #[cfg_attr(feature = "openapi", schema(value_type = Option<String>))]
        pod_security: Option<PodSecurity>,
    }
}
wire! {
    /// The result of an access check: the bindings that grant a permission to users.
    Explanation {
        /// Name of the user whose access was checked. Absent if the check covers all users.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        user: Option<String>,
        /// The resource in the access check. Absent for a non-resource path.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        resource: Option<ExplainedResource>,
        /// The reason why the server used Kubernetes' built-in resources to resolve the resource
        /// name. Absent if the server used the cluster's discovery API.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        unresolved: Option<String>,
        /// The bindings that grant the permission or possibly grant the permission, at most 500.
        through: Vec<ThroughView>,
        /// True if the list does not contain all bindings, because of its maximum length.
        more: bool,
        /// The reason why the list does not contain the cluster's unmanaged bindings. Drover does
        /// not create unmanaged bindings. Absent if the list contains the unmanaged bindings.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        unasked: Option<String>,
    }
}
wire! {
    /// A resource, as in an RBAC rule.
    #[derive(Default, Eq)]
    ExplainedResource {
        /// API group. Empty for the core group.
        #[serde(default)]
        group: String,
        /// Plural name of the resource, such as `deployments`.
        resource: String,
        /// Subresource, such as `log`. Empty for the resource itself.
        #[serde(default, skip_serializing_if = "String::is_empty")]
        subresource: String,
    }
}
impl ExplainedResource {
    /// Returns the name in kubectl's syntax, such as `deployments.apps/scale`.
    pub fn qualified(&self) -> String {
        let group = match self.group.as_str() {
            "" => String::new(),
            group => format!(".{group}"),
        };
        let below = match self.subresource.as_str() {
            "" => String::new(),
            below => format!("/{below}"),
        };
        format!("{}{group}{below}", self.resource)
    }
}
wire! {
    /// A binding that grants the permission to a subject.
    ThroughView {
        /// Name of the subject in the cluster: `drover:user:<uid>` for a user, or
        /// `drover:<provider>:<id>` for a group.
        subject: String,
        /// Name of the user. Absent if the subject is a group, if the user was deleted, or if the
        /// caller has no permission to list users or members.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        user: Option<String>,
        /// Name of the role that the binding grants.
        role: String,
        /// Kind of the binding: `GlobalRoleBinding`, `ClusterRoleTemplateBinding` or
        /// `ProjectRoleTemplateBinding`. `User` for an administrator of Drover.
        /// `ClusterRoleBinding` or `RoleBinding` for a binding that Drover does not manage.
        binding_kind: String,
        /// Name of the binding, or of the User object. `namespace/name` for a RoleBinding in the
        /// cluster.
        binding: String,
        /// The origin of the permission: a rule of the role, or a ClusterRole.
        through: PermissionOrigin,
        /// Name of the ClusterRole, if the permission comes from a ClusterRole.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        cluster_role: Option<String>,
    }
}

/// The origin of a permission in a role.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub enum PermissionOrigin {
    /// A rule of the role itself.
    Rule,
    /// A ClusterRole that is built into Kubernetes. Drover knows its rules.
    Known,
    /// A ClusterRole in the cluster whose rules are unknown to Drover. The ClusterRole possibly
    /// grants the permission.
    Perhaps,
}
