//! The objects of the hub from which grants are computed.

use std::collections::HashMap;

use drover_api::ids::{ClusterUid, ProjectUid, ProviderUid, UserUid};
use drover_api::kinds::{
    ClusterRoleTemplateBindingSpec, GlobalRoleBindingSpec, GlobalRoleSpec,
    ProjectRoleTemplateBindingSpec, RoleTemplateSpec,
};

use crate::names::GroupName;

/// A stored role.
#[derive(Debug)]
pub struct RoleFacts<'a, S> {
    /// UID of the object.
    pub uid: &'a str,
    /// Spec of the role, as stored on the hub.
    pub spec: &'a S,
}

/// A stored user.
#[derive(Clone, Debug)]
pub struct UserFacts {
    /// UID of the object.
    pub uid: UserUid,
    /// True if the user can sign in. A disabled user has no grants.
    pub enabled: bool,
    /// True if the User object makes the user an administrator.
    pub administrator: bool,
    /// Current groups of the user.
    pub groups: Vec<GroupName>,
}

/// A stored identity provider.
#[derive(Clone, Debug)]
pub struct ProviderFacts {
    /// UID of the object.
    pub uid: ProviderUid,
    /// True if users can sign in with the provider. Groups of a disabled provider have no grants.
    pub enabled: bool,
}

/// A stored project.
#[derive(Clone, Debug)]
pub struct ProjectFacts {
    /// UID of the object.
    pub uid: ProjectUid,
    /// UID of the Cluster to which the project belongs.
    pub cluster: ClusterUid,
    /// Namespaces in the project's status.
    pub namespaces: Vec<String>,
}

/// The objects from which grants are computed, by name. Excludes objects that are being deleted.
#[derive(Debug, Default)]
pub struct Facts<'a> {
    /// Roles for clusters and projects.
    pub role_templates: HashMap<&'a str, RoleFacts<'a, RoleTemplateSpec>>,
    /// Roles for the hub and all clusters.
    pub global_roles: HashMap<&'a str, RoleFacts<'a, GlobalRoleSpec>>,
    /// Specs of all GlobalRoleBindings, with their names.
    pub global_bindings: Vec<(&'a str, &'a GlobalRoleBindingSpec)>,
    /// Specs of all ClusterRoleTemplateBindings, with their names.
    pub cluster_bindings: Vec<(&'a str, &'a ClusterRoleTemplateBindingSpec)>,
    /// Specs of all ProjectRoleTemplateBindings, with their names.
    pub project_bindings: Vec<(&'a str, &'a ProjectRoleTemplateBindingSpec)>,
    /// Projects by the name of the Project object.
    pub projects: HashMap<&'a str, ProjectFacts>,
    /// UIDs of the clusters, by the name of the Cluster object.
    pub clusters: HashMap<&'a str, ClusterUid>,
    /// Users by the name of the User object.
    pub users: HashMap<&'a str, UserFacts>,
    /// Identity providers by name.
    pub providers: HashMap<&'a str, ProviderFacts>,
}
