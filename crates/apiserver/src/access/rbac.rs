//! The index of roles and bindings: from a caller to what they may do, without reading all
//! bindings.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use parking_lot::RwLock;
use serde_json::Value;

use super::identity::ServiceAccountName;
use super::{Attributes, Authorizer, Caller, Rule, Target, Verdict};
use crate::status::ApiError;

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

/// The bindings of one namespace, or those of the cluster under the empty one.
#[derive(Debug, Default)]
struct Bindings {
    by_name: HashMap<Arc<str>, Arc<Binding>>,
    /// Binding → position of the subject that names this user, the first if several do.
    users: HashMap<String, BTreeMap<Arc<str>, usize>>,
    groups: HashMap<String, BTreeMap<Arc<str>, usize>>,
}

#[derive(Debug)]
struct Binding {
    name: Arc<str>,
    namespace: String,
    role: RoleRef,
    subjects: Vec<BoundSubject>,
}

/// A binding's `roleRef`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct RoleRef {
    pub(crate) group: String,
    pub(crate) kind: String,
    pub(crate) name: String,
}

impl RoleRef {
    pub(crate) fn parse(binding: &Value) -> Self {
        let part = |key: &str| text(&binding["roleRef"][key]).to_owned();
        Self {
            group: part("apiGroup"),
            kind: part("kind"),
            name: part("name"),
        }
    }
}

/// Whom a subject stands for, and how reasons describe it.
#[derive(Debug, PartialEq, Eq)]
enum BoundSubject {
    User(String),
    Group(String),
    ServiceAccount(ServiceAccountName),
    /// A kind that nobody is.
    Other,
}

impl BoundSubject {
    fn parse(subject: &Value, binding_namespace: &str) -> Self {
        let name = text(&subject["name"]).to_owned();
        match text(&subject["kind"]) {
            "User" => Self::User(name),
            "Group" => Self::Group(name),
            "ServiceAccount" => {
                let namespace = match text(&subject["namespace"]) {
                    "" => binding_namespace,
                    own => own,
                };
                if namespace.is_empty() {
                    Self::Other
                } else {
                    Self::ServiceAccount(ServiceAccountName::new(namespace, name))
                }
            }
            _ => Self::Other,
        }
    }

    fn describe(&self) -> String {
        match self {
            Self::User(name) => format!("User {name:?}"),
            Self::Group(name) => format!("Group {name:?}"),
            Self::ServiceAccount(account) => {
                let shown = format!("{}/{}", account.name, account.namespace);
                format!("ServiceAccount {shown:?}")
            }
            Self::Other => String::new(),
        }
    }
}

impl Binding {
    fn parse(value: &Value) -> Self {
        let namespace = text(&value["metadata"]["namespace"]).to_owned();
        let subjects = value["subjects"]
            .as_array()
            .into_iter()
            .flatten()
            .map(|subject| BoundSubject::parse(subject, &namespace))
            .collect();
        Self {
            name: text(&value["metadata"]["name"]).into(),
            role: RoleRef::parse(value),
            namespace,
            subjects,
        }
    }

    /// `ClusterRoleBinding "x" of ClusterRole "y" to Group "z"`.
    fn describe(&self, subject: usize) -> String {
        let (kind, name) = if self.namespace.is_empty() {
            ("ClusterRoleBinding", self.name.to_string())
        } else {
            ("RoleBinding", format!("{}/{}", self.name, self.namespace))
        };
        let RoleRef {
            kind: role_kind,
            name: role,
            ..
        } = &self.role;
        let subject = self
            .subjects
            .get(subject)
            .map(BoundSubject::describe)
            .unwrap_or_default();
        format!("{kind} {name:?} of {role_kind} {role:?} to {subject}")
    }
}

impl Bindings {
    fn insert(&mut self, binding: Binding) {
        self.remove(&binding.name);
        let binding = Arc::new(binding);
        for (position, subject) in binding.subjects.iter().enumerate() {
            let by = match subject {
                BoundSubject::User(name) => self.users.entry(name.clone()),
                BoundSubject::ServiceAccount(account) => self.users.entry(account.to_string()),
                BoundSubject::Group(name) => self.groups.entry(name.clone()),
                BoundSubject::Other => continue,
            };
            by.or_default()
                .entry(Arc::clone(&binding.name))
                .or_insert(position);
        }
        self.by_name.insert(Arc::clone(&binding.name), binding);
    }

    fn remove(&mut self, name: &str) {
        let Some(binding) = self.by_name.remove(name) else {
            return;
        };
        for subject in &binding.subjects {
            match subject {
                BoundSubject::User(user) => forget(&mut self.users, user, name),
                BoundSubject::ServiceAccount(account) => {
                    forget(&mut self.users, &account.to_string(), name);
                }
                BoundSubject::Group(group) => forget(&mut self.groups, group, name),
                BoundSubject::Other => {}
            }
        }
    }

    /// The bindings that name the caller, in order of their names, each with the position of the
    /// first subject that does.
    fn of(&self, caller: &Caller) -> Vec<(&Binding, usize)> {
        let mut found: BTreeMap<&Arc<str>, usize> = BTreeMap::new();
        let groups = caller
            .groups
            .iter()
            .filter_map(|group| self.groups.get(group));
        for named in self.users.get(&caller.name).into_iter().chain(groups) {
            for (name, &position) in named {
                let first = found.entry(name).or_insert(position);
                *first = position.min(*first);
            }
        }
        found
            .into_iter()
            .filter_map(|(name, position)| Some((self.by_name.get(name)?.as_ref(), position)))
            .collect()
    }
}

fn forget(map: &mut HashMap<String, BTreeMap<Arc<str>, usize>>, key: &str, binding: &str) {
    if let Some(named) = map.get_mut(key) {
        named.remove(binding);
        if named.is_empty() {
            map.remove(key);
        }
    }
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
        let mut verdict = None;
        let mut errors = Vec::new();
        self.index
            .read()
            .visit(attributes.caller, namespace, |visited| match visited {
                Ok((binding, subject, rule)) if rule.allows(attributes) => {
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
