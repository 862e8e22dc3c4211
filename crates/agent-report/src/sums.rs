//! Running sums over nodes and pods. For each object, the agent stores only the values that are
//! part of the sums.

use std::collections::HashMap;

use drover_api::kinds::{NodeCount, NodeFacts, PodCount};
use drover_api::report::{MAX_NOT_READY, NodesReport};
use kube::Resource;
use kube::runtime::watcher::Event;

use crate::resource_list::ResourceList;

/// The values of one node that the report needs.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ObservedNode {
    /// The facts about the node, without the report of its node agent.
    pub facts: NodeFacts,
    /// True if the node's Ready condition is true.
    pub ready: bool,
    /// Capacity of the node, from `status.capacity`.
    pub capacity: ResourceList,
    /// Allocatable resources of the node, from `status.allocatable`.
    pub allocatable: ResourceList,
}

/// The values of one unfinished pod that the report needs.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PodFacts {
    /// Resources that the pod reserves on its node. `None` if the pod has no node.
    pub requests: Option<ResourceList>,
    /// True if a container of the pod crashes or cannot start.
    pub failing: bool,
    /// True if the scheduler found no node for the pod.
    pub unschedulable: bool,
}

/// One value per object. The events of a list and watch update the values. The key is the object's
/// UID.
#[derive(Debug)]
pub struct Tally<T> {
    now: HashMap<String, T>,
    /// The objects of a list in progress. When the list is complete, these objects replace `now`.
    listed: Option<HashMap<String, T>>,
    complete: bool,
}

impl<T> Default for Tally<T> {
    fn default() -> Self {
        Self {
            now: HashMap::new(),
            listed: None,
            complete: false,
        }
    }
}

impl<T> Tally<T> {
    /// Applies an event of a list and watch. `value` returns `None` for an object without a value.
    pub fn apply<K: Resource>(&mut self, event: Event<K>, value: impl FnOnce(K) -> Option<T>) {
        let uid = |object: &K| object.meta().uid.clone().unwrap_or_default();
        match event {
            Event::Init => self.begin(),
            Event::InitApply(object) => {
                let uid = uid(&object);
                if let Some(value) = value(object) {
                    self.listed(uid, value);
                }
            }
            Event::InitDone => self.finish(),
            Event::Apply(object) => self.put(uid(&object), value(object)),
            Event::Delete(object) => self.put(uid(&object), None),
        }
    }

    /// Starts a new list. Keeps the current values until the new list is complete.
    pub fn begin(&mut self) {
        self.listed = Some(HashMap::new());
    }

    /// Adds an object of the list in progress.
    pub fn listed(&mut self, uid: String, facts: T) {
        self.listed.get_or_insert_default().insert(uid, facts);
    }

    /// Completes the list in progress.
    pub fn finish(&mut self) {
        if let Some(listed) = self.listed.take() {
            self.now = listed;
        }
        self.complete = true;
    }

    /// Stores the value of a new or changed object. Removes the object if the value is `None`.
    pub fn put(&mut self, uid: String, facts: Option<T>) {
        match facts {
            Some(facts) => {
                self.now.insert(uid, facts);
            }
            None => {
                self.now.remove(&uid);
            }
        }
    }

    /// Iterates over the UIDs and the values of the objects.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &T)> {
        self.now.iter().map(|(uid, facts)| (uid.as_str(), facts))
    }

    /// Returns true after the first list is complete. Before that time, the sums do not include all
    /// objects.
    pub fn complete(&self) -> bool {
        self.complete
    }
}

