//! The in-memory state of a simulated cluster: the most recent version of each object that the
//! simulation has observed or written.

mod kinds;

use std::collections::{BTreeMap, BTreeSet};

use jiff::Timestamp;
use k8s_openapi::api::apps::v1::{DaemonSet, Deployment, ReplicaSet, StatefulSet};
use k8s_openapi::api::batch::v1::Job;
use k8s_openapi::api::core::v1::{Node, Pod, Service};
use k8s_openapi::api::discovery::v1::EndpointSlice;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use kube::ResourceExt;

pub use kinds::{Kind, SimulatedKind};

/// Minimum number of records at which the simulation removes records of deleted objects.
const MIN_RECORDS: usize = 64;

/// Key of an object: namespace and name.
pub type Key = (String, String);

/// The in-memory state of a cluster. Decisions are computed from this state.
#[derive(Debug, Default)]
pub struct World {
    /// The Node objects of the cluster.
    pub nodes: Objects<Node>,
    /// The Pod objects of the cluster.
    pub pods: Objects<Pod>,
    /// The Service objects of the cluster.
    pub services: Objects<Service>,
    /// The DaemonSet objects of the cluster.
    pub daemon_sets: Objects<DaemonSet>,
    /// The Deployment objects of the cluster.
    pub deployments: Objects<Deployment>,
    /// The ReplicaSet objects of the cluster.
    pub replica_sets: Objects<ReplicaSet>,
    /// The StatefulSet objects of the cluster.
    pub stateful_sets: Objects<StatefulSet>,
    /// The Job objects of the cluster.
    pub jobs: Objects<Job>,
    /// The EndpointSlice objects of the cluster.
    pub endpoint_slices: Objects<EndpointSlice>,
    /// Time of the last renewal of each node's Lease.
    pub leases: BTreeMap<String, Timestamp>,
    /// The last reported reason of each unschedulable pod, by the UID of the pod.
    pub unschedulable: BTreeMap<String, String>,
}

impl World {
    /// Records the reason why a pod is unschedulable, so that only one event is created for the
    /// reason. Removes the records of deleted pods if there are at least twice as many records as
    /// pods.
    pub(crate) fn record_unschedulable(&mut self, pod: String, reason: String) {
        if self.unschedulable.len() >= 2 * self.pods.known.len() + MIN_RECORDS {
            let pods = self.pods.iter().filter_map(ResourceExt::uid);
            let pods: BTreeSet<String> = pods.collect();
            self.unschedulable.retain(|uid, _| pods.contains(uid));
        }
        self.unschedulable.insert(pod, reason);
    }

    /// Records the renewal of a node's Lease, and removes records of deleted nodes.
    pub(crate) fn record_lease(&mut self, node: String, at: Timestamp) {
        if self.leases.len() >= 2 * self.nodes.known.len() + MIN_RECORDS {
            let nodes = &self.nodes;
            self.leases.retain(|name, _| nodes.get("", name).is_some());
        }
        self.leases.insert(node, at);
    }

    /// Returns true if the simulation has received a complete list of every kind.
    pub fn is_complete(&self) -> bool {
        self.nodes.complete
            && self.pods.complete
            && self.services.complete
            && self.daemon_sets.complete
            && self.deployments.complete
            && self.replica_sets.complete
            && self.stateful_sets.complete
            && self.jobs.complete
            && self.endpoint_slices.complete
    }
}

/// The objects of a kind.
///
/// The simulation stores its own writes immediately. An observed object replaces a stored object
/// only if the observed object is newer.
#[derive(Debug)]
pub struct Objects<K> {
    known: BTreeMap<Key, K>,
    /// UIDs of objects that the simulation deleted and whose delete event has not arrived.
    deleted_uids: BTreeSet<String>,
    /// The received objects of an incomplete list.
    listed: Option<Listed>,
    complete: bool,
}

#[derive(Debug, Default)]
struct Listed {
    keys: BTreeSet<Key>,
    uids: BTreeSet<String>,
}

impl<K> Default for Objects<K> {
    fn default() -> Self {
        Self {
            known: BTreeMap::new(),
            deleted_uids: BTreeSet::new(),
            listed: None,
            complete: false,
        }
    }
}

fn key(meta: &ObjectMeta) -> Key {
    let text = |part: &Option<String>| part.clone().unwrap_or_default();
    (text(&meta.namespace), text(&meta.name))
}

fn revision(meta: &ObjectMeta) -> u64 {
    let text = meta.resource_version.as_deref().unwrap_or_default();
    text.parse().unwrap_or(0)
}

impl<K: SimulatedKind> Objects<K> {
    /// Iterates over the objects, ordered by namespace and name.
    pub fn iter(&self) -> impl Iterator<Item = &K> {
        self.known.values()
    }

    /// Returns the object with this namespace and name.
    pub fn get(&self, namespace: &str, name: &str) -> Option<&K> {
        self.known.get(&(namespace.to_owned(), name.to_owned()))
    }

    /// Prepares for the objects of a new list.
    pub fn begin_list(&mut self) {
        self.listed = Some(Listed::default());
    }

