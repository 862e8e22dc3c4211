//! Compares the existing objects of one kind with the desired objects.

use std::collections::{BTreeMap, BTreeSet};

use kube::ResourceExt;

use crate::compare::Comparable;

/// Namespace and name of an object. The namespace is empty for cluster-scoped objects.
pub type Key = (String, String);

/// The changes that turn the existing objects of one kind into the desired objects.
#[derive(Clone, Debug)]
pub struct Diff<K> {
    /// Desired objects that do not exist.
    pub create: Vec<K>,
    /// Desired objects that exist with different content. The objects have no resource version, so
    /// that continuous writes by other clients cannot prevent the replacement.
    pub replace: Vec<K>,
    /// Existing objects that are not desired.
    pub prune: Vec<K>,
    /// Existing objects that must be deleted before the desired objects of the same name can be
    /// created. The desired objects are in `create`.
    pub recreate: Vec<K>,
}

impl<K> Default for Diff<K> {
    fn default() -> Self {
        Self {
            create: Vec::new(),
            replace: Vec::new(),
            prune: Vec::new(),
            recreate: Vec::new(),
        }
    }
}

impl<K> Diff<K> {
    /// Returns true if the diff has no change.
    pub fn is_empty(&self) -> bool {
        self.lists().iter().all(|objects| objects.is_empty())
    }

    /// Removes from the diff all changes of objects in the given namespaces.
    pub fn exclude_namespaces(&mut self, namespaces: &BTreeSet<&str>)
    where
        K: ResourceExt,
    {
        let lists = [
            &mut self.create,
            &mut self.replace,
            &mut self.prune,
            &mut self.recreate,
        ];
        for objects in lists {
            objects.retain(|object| {
                let namespace = object.meta().namespace.as_deref();
                !namespaces.contains(namespace.unwrap_or_default())
            });
        }
    }

    /// Adds the changes of the diff `other` to this diff.
    pub fn extend(&mut self, other: Self) {
        self.create.extend(other.create);
        self.replace.extend(other.replace);
        self.prune.extend(other.prune);
        self.recreate.extend(other.recreate);
    }

    const fn lists(&self) -> [&Vec<K>; 4] {
        [&self.create, &self.replace, &self.prune, &self.recreate]
    }
}

/// Compares the existing objects with the desired objects.
pub fn diff<K: Comparable>(existing: &[K], desired: &[K]) -> Diff<K> {
    let by_key: BTreeMap<Key, &K> = existing
        .iter()
        .map(|object| (key(object), object))
        .collect();
    let mut diff = Diff::default();
    let mut wanted_keys = BTreeSet::new();
    for object in desired {
        let key = key(object);
        match by_key.get(&key) {
            None => diff.create.push(object.clone()),
            Some(found) if is_current(*found, object) => {}
            Some(found) if !found.can_become(object) => {
                diff.recreate.push((*found).clone());
                diff.create.push(object.clone());
            }
            Some(_) => diff.replace.push(object.clone()),
        }
        wanted_keys.insert(key);
    }
    let unwanted = by_key.into_iter();
    let unwanted = unwanted.filter(|(key, _)| !wanted_keys.contains(key));
    diff.prune = unwanted.map(|(_, object)| object.clone()).collect();
    diff
}

/// Returns the key of an object, which is unique within its kind.
pub fn key(object: &impl ResourceExt) -> Key {
    (object.namespace().unwrap_or_default(), object.name_any())
}

/// Reports whether an existing object needs no change. The comparison includes labels, finalizers
/// and owners. A label can aggregate a role's rules into an aggregated role, and a finalizer or an
/// owner determines when the object is deleted.
fn is_current<K: Comparable>(existing: &K, desired: &K) -> bool {
    let (meta, wanted_meta) = (existing.meta(), desired.meta());
    meta.deletion_timestamp.is_none()
        && existing.labels() == desired.labels()
        && existing.finalizers() == desired.finalizers()
        && meta.owner_references.as_deref().unwrap_or_default()
            == wanted_meta.owner_references.as_deref().unwrap_or_default()
        && existing.same_content(desired)
}

#[cfg(test)]
mod tests;