/// Returns the section of a report about nodes, or `None` until the first lists of nodes and pods
/// are complete.
pub fn nodes_report(
    nodes: &Tally<ObservedNode>,
    pods: &Tally<PodFacts>,
    usage: &ResourceList,
) -> Option<NodesReport> {
    if !nodes.complete() || !pods.complete() {
        return None;
    }
    let (mut capacity, mut allocatable, mut requests) = (
        ResourceList::default(),
        ResourceList::default(),
        ResourceList::default(),
    );
    let mut count = NodeCount::default();
    // The sums do not depend on the order of the nodes.
    for node in nodes.now.values() {
        count.total += 1;
        count.ready += u32::from(node.ready);
        capacity.add(&node.capacity);
        allocatable.add(&node.allocatable);
    }
    let mut not_ready: Vec<String> = nodes
        .now
        .values()
        .filter(|node| !node.ready)
        .map(|node| node.facts.name.clone())
        .collect();
    not_ready.sort_unstable();
    not_ready.truncate(MAX_NOT_READY);
    let (mut placed, mut sick) = (0_usize, PodCount::default());
    for pod in pods.now.values() {
        if let Some(needs) = &pod.requests {
            requests.add(needs);
            placed += 1;
        }
        sick.failing += u32::from(pod.failing);
        sick.unschedulable += u32::from(pod.unschedulable);
    }
    // Each pod uses one of its node's pod slots, as the scheduler counts them (NodeResourcesFit).
    requests.add(&ResourceList::read([("pods", &*placed.to_string())]));
    Some(NodesReport {
        count,
        not_ready,
        pods: Some(sick),
        capacity: capacity.to_strings().into(),
        allocatable: allocatable.to_strings().into(),
        requests: requests.to_strings().into(),
        usage: usage.to_strings().into(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn node(ready: bool, cpu: &str) -> ObservedNode {
        let amounts = ResourceList::read([("cpu", cpu)]);
        ObservedNode {
            facts: NodeFacts {
                name: format!("node-{cpu}"),
                ..NodeFacts::default()
            },
            ready,
            capacity: amounts.clone(),
            allocatable: amounts,
        }
    }

    fn pod(cpu: &str) -> PodFacts {
        PodFacts {
            requests: Some(ResourceList::read([("cpu", cpu)])),
            ..PodFacts::default()
        }
    }

    #[test]
    fn report_contains_failed_nodes_and_number_of_failing_pods() {
        let (mut nodes, mut pods) = (Tally::default(), Tally::default());
        nodes.begin();
        for n in 10..40 {
            let name = format!("n{n}");
            let facts = NodeFacts {
                name: name.clone(),
                ..NodeFacts::default()
            };
            let node = ObservedNode {
                facts,
                ..ObservedNode::default()
            };
            nodes.listed(name, node);
        }
        nodes.listed("well".into(), node(true, "1"));
        nodes.finish();
        pods.finish();
        let failing = PodFacts {
            failing: true,
            ..pod("100m")
        };
        let waits = PodFacts {
            unschedulable: true,
            ..PodFacts::default()
        };
        for (uid, facts) in [("a", pod("100m")), ("b", failing), ("c", waits)] {
            pods.put(uid.into(), Some(facts));
        }
        let report = nodes_report(&nodes, &pods, &ResourceList::default()).unwrap();
        assert_eq!(report.not_ready.len(), MAX_NOT_READY);
        assert_eq!(report.not_ready[0], "n10");
        let expected = PodCount {
            failing: 1,
            unschedulable: 1,
        };
        assert_eq!(report.pods, Some(expected));
        assert_eq!(
            report.requests.get("pods"),
            Some("2"),
            "a pod without a node uses none"
        );
        assert_eq!(report.requests.get("cpu"), Some("200m"));
    }

    #[test]
    fn node_and_pod_sums_are_updated_by_lists_and_watch_events() {
        let mut nodes = Tally::default();
        let mut pods = Tally::default();
        nodes.begin();
        nodes.listed("a".into(), node(true, "2"));
        nodes.listed("b".into(), node(false, "4"));
        assert_eq!(nodes_report(&nodes, &pods, &ResourceList::default()), None);
        nodes.finish();
        pods.begin();
        pods.finish();
        pods.put("p".into(), Some(pod("100m")));
        pods.put("q".into(), Some(pod("200m")));
        pods.put("p".into(), None);
        let report = nodes_report(&nodes, &pods, &ResourceList::read([("cpu", "50m")])).unwrap();
        assert_eq!((report.count.total, report.count.ready), (2, 1));
        assert_eq!(report.capacity.get("cpu"), Some("6"));
        assert_eq!(report.requests.get("cpu"), Some("200m"));
        assert_eq!(report.requests.get("pods"), Some("1"));
        assert_eq!(report.usage.get("cpu"), Some("50m"));
    }

    #[test]
    fn relist_replaces_previous_objects_after_its_last_page() {
        let mut nodes = Tally::default();
        let mut pods: Tally<PodFacts> = Tally::default();
        pods.finish();
        nodes.begin();
        nodes.listed("old".into(), node(true, "1"));
        nodes.finish();
        nodes.begin();
        nodes.listed("new".into(), node(true, "8"));
        let cpu = |nodes: &Tally<ObservedNode>| {
            nodes_report(nodes, &pods, &ResourceList::default())
                .unwrap()
                .capacity
                .get("cpu")
                .map(str::to_owned)
        };
        assert_eq!(cpu(&nodes).as_deref(), Some("1"));
        nodes.finish();
        assert_eq!(cpu(&nodes).as_deref(), Some("8"));
    }
}
