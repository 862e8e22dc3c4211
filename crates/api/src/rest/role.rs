//! Roles with their rules, and the caller's permissions for them.

use jiff::Timestamp;
use k8s_openapi::api::rbac::v1::PolicyRule;
use serde::{Deserialize, Serialize};

use crate::kinds::{GlobalRoleSpec, RoleContext, RoleTemplateSpec};

wire! {
    /// A RoleTemplate: a role in clusters or projects.
    RoleView {
        /// Name of the RoleTemplate object.
        name: String,
        /// The name for display.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        display_name: Option<String>,
        /// A free-text description.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        description: Option<String>,
        /// The scope of the role's bindings: cluster or project.
        #[cfg_attr(feature = "openapi", schema(value_type = String))]
        context: RoleContext,
        /// True if the role is built in and cannot change.
        built_in: bool,
        /// True if the role is locked: new bindings are refused.
        locked: bool,
        /// Number of bindings of the role. Absent for callers who cannot list bindings on the hub.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        bound: Option<u32>,
        /// The caller's permissions for the role.
        #[serde(default)]
        rights: RoleRights,
    }
}
wire! {
    /// A GlobalRole: a role on the hub and in every cluster.
    GlobalRoleView {
        /// Name of the GlobalRole object.
        name: String,
        /// The name for display.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        display_name: Option<String>,
        /// A free-text description.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        description: Option<String>,
        /// True if the role is built in and cannot change.
        built_in: bool,
        /// True if the server binds the role to each user who signs in for the first time.
        new_user_default: bool,
        /// Number of bindings of the role. Absent for callers who cannot list bindings on the hub.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        bound: Option<u32>,
        /// The caller's permissions for the role.
        #[serde(default)]
        rights: RoleRights,
    }
}
wire! {
    /// The caller's permissions for a role.
    #[derive(Copy, Default, Eq)]
    #[serde(default)]
    RoleRights {
        /// True if the caller can change the role. The caller must have all permissions of the
        /// changed role.
        may_change: bool,
        /// True if the caller can delete the role, provided that no other role depends on the role.
        may_delete: bool,
        /// True if the caller can create a role with the same spec.
        may_copy: bool,
        /// True if the caller can bind the role in the cluster or project of the request. Absent if
        /// the request has no cluster and no project. Always set for a global role.
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
        /// The fields that lists of roles also contain.
        #[serde(flatten)]
        role: RoleView,
        /// UID of the RoleTemplate object.
        uid: String,
        /// `metadata.resourceVersion` of the object, for [`RoleUpdate`].
        resource_version: String,
        /// Time of creation.
        created_at: Timestamp,
        /// The object's spec.
        #[cfg_attr(feature = "openapi", schema(value_type = Object))]
        spec: RoleTemplateSpec,
        /// Permissions in the whole cluster, including inherited permissions.
        cluster: Allowed,
        /// Permissions in the namespaces of a project, including inherited permissions.
        project: Allowed,
        /// The reason why the role grants no permissions, if its spec is invalid.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        problem: Option<String>,
        /// Roles that depend on this role, at most 100 of each kind.
        rests_on_it: RoleDependents,
    }
}
wire! {
    /// A GlobalRole with its spec and permissions.
    GlobalRoleDetail {
        /// The fields that lists of global roles also contain.
        #[serde(flatten)]
        role: GlobalRoleView,
        /// UID of the GlobalRole object.
        uid: String,
        /// `metadata.resourceVersion` of the object, for [`RoleUpdate`].
        resource_version: String,
        /// Time of creation.
        created_at: Timestamp,
        /// The object's spec.
        #[cfg_attr(feature = "openapi", schema(value_type = Object))]
        spec: GlobalRoleSpec,
        /// Permissions in every cluster, including permissions of inherited roles.
        every_cluster: Allowed,
        /// The reason why the role grants no permissions, if its spec is invalid.
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
        /// Names of ClusterRoles in the cluster that Drover does not manage.
        external: Vec<String>,
    }
}
wire! {
    /// Roles that depend on a role and prevent its deletion.
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
        /// The object's spec.
        #[cfg_attr(feature = "openapi", schema(value_type = Object))]
        spec: serde_json::Value,
    }
}
wire! {
    /// A change of a RoleTemplate or a GlobalRole.
    #[serde(deny_unknown_fields)]
    RoleUpdate {
        /// The complete new spec.
        #[cfg_attr(feature = "openapi", schema(value_type = Object))]
        spec: serde_json::Value,
        /// The `resourceVersion` that the client read. If the object has a different version now,
        /// the response is 409. If absent, the server does not compare versions.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        resource_version: Option<String>,
    }
}
