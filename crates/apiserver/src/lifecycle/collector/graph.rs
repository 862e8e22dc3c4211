//! The graph of owners and dependents.
//!
//! The graph contains only objects with owners, and objects whose finalizers affect dependents.
//! Most objects have no owner and no such finalizer.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};

use super::decide::{Dependent, FOREGROUND};
use super::{Item, affects_dependents};
use crate::lifecycle::ObjectPath;
use crate::lifecycle::feed::{Metadata, OwnerReference};

#[derive(Debug, Default)]
pub(super) struct Graph {
    /// The objects of the graph by UID.
    nodes: HashMap<String, Node>,
    /// The dependents by UID of their owner. The owner may be absent from `nodes`.
    dependents: HashMap<String, Dependents>,
    /// Objects that are being deleted and have a finalizer that affects dependents.
    ending: HashSet<String>,
    /// True if the initial list is complete.
    synced: bool,
    /// The number of feed restarts.
    run: u64,
}

#[derive(Debug)]
struct Node {
    path: ObjectPath,
    owners: Vec<OwnerReference>,
    /// True if the object is deleted in the foreground.
    waits: bool,
}

#[derive(Debug, Default)]
struct Dependents {
    uids: BTreeSet<String>,
    /// References to this owner that were verified in the store, with the owner's namespace.
    /// Further dependents with an equal reference need no check. Boxed, because most sets have one
    /// entry, and a set reserves memory for four.
    verified: HashSet<Box<(OwnerReference, String)>>,
    /// True if the deletion of the owner was observed.
    ownerless: bool,
}

impl Graph {
    /// Resets the graph for a restart of the feed.
    pub(super) fn clear(&mut self) {
        *self = Self {
            run: self.run + 1,
            ..Self::default()
        };
    }

    /// Marks the initial list as complete.
    pub(super) fn synced(&mut self) {
        self.synced = true;
    }

    /// Reports whether the graph contains all dependents of an object that is being deleted. The
    /// graph contains all dependents after the feed has delivered the start of the deletion.
    pub(super) fn knows_dependents_of_ending(&self, uid: &str) -> bool {
        self.synced && self.ending.contains(uid)
    }

    /// Adds or updates an object. Returns the items to check.
    pub(super) fn put(&mut self, path: &ObjectPath, metadata: &Metadata) -> Vec<Item> {
        let mut look: BTreeMap<String, ObjectPath> = BTreeMap::new();
        let uid = &metadata.uid;
        let waits = metadata.is_deleting() && metadata.has_finalizer(FOREGROUND);
        let waited = self.nodes.get(uid).is_some_and(|former| former.waits);
        if metadata.is_deleting() && affects_dependents(metadata) {
            self.ending.insert(uid.clone());
            look.insert(uid.clone(), path.clone());
            if waits && !waited {
                self.check_dependents(uid, &mut look);
            }
        }
        let owners = &metadata.owner_references;
        if !metadata.is_deleting() && self.has_unverified(path, owners) {
            look.insert(uid.clone(), path.clone());
        }
        match self.nodes.get_mut(uid) {
            Some(former) if former.owners == *owners && (waits || !owners.is_empty()) => {
                former.waits = waits;
            }
            _ => {
                if let Some(former) = self.remove_node(uid) {
                    self.unblocked(&former, owners, &mut look);
                }
                if waits || !owners.is_empty() {
                    self.insert_node(path, metadata, waits);
                }
            }
        }
        items(look)
    }

    /// Removes an object. Returns the items to check.
    pub(super) fn gone(&mut self, path: &ObjectPath, metadata: &Metadata) -> Vec<Item> {
        let mut look = BTreeMap::new();
        self.ending.remove(&metadata.uid);
        let former = self.remove_node(&metadata.uid).unwrap_or_else(|| Node {
            path: path.clone(),
            owners: metadata.owner_references.clone(),
            waits: false,
        });
        self.check_dependents(&metadata.uid, &mut look);
        if let Some(dependents) = self.dependents.get_mut(&metadata.uid) {
            dependents.verified.clear();
            dependents.ownerless = true;
        }
        for owner in &former.owners {
            self.check_waiting(&owner.uid, &mut look);
        }
        items(look)
    }

