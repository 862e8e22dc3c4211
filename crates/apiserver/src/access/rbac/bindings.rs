//! The RBAC bindings of a namespace, indexed by subject.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use serde_json::Value;

use super::text;
use crate::access::Caller;
use crate::access::identity::ServiceAccountName;

/// The RBAC bindings of one namespace. The ClusterRoleBindings have the empty namespace.
#[derive(Debug, Default)]
pub(super) struct Bindings {
    pub(super) by_name: HashMap<Arc<str>, Arc<Binding>>,
    /// For each user, the names of the bindings with the user as a subject. The number is the
    /// position of the binding's first matching subject.
    pub(super) users: HashMap<String, BTreeMap<Arc<str>, usize>>,
    pub(super) groups: HashMap<String, BTreeMap<Arc<str>, usize>>,
}

#[derive(Debug)]
pub(super) struct Binding {
    pub(super) name: Arc<str>,
    pub(super) namespace: String,
    pub(super) role: RoleRef,
    pub(super) subjects: Vec<BoundSubject>,
}

/// The `roleRef` of a binding.
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

/// A subject of a binding. The reason of an access decision contains the subject as text.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum BoundSubject {
    User(String),
    Group(String),
    ServiceAccount(ServiceAccountName),
    /// A subject of an unknown kind. No caller matches this subject.
    Other,
}

impl BoundSubject {
    pub(super) fn parse(subject: &Value, binding_namespace: &str) -> Self {
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

    pub(super) fn describe(&self) -> String {
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
    pub(super) fn parse(value: &Value) -> Self {
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

    /// Describes the subject: `ClusterRoleBinding "x" of ClusterRole "y" to Group "z"`.
    pub(super) fn describe(&self, subject: usize) -> String {
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
    pub(super) fn insert(&mut self, binding: Binding) {
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

    pub(super) fn remove(&mut self, name: &str) {
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

    /// Returns the bindings with a subject that matches the caller, sorted by name. The number is
    /// the position of the first matching subject.
    pub(super) fn of(&self, caller: &Caller) -> Vec<(&Binding, usize)> {
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
