//! Running sums over nodes and pods: what is kept of each object is what it adds, no more.

use std::collections::HashMap;

use drover_api::kinds::{NodeCount, PodCount};
use drover_api::report::{MAX_NOT_READY, NodesReport};

use super::resource_list::ResourceList;

/// What one node adds.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct NodeFacts {
    /// Its name.
    pub name: String,
    /// Whether its Ready condition is true.
    pub ready: bool,
    /// `status.capacity`.
    pub capacity: ResourceList,
    /// `status.allocatable`.
    pub allocatable: ResourceList,
}

/// Facts of one unfinished pod.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PodFacts {
    /// Resources that the pod holds on its node; none while it has no node.
    pub requests: Option<ResourceList>,
    /// Whether a container of it cannot start or crashes.
    pub failing: bool,
    /// Whether no node takes it.
    pub unschedulable: bool,
}

/// Sums that follow a list and watch; `K` is an object's UID.
#[derive(Debug)]
pub struct Tally<T> {
    now: HashMap<String, T>,
    /// Filled while a fresh list comes in; takes the place of `now` when the list is whole.
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
    /// A fresh list begins.
    pub fn begin(&mut self) {
        self.listed = Some(HashMap::new());
    }

    /// An object of the fresh list.
    pub fn listed(&mut self, uid: String, facts: T) {
        self.listed.get_or_insert_default().insert(uid, facts);
    }

    /// The fresh list is whole.
    pub fn finish(&mut self) {
        if let Some(listed) = self.listed.take() {
            self.now = listed;
        }
        self.complete = true;
    }

    /// An object came or changed; `None` when it adds nothing any more.
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

    /// What each object adds, by its UID.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &T)> {
        self.now.iter().map(|(uid, facts)| (uid.as_str(), facts))
    }

    /// Whether a whole list was seen; sums before that would be too small.
    pub fn complete(&self) -> bool {
        self.complete
    }
}

/// The nodes' section of a report; `None` until both lists were seen whole.
pub fn nodes_report(
    nodes: &Tally<NodeFacts>,
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
    // Sums do not depend on the order.
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
        .map(|node| node.name.clone())
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
    // Each takes one of its node's places, as the scheduler counts them (NodeResourcesFit).
    requests.add(&ResourceList::read([("pods", &*placed.to_string())]));
    Some(NodesReport {
        count,
        not_ready,
        pods: Some(sick),
        capacity: capacity.to_strings(),
        allocatable: allocatable.to_strings(),
        requests: requests.to_strings(),
        usage: usage.to_strings(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn node(ready: bool, cpu: &str) -> NodeFacts {
        let amounts = ResourceList::read([("cpu", cpu)]);
        NodeFacts {
            name: format!("node-{cpu}"),
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
    fn failed_nodes_are_named_and_failing_pods_are_counted() {
        let (mut nodes, mut pods) = (Tally::default(), Tally::default());
        nodes.begin();
        for n in 10..40 {
            let name = format!("n{n}");
            let facts = NodeFacts {
                name: name.clone(),
                ..NodeFacts::default()
            };
            nodes.listed(name, facts);
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
        let wanted = PodCount {
            failing: 1,
            unschedulable: 1,
        };
        assert_eq!(report.pods, Some(wanted));
        assert_eq!(
            report.requests["pods"], "2",
            "a pod without a node uses none"
        );
        assert_eq!(report.requests["cpu"], "200m");
    }

    #[test]
    fn sums_follow_lists_and_changes() {
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
        assert_eq!(report.capacity["cpu"], "6");
        assert_eq!(report.requests["cpu"], "200m");
        assert_eq!(report.requests["pods"], "1");
        assert_eq!(report.usage["cpu"], "50m");
    }

    #[test]
    fn a_fresh_list_replaces_what_was_known_only_when_it_is_whole() {
        let mut nodes = Tally::default();
        let mut pods: Tally<PodFacts> = Tally::default();
        pods.finish();
        nodes.begin();
        nodes.listed("old".into(), node(true, "1"));
        nodes.finish();
        nodes.begin();
        nodes.listed("new".into(), node(true, "8"));
        let cpu = |nodes: &Tally<NodeFacts>| {
            nodes_report(nodes, &pods, &ResourceList::default())
                .unwrap()
                .capacity["cpu"]
                .clone()
        };
        assert_eq!(cpu(&nodes), "1");
        nodes.finish();
        assert_eq!(cpu(&nodes), "8");
    }
}
