//! What is to be done about the objects that are there. Pure.

use std::collections::{BTreeMap, BTreeSet};

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
    /// Those that are there otherwise; without a version, so that whoever writes them all the time does
    /// not keep them from being put right.
    pub replace: Vec<K>,
    /// Those that are not wanted, as they were seen.
    pub delete: Vec<K>,
    /// Those that have to go before they can be made as they are wanted, as they were seen.
    pub make_anew: Vec<K>,
}

impl<K> Default for Difference<K> {
    fn default() -> Self {
        Self {
            create: Vec::new(),
            replace: Vec::new(),
            delete: Vec::new(),
            make_anew: Vec::new(),
        }
    }
}

impl<K> Difference<K> {
    /// Leaves out what is to be done in these namespaces.
    pub fn leave_out(&mut self, namespaces: &BTreeSet<&str>)
    where
        K: ResourceExt,
    {
        let lists = [
            &mut self.create,
            &mut self.replace,
            &mut self.delete,
            &mut self.make_anew,
        ];
        for objects in lists {
            objects.retain(|object| {
                let namespace = object.meta().namespace.as_deref();
                !namespaces.contains(namespace.unwrap_or_default())
            });
        }
    }

    /// Takes what is to be done about others in.
    pub fn extend(&mut self, others: Self) {
        self.create.extend(others.create);
        self.replace.extend(others.replace);
        self.delete.extend(others.delete);
        self.make_anew.extend(others.make_anew);
    }
}

/// Compares what is there with what must be.
pub fn differ<K: Comparable>(present: &[K], wanted: &[K]) -> Difference<K> {
    let there: BTreeMap<Key, &K> = present.iter().map(|object| (key(object), object)).collect();
    let mut difference = Difference::default();
    let mut keys = BTreeSet::new();
    for object in wanted {
        let key = key(object);
        match there.get(&key) {
            None => difference.create.push(object.clone()),
            Some(found) if found.is_as(object) => {}
            Some(found) if !found.can_become(object) => {
                difference.make_anew.push((*found).clone());
                difference.create.push(object.clone());
            }
            Some(_) => difference.replace.push(object.clone()),
        }
        keys.insert(key);
    }
    let surplus = there.into_iter().filter(|(key, _)| !keys.contains(key));
    difference.delete = surplus.map(|(_, object)| object.clone()).collect();
    difference
}

/// What tells an object from others of its kind.
pub fn key(object: &impl ResourceExt) -> Key {
    (object.namespace().unwrap_or_default(), object.name_any())
}

/// A label more could gather a role's rules into another role, and a finalizer or an owner decides when
/// it goes, so those are compared as well.
trait AsWanted: Comparable {
    fn is_as(&self, wanted: &Self) -> bool {
        let (own, other) = (self.meta(), wanted.meta());
        own.deletion_timestamp.is_none()
            && self.labels() == wanted.labels()
            && self.finalizers() == wanted.finalizers()
            && own.owner_references.as_deref().unwrap_or_default()
                == other.owner_references.as_deref().unwrap_or_default()
            && self.means(wanted)
    }
}

impl<K: Comparable> AsWanted for K {}
