//! The roles that are there from the start.
//!
//! The server makes them, keeps them as they are here, and nobody else changes or deletes them:
//! whoever wants another makes it, and may inherit from these.

mod cluster;
mod global;
mod project;

use drover_api::group::GROUP;
use drover_api::kinds::{GlobalRoleSpec, RoleTemplateSpec};
use k8s_openapi::api::rbac::v1::PolicyRule;

/// Label of the roles that are there from the start; its value is `true`.
pub const BUILT_IN_LABEL: &str = "management.drover.dev/built-in";

/// A role that is there from the start.
#[derive(Clone, Debug, PartialEq)]
pub struct BuiltIn<S> {
    /// The object's name.
    pub name: &'static str,
    /// What it says.
    pub spec: S,
}

/// Those for clusters, and those for projects.
pub fn built_in_role_templates() -> Vec<BuiltIn<RoleTemplateSpec>> {
    let mut all = cluster::all();
    all.extend(project::all());
    all
}

/// Those for the hub and all clusters.
pub fn built_in_global_roles() -> Vec<BuiltIn<GlobalRoleSpec>> {
    global::all()
}

/// Whether a role of the start is called so.
pub fn is_built_in(name: &str) -> bool {
    let templates = built_in_role_templates();
    let globals = built_in_global_roles();
    let names = templates.iter().map(|role| role.name);
    let mut names = names.chain(globals.iter().map(|role| role.name));
    names.any(|built_in| built_in == name)
}

const VIEW: &[&str] = &["get", "list", "watch"];
const ALL: &[&str] = &["*"];
/// What changes objects, reading included.
const MANAGE: &[&str] = &[
    "get",
    "list",
    "watch",
    "create",
    "update",
    "patch",
    "delete",
    "deletecollection",
];

fn rule(group: &str, resources: &[&str], verbs: &[&str]) -> PolicyRule {
    let owned = |list: &[&str]| list.iter().map(|&text| text.to_owned()).collect::<Vec<_>>();
    PolicyRule {
        api_groups: Some(vec![group.to_owned()]),
        resources: Some(owned(resources)),
        verbs: owned(verbs),
        ..Default::default()
    }
}

/// About Drover's own objects on the hub: of the cluster or the project, or of all.
fn drover(resources: &[&str], verbs: &[&str]) -> PolicyRule {
    rule(GROUP, resources, verbs)
}

/// Everything there is.
fn everything() -> Vec<PolicyRule> {
    let paths = PolicyRule {
        non_resource_urls: Some(vec!["*".to_owned()]),
        verbs: vec!["*".to_owned()],
        ..Default::default()
    };
    vec![rule("*", &["*"], ALL), paths]
}
