//! What a simulation knows of its cluster: each object as it was last seen or written.

mod kinds;

use std::collections::{BTreeMap, BTreeSet};

use jiff::Timestamp;
use k8s_openapi::api::apps::v1::{DaemonSet, Deployment, ReplicaSet, StatefulSet};
use k8s_openapi::api::batch::v1::Job;
use k8s_openapi::api::core::v1::{Node, Pod, Service};
use k8s_openapi::api::discovery::v1::EndpointSlice;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use kube::ResourceExt;

pub use self::kinds::{Kind, Known};

/// Notes that are kept whatever has become of what they are about.
const LEAST_NOTES: usize = 64;

/// Namespace and name.
pub type Key = (String, String);

/// Everything that decisions are made from.
#[derive(Debug, Default)]
pub struct World {
    /// All nodes.
    pub nodes: Objects<Node>,
    /// All pods.
    pub pods: Objects<Pod>,
    /// All services.
    pub services: Objects<Service>,
    /// All daemon sets.
    pub daemon_sets: Objects<DaemonSet>,
    /// All deployments.
    pub deployments: Objects<Deployment>,
    /// All replica sets.
    pub replica_sets: Objects<ReplicaSet>,
    /// All stateful sets.
    pub stateful_sets: Objects<StatefulSet>,
    /// All jobs.
    pub jobs: Objects<Job>,
    /// All slices of endpoints.
    pub endpoint_slices: Objects<EndpointSlice>,
    /// When each node's Lease was last renewed.
    pub leases: BTreeMap<String, Timestamp>,
    /// Why each pending pod was last told that it fits nowhere.
    pub unschedulable: BTreeMap<String, String>,
}

impl World {
    /// Notes why a pod fits nowhere, so that it is told once.
    ///
    /// Whenever the notes have doubled, those of pods and nodes that are gone are thrown away.
    pub(crate) fn note(&mut self, pod: String, why: String) {
        if self.unschedulable.len() >= 2 * self.pods.known.len() + LEAST_NOTES {
            let pods = self.pods.iter().filter_map(ResourceExt::uid);
            let pods: BTreeSet<String> = pods.collect();
            self.unschedulable.retain(|uid, _| pods.contains(uid));
        }
        self.unschedulable.insert(pod, why);
    }

    /// Notes when a node's Lease was renewed, and forgets those of nodes that are gone.
    pub(crate) fn renewed(&mut self, node: String, at: Timestamp) {
        if self.leases.len() >= 2 * self.nodes.known.len() + LEAST_NOTES {
            let nodes = &self.nodes;
            self.leases.retain(|name, _| nodes.get("", name).is_some());
        }
        self.leases.insert(node, at);
    }

    /// Whether every kind was seen whole.
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

/// The objects of a kind. What was written here counts at once, and what the watch says of it
/// later is news only if it is newer.
#[derive(Debug)]
pub struct Objects<K> {
    known: BTreeMap<Key, K>,
    /// UIDs of objects that were deleted here, until the watch says so too.
    gone: BTreeSet<String>,
    /// While a list comes in: what it held.
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
            gone: BTreeSet::new(),
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

impl<K: Known> Objects<K> {
    /// All of them, by namespace and name.
    pub fn iter(&self) -> impl Iterator<Item = &K> {
        self.known.values()
    }

    /// One of them.
    pub fn get(&self, namespace: &str, name: &str) -> Option<&K> {
        self.known.get(&(namespace.to_owned(), name.to_owned()))
    }

    /// A list begins.
    pub fn begin(&mut self) {
        self.listed = Some(Listed::default());
    }

    /// An object of the list, or a change.
    pub fn seen(&mut self, object: K) {
        if let Some(listed) = &mut self.listed {
            listed.keys.insert(key(object.meta()));
            listed.uids.insert(object.uid().unwrap_or_default());
        }
        self.put(object);
    }

