//! Roles with their rules, and the caller's permissions for operations on roles.

use jiff::Timestamp;
use k8s_openapi::api::rbac::v1::PolicyRule;
use serde::{Deserialize, Serialize};

use crate::kinds::{GlobalRoleSpec, RoleContext, RoleTemplateSpec};

wire! {
    /// A RoleTemplate: a role in clusters or projects.
    RoleView {
        /// Name of the RoleTemplate object.
        name: String,
        /// Name to display instead of the object's name. Absent if not set.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        display_name: Option<String>,
        /// Description of the role, as free text.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        description: Option<String>,
        /// The scope of the role's bindings: cluster or project.
        #[cfg_attr(feature = "openapi", schema(value_type = String))]
        context: RoleContext,
        /// True if the role is built in. Users cannot change built-in roles.
        built_in: bool,
        /// True if the role is locked. The server rejects new bindings of a locked role.
        locked: bool,
        /// Number of bindings of the role. Absent if the caller has no permission to list bindings
        /// on the hub.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        bound: Option<u32>,
        /// The caller's permissions for operations on the role.
        #[serde(default)]
        rights: RoleRights,
    }
}
wire! {
    /// A GlobalRole: a role on the hub and in every cluster.
    GlobalRoleView {
        /// Name of the GlobalRole object.
        name: String,
        /// Name to display instead of the object's name. Absent if not set.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        display_name: Option<String>,
        /// Description of the role, as free text.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        description: Option<String>,
        /// True if the role is built in. Users cannot change built-in roles.
        built_in: bool,
        /// True if the server binds the role to each new user: at the first sign-in with a
        /// provider, or at the creation of a local user.
        new_user_default: bool,
        /// Number of bindings of the role. Absent if the caller has no permission to list bindings
        /// on the hub.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        bound: Option<u32>,
        /// The caller's permissions for operations on the role.
        #[serde(default)]
        rights: RoleRights,
    }
}
wire! {
    /// The caller's permissions for operations on a role.
    #[derive(Copy, Default, Eq)]
    #[serde(default)]
    RoleRights {
        /// True if the caller can change the role. To change a role, a caller needs all permissions
        /// of the role.
        may_change: bool,
        /// True if the caller can delete the role. The server rejects the deletion while other
        /// roles depend on the role.
        may_delete: bool,
        /// True if the caller can create a role with the same spec.
        may_copy: bool,
        /// True if the caller can bind the role in the cluster or project of the request. Absent
        /// for a RoleTemplate if the request contains neither a cluster nor a project.
        #[serde(skip_serializing_if = "Option::is_none")]
        may_give: Option<bool>,
        /// True if the caller can delete bindings of the role in the cluster or project of the
        /// request.
        #[serde(skip_serializing_if = "Option::is_none")]
        may_take: Option<bool>,
    }
}
wire! {
    /// A RoleTemplate with its spec and permissions.
    RoleDetail {
        /// The fields that are also in a list of roles.
        #[serde(flatten)]
        role: RoleView,
        /// UID of the RoleTemplate object.
        uid: String,
        /// `metadata.resourceVersion` of the object, for [`RoleUpdate`].
        resource_version: String,
        /// Time at which the RoleTemplate was created.
        created_at: Timestamp,
        /// The spec of the RoleTemplate object.
        #[cfg_attr(feature = "openapi", schema(value_type = Object))]
        spec: RoleTemplateSpec,
        /// Permissions in the whole cluster, including inherited permissions.
        cluster: Allowed,
        /// Permissions in the namespaces of a project, including inherited permissions.
        project: Allowed,
        /// The reason why the role grants no permissions. Absent if the spec of the role is valid.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        problem: Option<String>,
        /// Roles that depend on this role, at most 100 RoleTemplates and 100 GlobalRoles.
        rests_on_it: RoleDependents,
    }
}
wire! {
    /// A GlobalRole with its spec and permissions.
    GlobalRoleDetail {
        /// The fields that are also in a list of global roles.
        #[serde(flatten)]
        role: GlobalRoleView,
        /// UID of the GlobalRole object.
        uid: String,
        /// `metadata.resourceVersion` of the object, for [`RoleUpdate`].
        resource_version: String,
        /// Time at which the GlobalRole was created.
        created_at: Timestamp,
        /// The spec of the GlobalRole object.
        #[cfg_attr(feature = "openapi", schema(value_type = Object))]
        spec: GlobalRoleSpec,
        /// Permissions in every cluster, including permissions of inherited roles.
        every_cluster: Allowed,
        /// The reason why the role grants no permissions. Absent if the spec of the role is valid.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        problem: Option<String>,
    }
}
wire! {
    /// The permissions that a role grants in one scope.
    #[derive(Default)]
    Allowed {
        /// RBAC rules.
        #[cfg_attr(feature = "openapi", schema(value_type = Vec<Object>))]
        rules: Vec<PolicyRule>,
        /// Names of ClusterRoles in the cluster. Drover does not manage these ClusterRoles.
        external: Vec<String>,
    }
}
wire! {
    /// Roles that depend on a role. The server rejects the deletion of the role while such roles
    /// exist.
    #[derive(Default, Eq)]
    RoleDependents {
        /// RoleTemplates that inherit the role.
        roles: Vec<String>,
        /// GlobalRoles that grant the role in every cluster.
        global_roles: Vec<String>,
    }
}
wire! {
    /// A request to create a RoleTemplate or a GlobalRole.
    #[serde(deny_unknown_fields)]
    RoleCreate {
        /// Name of the new object.
        name: String,
        /// The spec of the new object.
        #[cfg_attr(feature = "openapi", schema(value_type = Object))]
        spec: serde_json::Value,
    }
}
wire! {
    /// A change of a RoleTemplate or a GlobalRole.
    #[serde(deny_unknown_fields)]
    RoleUpdate {
        /// The complete new spec of the role.
        #[cfg_attr(feature = "openapi", schema(value_type = Object))]
        spec: serde_json::Value,
        /// The `resourceVersion` that the client has read. If the object's current version is
        /// different, the response is 409. If absent, the server does not compare versions.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        resource_version: Option<String>,
    }
}