    /// Records a valid owner reference. Ignores the reference if the feed has restarted since run
    /// `run`.
    pub(super) fn verified(&mut self, run: u64, reference: &OwnerReference, namespace: &str) {
        let dependents = self.dependents.get_mut(&reference.uid);
        // The owner may have been deleted since the check; UIDs are never reused.
        if let Some(dependents) = dependents.filter(|own| run == self.run && !own.ownerless) {
            let key = coordinates(reference, namespace);
            dependents.verified.insert(Box::new(key));
        }
    }

    /// Returns the number of feed restarts, which identifies a run of the feed.
    pub(super) fn run(&self) -> u64 {
        self.run
    }

    /// Returns the dependents of an owner.
    pub(super) fn dependents(&self, owner: &str) -> Vec<Dependent> {
        let Some(dependents) = self.dependents.get(owner) else {
            return Vec::new();
        };
        dependents
            .uids
            .iter()
            .filter_map(|uid| {
                let node = self.nodes.get(uid)?;
                let blocks = node.owners.iter().any(|reference| {
                    reference.uid == owner && reference.block_owner_deletion == Some(true)
                });
                Some(Dependent {
                    item: Item {
                        path: node.path.clone(),
                        uid: uid.clone(),
                    },
                    blocks,
                    waits: node.waits,
                })
            })
            .collect()
    }

    fn has_unverified(&self, path: &ObjectPath, owners: &[OwnerReference]) -> bool {
        owners.iter().any(|reference| {
            let dependents = self.dependents.get(&reference.uid);
            // The owner is in the same namespace, or cluster-scoped.
            !dependents.is_some_and(|dependents| {
                [path.namespace.as_str(), ""].iter().any(|namespace| {
                    dependents
                        .verified
                        .contains(&coordinates(reference, namespace))
                })
            })
        })
    }

    fn insert_node(&mut self, path: &ObjectPath, metadata: &Metadata, waits: bool) {
        for reference in &metadata.owner_references {
            let dependents = self.dependents.entry(reference.uid.clone()).or_default();
            dependents.uids.insert(metadata.uid.clone());
        }
        let node = Node {
            path: path.clone(),
            owners: metadata.owner_references.clone(),
            waits,
        };
        self.nodes.insert(metadata.uid.clone(), node);
    }

    fn remove_node(&mut self, uid: &str) -> Option<Node> {
        let node = self.nodes.remove(uid)?;
        for reference in &node.owners {
            if let Some(dependents) = self.dependents.get_mut(&reference.uid) {
                dependents.uids.remove(uid);
                if dependents.uids.is_empty() {
                    self.dependents.remove(&reference.uid);
                }
            }
        }
        Some(node)
    }

    /// Adds owners to the objects to check. The deletion of these owners no longer waits for this
    /// dependent.
    fn unblocked(
        &self,
        former: &Node,
        owners: &[OwnerReference],
        look: &mut BTreeMap<String, ObjectPath>,
    ) {
        let blocks = |reference: &OwnerReference| reference.block_owner_deletion == Some(true);
        for reference in former.owners.iter().filter(|reference| blocks(reference)) {
            let still = owners
                .iter()
                .any(|own| own.uid == reference.uid && blocks(own));
            if !still {
                self.check_waiting(&reference.uid, look);
            }
        }
    }

    fn check_waiting(&self, uid: &str, look: &mut BTreeMap<String, ObjectPath>) {
        if let Some(node) = self.nodes.get(uid).filter(|node| node.waits) {
            look.insert(uid.to_owned(), node.path.clone());
        }
    }

    fn check_dependents(&self, owner: &str, look: &mut BTreeMap<String, ObjectPath>) {
        for dependent in self.dependents(owner) {
            look.insert(dependent.item.uid, dependent.item.path);
        }
    }
}

fn items(look: BTreeMap<String, ObjectPath>) -> Vec<Item> {
    look.into_iter()
        .map(|(uid, path)| Item { path, uid })
        .collect()
}

