//! RBAC with an index of roles and bindings by subject. A check therefore reads only the bindings
//! of the caller.

mod bindings;

use std::collections::HashMap;
use std::sync::Arc;

use parking_lot::RwLock;
use serde_json::Value;

use super::{Attributes, AuthorizationDecision, Authorizer, Caller, Rule, Target};
use crate::status::ApiError;
pub(crate) use bindings::RoleRef;
use bindings::{Binding, Bindings};

/// The API group of all RBAC kinds.
pub(crate) const GROUP: &str = "rbac.authorization.k8s.io";

/// The kinds that the index contains.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum RbacKind {
    /// A Role, with rules for one namespace.
    Role,
    /// A ClusterRole, with rules that ClusterRoleBindings and RoleBindings can grant.
    ClusterRole,
    /// A RoleBinding, which binds subjects to a role in one namespace.
    RoleBinding,
    /// A ClusterRoleBinding, which binds subjects to a ClusterRole in the whole cluster.
    ClusterRoleBinding,
}

impl RbacKind {
    /// All RBAC kinds, in the order of declaration.
    pub const ALL: [Self; 4] = [
        Self::Role,
        Self::ClusterRole,
        Self::RoleBinding,
        Self::ClusterRoleBinding,
    ];

    /// Returns the kind of a resource such as `roles`, or `None` for other groups and resources.
    pub fn of_resource(group: &str, resource: &str) -> Option<Self> {
        if group != GROUP {
            return None;
        }
        Self::ALL
            .into_iter()
            .find(|kind| kind.resource() == resource)
    }

    /// Returns the plural name of the resource, such as `roles`.
    pub const fn resource(self) -> &'static str {
        match self {
            Self::Role => "roles",
            Self::ClusterRole => "clusterroles",
            Self::RoleBinding => "rolebindings",
            Self::ClusterRoleBinding => "clusterrolebindings",
        }
    }

    /// Returns the name of the kind, such as `Role`.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Role => "Role",
            Self::ClusterRole => "ClusterRole",
            Self::RoleBinding => "RoleBinding",
            Self::ClusterRoleBinding => "ClusterRoleBinding",
        }
    }

    /// Reports whether the kind is RoleBinding or ClusterRoleBinding.
    pub(crate) const fn binds(self) -> bool {
        matches!(self, Self::RoleBinding | Self::ClusterRoleBinding)
    }
}

/// The authorizer that uses the stored roles and bindings.
#[derive(Debug, Default)]
pub struct Rbac {
    index: RwLock<Index>,
}

#[derive(Debug, Default)]
struct Index {
    /// Rules of the stored roles, by namespace and name. The namespace is empty for ClusterRoles.
    roles: HashMap<String, HashMap<String, Arc<[Rule]>>>,
    bindings: HashMap<String, Bindings>,
}

impl Index {
    fn apply(&mut self, kind: RbacKind, value: &Value) {
        if kind.binds() {
            let binding = Binding::parse(value);
            self.bindings
                .entry(binding.namespace.clone())
                .or_default()
                .insert(binding);
            return;
        }
        let metadata = &value["metadata"];
        self.roles
            .entry(text(&metadata["namespace"]).to_owned())
            .or_default()
            .insert(
                text(&metadata["name"]).to_owned(),
                Rule::parse_all(value).into(),
            );
    }

    fn remove(&mut self, kind: RbacKind, namespace: &str, name: &str) {
        if kind.binds() {
            if let Some(bindings) = self.bindings.get_mut(namespace) {
                bindings.remove(name);
                if bindings.by_name.is_empty() {
                    self.bindings.remove(namespace);
                }
            }
        } else if let Some(roles) = self.roles.get_mut(namespace) {
            roles.remove(name);
            if roles.is_empty() {
                self.roles.remove(namespace);
            }
        }
    }

    fn rules_of(&self, role: &RoleRef, namespace: &str) -> Result<&Arc<[Rule]>, MissingRole> {
        let (namespace, plural) = match role.kind.as_str() {
            "Role" => (namespace, "role"),
            "ClusterRole" => ("", "clusterrole"),
            _ => return Err(MissingRole::Kind(role.kind.clone())),
        };
        self.roles
            .get(namespace)
            .and_then(|roles| roles.get(&role.name))
            .ok_or_else(|| MissingRole::Name(plural, role.name.clone()))
    }

