//! What is to be done about the objects that are there. Pure.

use std::collections::{BTreeMap, BTreeSet};

use drover_access::roles::Rights;
use k8s_openapi::api::rbac::v1::{
    ClusterRole, ClusterRoleBinding, PolicyRule, Role, RoleBinding, RoleRef, Subject,
};
use kube::ResourceExt;

/// Namespace, empty for what is in none, and name.
pub type Key = (String, String);

/// An object whose meaning can be compared.
pub trait Comparable: ResourceExt + Clone {
    /// Whether it means the same as another of its name.
    fn means(&self, other: &Self) -> bool;

    /// Whether it can become the other; otherwise it has to go first.
    fn can_become(&self, other: &Self) -> bool;
}

/// What is to be done about objects of one kind.
#[derive(Debug)]
pub struct Difference<K> {
    /// Those that are not there.
    pub create: Vec<K>,
    /// Those that are there otherwise; with the version that was seen.
    pub replace: Vec<K>,
    /// Those that are not wanted.
    pub delete: Vec<Key>,
    /// Those that have to go before they can be made as they are wanted.
    pub make_anew: Vec<Key>,
}

/// Compares what is there with what must be.
pub fn differ<K: Comparable>(present: &[K], wanted: &[K]) -> Difference<K> {
    let there: BTreeMap<Key, &K> = present.iter().map(|object| (key(object), object)).collect();
    let mut difference = Difference {
        create: Vec::new(),
        replace: Vec::new(),
        delete: Vec::new(),
        make_anew: Vec::new(),
    };
    let mut keys = BTreeSet::new();
    for object in wanted {
        let key = key(object);
        match there.get(&key) {
            None => difference.create.push(object.clone()),
            Some(found) if found.is_as(object) => {}
            Some(found) if !found.can_become(object) => {
                difference.make_anew.push(key.clone());
                difference.create.push(object.clone());
            }
            Some(found) => {
                let mut object = object.clone();
                object.meta_mut().resource_version = found.resource_version();
                difference.replace.push(object);
            }
        }
        keys.insert(key);
    }
    let surplus = there.into_keys().filter(|key| !keys.contains(key));
    difference.delete = surplus.collect();
    difference
}

fn key(object: &impl ResourceExt) -> Key {
    (object.namespace().unwrap_or_default(), object.name_any())
}

/// A label more could gather a role's rules into another role, so labels are compared as well.
trait AsWanted: Comparable {
    fn is_as(&self, wanted: &Self) -> bool {
        self.labels() == wanted.labels() && self.means(wanted)
    }
}

impl<K: Comparable> AsWanted for K {}

impl Comparable for ClusterRole {
    fn means(&self, other: &Self) -> bool {
        self.aggregation_rule == other.aggregation_rule
            && allow_the_same(self.rules.as_deref(), other.rules.as_deref())
    }

    fn can_become(&self, _: &Self) -> bool {
        true
    }
}

impl Comparable for Role {
    fn means(&self, other: &Self) -> bool {
        allow_the_same(self.rules.as_deref(), other.rules.as_deref())
    }

    fn can_become(&self, _: &Self) -> bool {
        true
    }
}

impl Comparable for ClusterRoleBinding {
    fn means(&self, other: &Self) -> bool {
        self.can_become(other) && name_the_same(self.subjects.as_deref(), other.subjects.as_deref())
    }

    fn can_become(&self, other: &Self) -> bool {
        same_role(&self.role_ref, &other.role_ref)
    }
}

impl Comparable for RoleBinding {
    fn means(&self, other: &Self) -> bool {
        self.can_become(other) && name_the_same(self.subjects.as_deref(), other.subjects.as_deref())
    }

    fn can_become(&self, other: &Self) -> bool {
        same_role(&self.role_ref, &other.role_ref)
    }
}

fn same_role(one: &RoleRef, other: &RoleRef) -> bool {
    (&one.kind, &one.name) == (&other.kind, &other.name)
}

fn allow_the_same(one: Option<&[PolicyRule]>, other: Option<&[PolicyRule]>) -> bool {
    let rights = |rules: Option<&[PolicyRule]>| Rights::of(rules.unwrap_or_default());
    rights(one) == rights(other)
}

fn name_the_same(one: Option<&[Subject]>, other: Option<&[Subject]>) -> bool {
    let names = |subjects: Option<&[Subject]>| -> BTreeSet<(String, String, String)> {
        let subjects = subjects.unwrap_or_default().iter();
        let name = |subject: &Subject| {
            let namespace = subject.namespace.clone().unwrap_or_default();
            (subject.kind.clone(), namespace, subject.name.clone())
        };
        subjects.map(name).collect()
    };
    names(one) == names(other)
}

#[cfg(test)]
mod tests;
