//! Roles: what they say, what they allow, and what the caller may do with them.

use jiff::Timestamp;
use k8s_openapi::api::rbac::v1::PolicyRule;
use serde::{Deserialize, Serialize};

use crate::kinds::{GlobalRoleSpec, RoleContext, RoleTemplateSpec};

wire! {
    /// A role that people can be given in clusters or projects: a RoleTemplate.
    RoleView {
        /// The object's name.
        name: String,
        /// What people call it.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        display_name: Option<String>,
        /// What it is for.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        description: Option<String>,
        /// Where people can be given it.
        #[cfg_attr(feature = "openapi", schema(value_type = String))]
        context: RoleContext,
        /// Whether it is there from the start, and stays as it is.
        built_in: bool,
        /// Whether nobody else is given it.
        locked: bool,
        /// How many bindings give it; absent for those who may not list them on the hub.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        bound: Option<u32>,
        /// What the caller may do with it.
        #[serde(default)]
        rights: RoleRights,
    }
}
wire! {
    /// A role on the hub and in every cluster: a GlobalRole.
    GlobalRoleView {
        /// The object's name.
        name: String,
        /// What people call it.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        display_name: Option<String>,
        /// What it is for.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        description: Option<String>,
        /// Whether it is there from the start, and stays as it is.
        built_in: bool,
        /// Whether whoever signs in for the first time is given it.
        new_user_default: bool,
        /// How many bindings give it; absent for those who may not list them on the hub.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        bound: Option<u32>,
        /// What the caller may do with it.
        #[serde(default)]
        rights: RoleRights,
    }
}
wire! {
    /// What the caller's own roles let them do with a role.
    #[derive(Copy, Default, Eq)]
    #[serde(default)]
    RoleRights {
        /// Change what it says, as far as they have what it says then.
        may_change: bool,
        /// Delete it, if no other role rests on it.
        may_delete: bool,
        /// Make another that says the same.
        may_copy: bool,
        /// Give it to somebody: at the cluster or project that was asked about, absent if none was; of
        /// a global role, at all.
        #[serde(skip_serializing_if = "Option::is_none")]
        may_give: Option<bool>,
        /// Take it away from somebody, there.
        #[serde(skip_serializing_if = "Option::is_none")]
        may_take: Option<bool>,
    }
}
wire! {
    /// One role in clusters or projects, with all that it says.
    RoleDetail {
        /// As it is listed.
        #[serde(flatten)]
        role: RoleView,
        /// UID of the object.
        uid: String,
        /// Version of the object; sent with a change, that is refused if there was another since.
        resource_version: String,
        /// When it was made.
        created_at: Timestamp,
        /// The object's spec.
        #[cfg_attr(feature = "openapi", schema(value_type = Object))]
        spec: RoleTemplateSpec,
        /// What it allows in the whole cluster, with all that it inherits.
        cluster: Allowed,
        /// What it allows in the namespaces of a project, with all that it inherits.
        project: Allowed,
        /// Why it allows nothing, if what it says cannot be used.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        problem: Option<String>,
        /// Roles that inherit it, and global roles that give it in every cluster; at most 100 each.
        rests_on_it: RestsOnIt,
    }
}
wire! {
    /// One global role, with all that it says.
    GlobalRoleDetail {
        /// As it is listed.
        #[serde(flatten)]
        role: GlobalRoleView,
        /// UID of the object.
        uid: String,
        /// Version of the object; sent with a change, that is refused if there was another since.
        resource_version: String,
        /// When it was made.
        created_at: Timestamp,
        /// The object's spec.
        #[cfg_attr(feature = "openapi", schema(value_type = Object))]
        spec: GlobalRoleSpec,
        /// What it allows in every cluster, with all that those roles inherit.
        every_cluster: Allowed,
        /// Why it allows nothing, if what it says cannot be used.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        problem: Option<String>,
    }
}
wire! {
    /// What is allowed at one place.
    #[derive(Default)]
    Allowed {
        /// By rules.
        #[cfg_attr(feature = "openapi", schema(value_type = Vec<Object>))]
        rules: Vec<PolicyRule>,
        /// By ClusterRoles that the cluster has by itself.
        external: Vec<String>,
    }
}
wire! {
    /// What a role cannot be deleted for.
    #[derive(Default, Eq)]
    RestsOnIt {
        /// Roles that inherit it.
        roles: Vec<String>,
        /// Global roles that give it in every cluster.
        global_roles: Vec<String>,
    }
}
wire! {
    /// A wish for a role, of either kind.
    #[serde(deny_unknown_fields)]
    RoleCreate {
        /// The object's name.
        name: String,
        /// The object's spec.
        #[cfg_attr(feature = "openapi", schema(value_type = Object))]
        spec: serde_json::Value,
    }
}
wire! {
    /// What a role shall say from now on, of either kind.
    #[serde(deny_unknown_fields)]
    RoleUpdate {
        /// The object's whole spec.
        #[cfg_attr(feature = "openapi", schema(value_type = Object))]
        spec: serde_json::Value,
        /// Version that the change is made from; any if absent.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        resource_version: Option<String>,
    }
}
