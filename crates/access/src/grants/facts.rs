//! What grants are gathered from: objects of the hub, as they are now.

use std::collections::{HashMap, HashSet};

use drover_api::ids::{ClusterUid, ProjectUid, UserUid};
use drover_api::kinds::{
    ClusterRoleTemplateBindingSpec, GlobalRoleBindingSpec, GlobalRoleSpec,
    ProjectRoleTemplateBindingSpec, RoleTemplateSpec,
};

/// A role as it is stored.
#[derive(Clone, Copy, Debug)]
pub struct Named<'a, S> {
    /// UID of the object.
    pub uid: &'a str,
    /// What it says.
    pub spec: &'a S,
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

/// Everything that grants are gathered from. What is being deleted is not in here.
#[derive(Clone, Debug, Default)]
pub struct Facts<'a> {
    /// By name.
    pub role_templates: HashMap<&'a str, Named<'a, RoleTemplateSpec>>,
    /// By name.
    pub global_roles: HashMap<&'a str, Named<'a, GlobalRoleSpec>>,
    /// Name and spec.
    pub global_bindings: Vec<(&'a str, &'a GlobalRoleBindingSpec)>,
    /// Name and spec.
    pub cluster_bindings: Vec<(&'a str, &'a ClusterRoleTemplateBindingSpec)>,
    /// Name and spec.
    pub project_bindings: Vec<(&'a str, &'a ProjectRoleTemplateBindingSpec)>,
    /// By UID.
    pub projects: HashMap<&'a str, ProjectFacts>,
    /// Those that are there.
    pub clusters: HashSet<ClusterUid>,
    /// Those who are enabled, or not; who is in neither is gone.
    pub users: HashMap<UserUid, bool>,
    /// Names of the providers that are enabled.
    pub providers: HashSet<&'a str>,
}