    /// Calls `enough` for each rule that applies to the caller. Stops when `enough` returns `true`.
    fn visit<'a>(
        &'a self,
        caller: &Caller,
        namespace: &str,
        mut enough: impl FnMut(Visited<'a>) -> bool,
    ) {
        let everywhere = self.bindings.get("");
        let here = (!namespace.is_empty())
            .then(|| self.bindings.get(namespace))
            .flatten();
        for bindings in everywhere.into_iter().chain(here) {
            for (binding, subject) in bindings.of(caller) {
                let rules = match self.rules_of(&binding.role, &binding.namespace) {
                    Ok(rules) => rules,
                    Err(missing) => {
                        enough(Err(missing));
                        continue;
                    }
                };
                for rule in rules.iter() {
                    if enough(Ok((binding, subject, rule))) {
                        return;
                    }
                }
            }
        }
    }
}

type Visited<'a> = Result<(&'a Binding, usize, &'a Rule), MissingRole>;

/// The role to which a binding refers does not exist, or the reference is invalid.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, thiserror::Error)]
pub(crate) enum MissingRole {
    #[error("{resource}.{GROUP} {name:?} not found", resource = .0, name = .1)]
    Name(&'static str, String),
    #[error("unsupported role reference kind: {kind:?}", kind = .0)]
    Kind(String),
}

impl MissingRole {
    /// Converts the error to the response to a write. As in kube-apiserver, the response names the
    /// resource of the binding, not the resource of the role.
    pub(crate) fn api_error(&self, binding: RbacKind) -> ApiError {
        match self {
            Self::Name(_, name) => ApiError::not_found(GROUP, binding.resource(), name),
            Self::Kind(_) => ApiError::internal(self),
        }
    }
}

/// Joins errors as apimachinery's `Aggregate` does. Removes duplicates. Puts brackets around
/// several errors, but not around one error.
fn aggregate(mut errors: Vec<MissingRole>) -> String {
    let mut seen = Vec::with_capacity(errors.len());
    errors.retain(|error| {
        let new = !seen.contains(error);
        if new {
            seen.push(error.clone());
        }
        new
    });
    match errors.as_slice() {
        [] => String::new(),
        [one] => one.to_string(),
        many => {
            let texts: Vec<String> = many.iter().map(ToString::to_string).collect();
            format!("[{}]", texts.join(", "))
        }
    }
}

impl Rbac {
    /// Creates an empty index, which allows only members of `system:masters`.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds or replaces a role or binding.
    pub fn apply(&self, kind: RbacKind, object: &Value) {
        self.index.write().apply(kind, object);
    }

    /// Removes a role or binding. `namespace` is empty for cluster-scoped kinds.
    pub fn remove(&self, kind: RbacKind, namespace: &str, name: &str) {
        self.index.write().remove(kind, namespace, name);
    }

    /// Replaces all roles and bindings in the index.
    pub fn reset<'a>(&self, objects: impl IntoIterator<Item = (RbacKind, &'a Value)>) {
        let mut index = Index::default();
        for (kind, object) in objects {
            index.apply(kind, object);
        }
        *self.index.write() = index;
    }

    /// Returns the rules that a binding of this role in this namespace grants.
    pub(crate) fn role_rules(
        &self,
        role: &RoleRef,
        namespace: &str,
    ) -> Result<Arc<[Rule]>, MissingRole> {
        self.index.read().rules_of(role, namespace).map(Arc::clone)
    }
}

impl Authorizer for Rbac {
    fn authorize(&self, attributes: &Attributes<'_>) -> AuthorizationDecision {
        if attributes.caller.is_privileged() {
            return AuthorizationDecision::allow("");
        }
        let namespace = match attributes.target {
            Target::Resource { namespace, .. } => namespace,
            Target::Path(_) => "",
        };
        let requested = attributes.target.rule_target();
        let mut decision = None;
        let mut errors = Vec::new();
        self.index
            .read()
            .visit(attributes.caller, namespace, |visited| match visited {
                Ok((binding, subject, rule)) if rule.allows(attributes.verb, requested) => {
                    let source = binding.describe(subject);
                    decision = Some(AuthorizationDecision::allow(format!(
                        "RBAC: allowed by {source}"
                    )));
                    true
                }
                Ok(_) => false,
                Err(error) => {
                    errors.push(error);
                    false
                }
            });
        decision.unwrap_or_else(|| {
            let reason = match aggregate(errors).as_str() {
                "" => String::new(),
                errors => format!("RBAC: {errors}"),
            };
            AuthorizationDecision::deny(reason)
        })
    }

    fn rules_for(&self, caller: &Caller, namespace: &str) -> (Vec<Rule>, String) {
        let mut rules = Vec::new();
        let mut errors = Vec::new();
        self.index.read().visit(caller, namespace, |visited| {
            match visited {
                Ok((_, _, rule)) => rules.push(rule.clone()),
                Err(error) => errors.push(error),
            }
            false
        });
        (rules, aggregate(errors))
    }
}

fn text(value: &Value) -> &str {
    value.as_str().unwrap_or_default()
}
