//! The index of roles and bindings: from a caller to what they may do, without reading all
//! bindings.

mod bindings;

use std::collections::HashMap;
use std::sync::Arc;

use parking_lot::RwLock;
use serde_json::Value;

use super::{Attributes, Authorizer, Caller, Rule, Target, Verdict};
use crate::status::ApiError;
pub(crate) use bindings::RoleRef;
use bindings::{Binding, Bindings};

/// The group of all four kinds.
pub(crate) const GROUP: &str = "rbac.authorization.k8s.io";

/// The four kinds of objects that the index is built from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum RbacKind {
    /// Rules, in one namespace.
    Role,
    /// Rules.
    ClusterRole,
    /// Who has a role, in one namespace.
    RoleBinding,
    /// Who has a cluster role everywhere.
    ClusterRoleBinding,
}

impl RbacKind {
    /// All of them.
    pub const ALL: [Self; 4] = [
        Self::Role,
        Self::ClusterRole,
        Self::RoleBinding,
        Self::ClusterRoleBinding,
    ];

    /// The kind of a resource such as `roles` of group `rbac.authorization.k8s.io`.
    pub fn of_resource(group: &str, resource: &str) -> Option<Self> {
        if group != GROUP {
            return None;
        }
        Self::ALL
            .into_iter()
            .find(|kind| kind.resource() == resource)
    }

    /// The plural.
    pub const fn resource(self) -> &'static str {
        match self {
            Self::Role => "roles",
            Self::ClusterRole => "clusterroles",
            Self::RoleBinding => "rolebindings",
            Self::ClusterRoleBinding => "clusterrolebindings",
        }
    }

    /// As in `kind`.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Role => "Role",
            Self::ClusterRole => "ClusterRole",
            Self::RoleBinding => "RoleBinding",
            Self::ClusterRoleBinding => "ClusterRoleBinding",
        }
    }

    /// Whether bindings rather than roles.
    pub(crate) const fn binds(self) -> bool {
        matches!(self, Self::RoleBinding | Self::ClusterRoleBinding)
    }
}

/// Role-based access control over the stored roles and bindings.
#[derive(Debug, Default)]
pub struct Rbac {
    index: RwLock<Index>,
}

#[derive(Debug, Default)]
struct Index {
    /// By namespace and name; cluster roles have no namespace.
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

    /// Shows each rule that holds for the caller, until one suffices.
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

/// A binding's role is not there.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, thiserror::Error)]
pub(crate) enum MissingRole {
    #[error("{0}.{GROUP} {1:?} not found")]
    Name(&'static str, String),
    #[error("unsupported role reference kind: {0:?}")]
    Kind(String),
}

impl MissingRole {
    /// The answer to a write of a binding; it names the binding's resource, as kube-apiserver does.
    pub(crate) fn api_error(&self, binding: RbacKind) -> ApiError {
        match self {
            Self::Name(_, name) => ApiError::not_found(GROUP, binding.resource(), name),
            Self::Kind(_) => ApiError::internal(self),
        }
    }
}

/// apimachinery's `Aggregate`: one error as it is, several in brackets, each once.
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
    /// An index of nothing, which allows only members of `system:masters`.
    pub fn new() -> Self {
        Self::default()
    }

    /// Takes in a role or binding, new or changed.
    pub fn apply(&self, kind: RbacKind, object: &Value) {
        self.index.write().apply(kind, object);
    }

    /// Forgets a role or binding; the namespace is empty for those of the cluster.
    pub fn remove(&self, kind: RbacKind, namespace: &str, name: &str) {
        self.index.write().remove(kind, namespace, name);
    }

    /// Puts these objects in the place of all that were known.
    pub fn reset<'a>(&self, objects: impl IntoIterator<Item = (RbacKind, &'a Value)>) {
        let mut index = Index::default();
        for (kind, object) in objects {
            index.apply(kind, object);
        }
        *self.index.write() = index;
    }

    /// The rules that a binding in this namespace would give.
    pub(crate) fn role_rules(
        &self,
        role: &RoleRef,
        namespace: &str,
    ) -> Result<Arc<[Rule]>, MissingRole> {
        self.index.read().rules_of(role, namespace).map(Arc::clone)
    }
}

impl Authorizer for Rbac {
    fn authorize(&self, attributes: &Attributes<'_>) -> Verdict {
        if attributes.caller.is_privileged() {
            return Verdict::allow("");
        }
        let namespace = match attributes.target {
            Target::Resource { namespace, .. } => namespace,
            Target::Path(_) => "",
        };
        let asked = attributes.target.asked();
        let mut verdict = None;
        let mut errors = Vec::new();
        self.index
            .read()
            .visit(attributes.caller, namespace, |visited| match visited {
                Ok((binding, subject, rule)) if rule.allows(attributes.verb, asked) => {
                    let source = binding.describe(subject);
                    verdict = Some(Verdict::allow(format!("RBAC: allowed by {source}")));
                    true
                }
                Ok(_) => false,
                Err(error) => {
                    errors.push(error);
                    false
                }
            });
        verdict.unwrap_or_else(|| {
            let reason = match aggregate(errors).as_str() {
                "" => String::new(),
                errors => format!("RBAC: {errors}"),
            };
            Verdict::deny(reason)
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
