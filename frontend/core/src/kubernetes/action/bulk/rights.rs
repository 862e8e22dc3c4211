//! The permissions for an action on several objects.

use std::collections::{BTreeSet, HashMap};

use super::ObjectKey;
use crate::action::{Access, Action};
use crate::kind::Kind;

/// The permissions for an action. The page asks each cluster once for each namespace.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BulkRights {
    kind: Kind,
    action: Action,
    /// The answers by cluster and namespace: true if the cluster denies the permission.
    denied: HashMap<(String, Option<String>), bool>,
}

impl BulkRights {
    /// Creates the state before the cluster has answered.
    pub fn new(kind: Kind, action: Action) -> Self {
        Self {
            kind,
            action,
            denied: HashMap::new(),
        }
    }

    /// Returns the clusters and namespaces of the objects, with the permissions that the action
    /// requires there.
    pub fn required<'a>(
        &self,
        keys: impl IntoIterator<Item = &'a ObjectKey>,
    ) -> Vec<(ObjectKey, Access)> {
        let mut places = BTreeSet::new();
        let keys = keys.into_iter();
        let first = keys.filter(|key| places.insert((&key.cluster, &key.namespace)));
        first.map(|key| (key.clone(), self.access(key))).collect()
    }

    /// Records the answer for the cluster and the namespace of an object. Without an answer
    /// (`None`), the permission counts as granted, because the cluster checks the request.
    pub fn note(&mut self, key: &ObjectKey, denied: Option<bool>) {
        let place = (key.cluster.clone(), key.namespace.clone());
        self.denied.insert(place, denied.unwrap_or_default());
    }

    /// Returns the missing permission for an object.
    pub fn missing(&self, key: &ObjectKey) -> Option<Access> {
        let place = (key.cluster.clone(), key.namespace.clone());
        let denied = self.denied.get(&place).copied().unwrap_or_default();
        denied.then(|| self.access(key))
    }

    /// Returns the permission that the action requires for all objects in the object's namespace.
    pub fn access(&self, key: &ObjectKey) -> Access {
        Access::of(self.action, &key.target(self.kind)).without_name()
    }
}