/// Returns the key of a verified reference: the reference without `blockOwnerDeletion`, and the
/// namespace.
fn coordinates(reference: &OwnerReference, namespace: &str) -> (OwnerReference, String) {
    let reference = OwnerReference {
        block_owner_deletion: None,
        ..reference.clone()
    };
    (reference, namespace.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn reference(uid: &str, block: bool) -> OwnerReference {
        OwnerReference {
            uid: uid.to_owned(),
            block_owner_deletion: block.then_some(true),
            ..OwnerReference::default()
        }
    }

    fn metadata(uid: &str, owners: &[OwnerReference]) -> Metadata {
        Metadata {
            uid: uid.to_owned(),
            owner_references: owners.to_vec(),
            ..Metadata::default()
        }
    }

    fn waiting(uid: &str) -> Metadata {
        Metadata {
            deletion_timestamp: Some("2026-01-01T00:00:00Z".to_owned()),
            finalizers: vec![FOREGROUND.to_owned()],
            ..metadata(uid, &[])
        }
    }

    fn path(name: &str) -> ObjectPath {
        ObjectPath::new("", "pods", "d", name)
    }

    fn put(graph: &mut Graph, object: &Metadata) -> Vec<String> {
        uids(graph.put(&path(&object.uid), object))
    }

    fn gone(graph: &mut Graph, object: &Metadata) -> Vec<String> {
        uids(graph.gone(&path(&object.uid), object))
    }

    fn uids(items: Vec<Item>) -> Vec<String> {
        items.into_iter().map(|item| item.uid).collect()
    }

    #[test]
    fn ownership_graph_is_complete_for_deleted_owner_after_sync_and_deletion_event() {
        let mut graph = Graph::default();
        put(&mut graph, &waiting("o"));
        assert!(
            !graph.knows_dependents_of_ending("o"),
            "the initial list is not complete"
        );
        graph.synced();
        assert!(graph.knows_dependents_of_ending("o"));
        assert!(
            !graph.knows_dependents_of_ending("p"),
            "the feed has not reported a deletion of p"
        );
        graph.clear();
        assert!(!graph.knows_dependents_of_ending("o"));
    }

    #[test]
    fn owner_is_checked_once_for_all_its_dependents() {
        let mut graph = Graph::default();
        let owner = reference("o", true);
        let first = metadata("a", std::slice::from_ref(&owner));
        assert_eq!(put(&mut graph, &first), ["a"]);
        graph.verified(graph.run(), &owner, "d");
        assert!(put(&mut graph, &first).is_empty());
        let sibling = metadata("b", &[reference("o", false)]);
        assert!(put(&mut graph, &sibling).is_empty());
        let elsewhere = OwnerReference {
            name: "other".to_owned(),
            ..owner
        };
        assert_eq!(put(&mut graph, &metadata("c", &[elsewhere])), ["c"]);
    }

    #[test]
    fn deleted_owner_triggers_checks_of_current_and_later_dependents() {
        let mut graph = Graph::default();
        let owner = reference("o", false);
        for uid in ["a", "b"] {
            put(&mut graph, &metadata(uid, std::slice::from_ref(&owner)));
        }
        graph.verified(graph.run(), &owner, "d");
        assert_eq!(gone(&mut graph, &metadata("o", &[])), ["a", "b"]);
        graph.verified(graph.run(), &owner, "d");
        assert_eq!(put(&mut graph, &metadata("c", &[owner])), ["c"]);
    }

    #[test]
    fn owner_checks_started_before_a_feed_restart_are_ignored() {
        let mut graph = Graph::default();
        let owner = reference("o", false);
        let run = graph.run();
        graph.clear();
        let object = metadata("a", std::slice::from_ref(&owner));
        put(&mut graph, &object);
        graph.verified(run, &owner, "d");
        assert_eq!(put(&mut graph, &object), ["a"]);
    }

    #[test]
    fn owner_in_foreground_deletion_is_checked_when_a_dependent_is_deleted_or_unblocked() {
        let mut graph = Graph::default();
        for uid in ["a", "b"] {
            put(&mut graph, &metadata(uid, &[reference("o", true)]));
        }
        assert_eq!(put(&mut graph, &waiting("o")), ["a", "b", "o"]);
        assert!(gone(&mut graph, &metadata("a", &[])).contains(&"o".to_owned()));
        assert_eq!(graph.dependents("o").len(), 1);
        let unblocked = metadata("b", &[reference("o", false)]);
        assert!(put(&mut graph, &unblocked).contains(&"o".to_owned()));
    }

    #[test]
    fn ownership_graph_excludes_objects_without_owners() {
        let mut graph = Graph::default();
        put(&mut graph, &metadata("a", &[]));
        put(&mut graph, &metadata("b", &[reference("o", true)]));
        put(&mut graph, &metadata("b", &[]));
        assert!(graph.nodes.is_empty() && graph.dependents.is_empty());
    }
}