    /// The list is whole: what it did not hold is no more.
    pub fn finish(&mut self) {
        if let Some(listed) = self.listed.take() {
            self.known.retain(|key, _| listed.keys.contains(key));
            self.gone.retain(|uid| listed.uids.contains(uid));
        }
        self.complete = true;
    }

    /// The watch says that an object is gone.
    pub fn removed(&mut self, object: &K) {
        let uid = object.uid().unwrap_or_default();
        self.gone.remove(&uid);
        self.drop_if_same(&key(object.meta()), &uid);
    }

    /// An object as it was written here.
    pub fn wrote(&mut self, object: K) {
        if let Some(listed) = &mut self.listed {
            listed.keys.insert(key(object.meta()));
        }
        self.put(object);
    }

    /// An object was deleted here.
    pub fn deleted(&mut self, namespace: &str, name: &str, uid: &str) {
        self.gone.insert(uid.to_owned());
        self.drop_if_same(&(namespace.to_owned(), name.to_owned()), uid);
    }

    fn drop_if_same(&mut self, key: &Key, uid: &str) {
        if self.known.get(key).and_then(ResourceExt::uid).as_deref() == Some(uid) {
            self.known.remove(key);
        }
    }

    fn put(&mut self, mut object: K) {
        let uid = object.uid();
        if uid.as_ref().is_some_and(|uid| self.gone.contains(uid)) {
            return;
        }
        let key = key(object.meta());
        let old = self.known.get(&key);
        let newer = old
            .is_none_or(|old| old.uid() != uid || revision(old.meta()) < revision(object.meta()));
        if newer {
            // Half of the object, and nothing is decided from it.
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
    fn notes_of_what_is_gone_are_thrown_away() {
        let mut world = World::default();
        world.pods.seen(pod("stays", "stays", 1));
        world.note("stays".to_owned(), "no room".to_owned());
        world.nodes.seen(Node {
            metadata: pod("stays", "1", 1).metadata,
            ..Node::default()
        });
        world.renewed("stays".to_owned(), Timestamp::UNIX_EPOCH);
        for number in 0..10 * LEAST_NOTES {
            world.note(format!("gone-{number}"), "no room".to_owned());
            world.renewed(format!("gone-{number}"), Timestamp::UNIX_EPOCH);
        }
        assert!(world.unschedulable.len() <= LEAST_NOTES + 2);
        assert!(world.leases.len() <= LEAST_NOTES + 2);
        assert!(world.unschedulable.contains_key("stays"));
        assert!(world.leases.contains_key("stays"));
    }

    #[test]
    fn what_was_written_here_is_not_undone_by_older_news() {
        let mut pods = Objects::default();
        pods.wrote(pod("a", "1", 7));
        pods.seen(pod("a", "1", 5));
        assert_eq!(revisions(&pods), [("a".to_owned(), "7".to_owned())]);
        pods.seen(pod("a", "1", 8));
        assert_eq!(revisions(&pods), [("a".to_owned(), "8".to_owned())]);
    }

    #[test]
    fn what_was_deleted_here_does_not_come_back_but_its_name_may() {
        let mut pods = Objects::default();
        pods.seen(pod("a", "1", 5));
        pods.deleted("", "a", "1");
        pods.seen(pod("a", "1", 6));
        assert_eq!(revisions(&pods), []);
        pods.wrote(pod("a", "2", 9));
        pods.removed(&pod("a", "1", 8));
        assert_eq!(revisions(&pods), [("a".to_owned(), "9".to_owned())]);
    }

    #[test]
    fn a_list_takes_away_what_it_does_not_hold_but_not_what_was_written_meanwhile() {
        let mut pods = Objects::default();
        pods.seen(pod("a", "1", 1));
        pods.seen(pod("b", "2", 2));
        pods.begin();
        pods.seen(pod("b", "2", 2));
        pods.wrote(pod("c", "3", 3));
        pods.finish();
        let names: Vec<_> = pods.iter().map(ResourceExt::name_any).collect();
        assert_eq!(names, ["b", "c"]);
    }
}
