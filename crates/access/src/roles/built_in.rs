//! The built-in roles.
//!
//! The server creates the built-in roles when it starts, and restores changed roles. Users cannot
//! change or delete built-in roles. Users can create roles that inherit built-in roles.

mod cluster;
mod global;
mod project;

use drover_api::group::GROUP;
use drover_api::kinds::{GlobalRoleSpec, RoleTemplateSpec};
use k8s_openapi::api::rbac::v1::PolicyRule;

/// Label of built-in roles, with the value `true`.
pub const BUILT_IN_LABEL: &str = "management.drover.dev/built-in";

/// A built-in role: its name and its spec.
#[derive(Clone, Debug, PartialEq)]
pub struct BuiltIn<S> {
    /// Name of the role.
    pub name: &'static str,
    /// Spec of the role.
    pub spec: S,
}

/// Returns the built-in roles for clusters and projects.
pub fn built_in_role_templates() -> Vec<BuiltIn<RoleTemplateSpec>> {
    let mut all = cluster::all();
    all.extend(project::all());
    all
}

/// Returns the built-in roles for the hub and all clusters.
pub fn built_in_global_roles() -> Vec<BuiltIn<GlobalRoleSpec>> {
    global::all()
}

/// Reports whether a name is the name of a built-in role.
pub fn is_built_in(name: &str) -> bool {
    let templates = built_in_role_templates();
    let globals = built_in_global_roles();
    let names = templates.iter().map(|role| role.name);
    let mut names = names.chain(globals.iter().map(|role| role.name));
    names.any(|built_in| built_in == name)
}

const VIEW: &[&str] = &["get", "list", "watch"];
const ALL: &[&str] = &["*"];
/// All verbs that read and change objects.
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

/// Returns a rule about Drover's kinds. The rule applies on the hub, to objects in the scope of the
/// role.
fn drover(resources: &[&str], verbs: &[&str]) -> PolicyRule {
    rule(GROUP, resources, verbs)
}

/// Returns rules that grant all permissions.
fn everything() -> Vec<PolicyRule> {
    let paths = PolicyRule {
        non_resource_urls: Some(vec!["*".to_owned()]),
        verbs: vec!["*".to_owned()],
        ..Default::default()
    };
    vec![rule("*", &["*"], ALL), paths]
}