    /// Stores an object of a list or watch event.
    pub fn observe(&mut self, object: K) {
        if let Some(listed) = &mut self.listed {
            listed.keys.insert(key(object.meta()));
            listed.uids.insert(object.uid().unwrap_or_default());
        }
        self.put(object);
    }

    /// Finishes a list. Removes objects that the list does not contain.
    pub fn finish_list(&mut self) {
        if let Some(listed) = self.listed.take() {
            self.known.retain(|key, _| listed.keys.contains(key));
            self.deleted_uids.retain(|uid| listed.uids.contains(uid));
        }
        self.complete = true;
    }

    /// Removes an object after a delete event of the watch.
    pub fn observe_deleted(&mut self, object: &K) {
        let uid = object.uid().unwrap_or_default();
        self.deleted_uids.remove(&uid);
        self.drop_if_same(&key(object.meta()), &uid);
    }

    /// Stores an object that the simulation wrote.
    pub fn record_written(&mut self, object: K) {
        if let Some(listed) = &mut self.listed {
            listed.keys.insert(key(object.meta()));
        }
        self.put(object);
    }

    /// Removes an object that the simulation deleted.
    pub fn record_deleted(&mut self, namespace: &str, name: &str, uid: &str) {
        self.deleted_uids.insert(uid.to_owned());
        self.drop_if_same(&(namespace.to_owned(), name.to_owned()), uid);
    }

    fn drop_if_same(&mut self, key: &Key, uid: &str) {
        if self.known.get(key).and_then(ResourceExt::uid).as_deref() == Some(uid) {
            self.known.remove(key);
        }
    }

    fn put(&mut self, mut object: K) {
        let uid = object.uid();
        if uid
            .as_ref()
            .is_some_and(|uid| self.deleted_uids.contains(uid))
        {
            return;
        }
        let key = key(object.meta());
        let old = self.known.get(&key);
        let newer = old
            .is_none_or(|old| old.uid() != uid || revision(old.meta()) < revision(object.meta()));
        if newer {
            // Managed fields are half of an object, and decisions do not use them. Remove them.
            object.meta_mut().managed_fields = None;
            self.known.insert(key, object);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pod(name: &str, uid: &str, revision: u64) -> Pod {
        let mut pod = Pod::default();
        pod.metadata.name = Some(name.to_owned());
        pod.metadata.uid = Some(uid.to_owned());
        pod.metadata.resource_version = Some(revision.to_string());
        pod
    }

    fn revisions(pods: &Objects<Pod>) -> Vec<(String, String)> {
        pods.iter()
            .map(|pod| (pod.name_any(), pod.resource_version().unwrap_or_default()))
            .collect()
    }

    #[test]
    fn simulation_records_of_deleted_objects_are_removed() {
        let mut world = World::default();
        world.pods.observe(pod("stays", "stays", 1));
        world.record_unschedulable("stays".to_owned(), "no room".to_owned());
        world.nodes.observe(Node {
            metadata: pod("stays", "1", 1).metadata,
            ..Node::default()
        });
        world.record_lease("stays".to_owned(), Timestamp::UNIX_EPOCH);
        for number in 0..10 * MIN_RECORDS {
            world.record_unschedulable(format!("gone-{number}"), "no room".to_owned());
            world.record_lease(format!("gone-{number}"), Timestamp::UNIX_EPOCH);
        }
        assert!(world.unschedulable.len() <= MIN_RECORDS + 2);
        assert!(world.leases.len() <= MIN_RECORDS + 2);
        assert!(world.unschedulable.contains_key("stays"));
        assert!(world.leases.contains_key("stays"));
    }

    #[test]
    fn older_watch_event_does_not_replace_the_result_of_a_newer_write() {
        let mut pods = Objects::default();
        pods.record_written(pod("a", "1", 7));
        pods.observe(pod("a", "1", 5));
        assert_eq!(revisions(&pods), [("a".to_owned(), "7".to_owned())]);
        pods.observe(pod("a", "1", 8));
        assert_eq!(revisions(&pods), [("a".to_owned(), "8".to_owned())]);
    }

    #[test]
    fn late_event_does_not_restore_a_deleted_object_or_delete_its_replacement() {
        let mut pods = Objects::default();
        pods.observe(pod("a", "1", 5));
        pods.record_deleted("", "a", "1");
        pods.observe(pod("a", "1", 6));
        assert_eq!(revisions(&pods), []);
        pods.record_written(pod("a", "2", 9));
        pods.observe_deleted(&pod("a", "1", 8));
        assert_eq!(revisions(&pods), [("a".to_owned(), "9".to_owned())]);
    }

    #[test]
    fn completed_list_removes_missing_objects_and_retains_concurrent_writes() {
        let mut pods = Objects::default();
        pods.observe(pod("a", "1", 1));
        pods.observe(pod("b", "2", 2));
        pods.begin_list();
        pods.observe(pod("b", "2", 2));
        pods.record_written(pod("c", "3", 3));
        pods.finish_list();
        let names: Vec<_> = pods.iter().map(ResourceExt::name_any).collect();
        assert_eq!(names, ["b", "c"]);
    }
}
