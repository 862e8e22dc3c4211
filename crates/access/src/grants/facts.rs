//! What grants are gathered from: objects of the hub, as they are now.

use std::collections::HashMap;

use drover_api::ids::{ClusterUid, ProjectUid, ProviderUid, UserUid};
use drover_api::kinds::{
    ClusterRoleTemplateBindingSpec, GlobalRoleBindingSpec, GlobalRoleSpec,
    ProjectRoleTemplateBindingSpec, RoleTemplateSpec,
};

use crate::names::GroupName;

/// A role as it is stored.
#[derive(Debug)]
pub struct RoleFacts<'a, S> {
    /// UID of the object.
    pub uid: &'a str,
    /// What it says.
    pub spec: &'a S,
}

/// A person as they are stored.
#[derive(Clone, Debug)]
pub struct UserFacts {
    /// UID of the object.
    pub uid: UserUid,
    /// Whether they can work at all.
    pub enabled: bool,
    /// Whether they may do everything, everywhere, by their User object.
    pub administrator: bool,
    /// The groups that they are in now.
    pub groups: Vec<GroupName>,
}

/// An identity provider as it is stored.
#[derive(Clone, Debug)]
pub struct ProviderFacts {
    /// UID of the object.
    pub uid: ProviderUid,
    /// Whether its people can work at all.
    pub enabled: bool,
}

/// A project as it is stored.
#[derive(Clone, Debug)]
pub struct ProjectFacts {
    /// UID of the object.
    pub uid: ProjectUid,
    /// Where its namespaces are.
    pub cluster: ClusterUid,
    /// Those that are its own, by the word of the server.
    pub namespaces: Vec<String>,
}

/// Everything that grants are gathered from, by name. What is being deleted is not in here.
#[derive(Debug, Default)]
pub struct Facts<'a> {
    /// Roles in clusters and projects.
    pub role_templates: HashMap<&'a str, RoleFacts<'a, RoleTemplateSpec>>,
    /// Roles on the hub and in every cluster.
    pub global_roles: HashMap<&'a str, RoleFacts<'a, GlobalRoleSpec>>,
    /// Who has which global role.
    pub global_bindings: Vec<(&'a str, &'a GlobalRoleBindingSpec)>,
    /// Who has which role in a cluster.
    pub cluster_bindings: Vec<(&'a str, &'a ClusterRoleTemplateBindingSpec)>,
    /// Who has which role in a project.
    pub project_bindings: Vec<(&'a str, &'a ProjectRoleTemplateBindingSpec)>,
    /// Sets of namespaces.
    pub projects: HashMap<&'a str, ProjectFacts>,
    /// Clusters.
    pub clusters: HashMap<&'a str, ClusterUid>,
    /// People.
    pub users: HashMap<&'a str, UserFacts>,
    /// Identity providers.
    pub providers: HashMap<&'a str, ProviderFacts>,
}
