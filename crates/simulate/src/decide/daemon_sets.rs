//! Simulates DaemonSets: creates one pod on each matching node.

use std::collections::BTreeMap;

use k8s_openapi::api::apps::v1::{DaemonSet, DaemonSetStatus};
use k8s_openapi::api::core::v1::{Node, Pod};
use kube::ResourceExt as _;
use serde_json::{Value, json};

use super::owned::{Owned, counts, is_active, is_finished, is_ready, is_terminating, owner};
use super::rollout::share;
use super::scheduler::{fits, pinned};
use super::template::{self, Name, REVISION_HASH};
use super::{DecisionBuilder, count};
use crate::action::Component;
use crate::world::World;

/// The tolerations that Kubernetes adds to all pods of DaemonSets.
const TOLERATIONS: [(&str, &str); 6] = [
    ("node.kubernetes.io/not-ready", "NoExecute"),
    ("node.kubernetes.io/unreachable", "NoExecute"),
    ("node.kubernetes.io/disk-pressure", "NoSchedule"),
    ("node.kubernetes.io/memory-pressure", "NoSchedule"),
    ("node.kubernetes.io/pid-pressure", "NoSchedule"),
    ("node.kubernetes.io/unschedulable", "NoSchedule"),
];

pub(super) fn decide(world: &World, owned: &Owned<'_>, decision: &mut DecisionBuilder) {
    for set in world.daemon_sets.iter() {
        let uid = set.metadata.uid.as_deref().unwrap_or_default();
        let pods = owned.get(uid).map_or(&[][..], Vec::as_slice);
        let daemons = Daemons::of(world, set, pods);
        if set.metadata.deletion_timestamp.is_none() {
            daemons.place(decision);
            daemons.update(decision);
        }
        daemons.status(decision);
    }
}

struct Daemons<'w> {
    set: &'w DaemonSet,
    hash: String,
    /// The nodes on which the DaemonSet runs a pod.
    nodes: Vec<&'w Node>,
    /// Running and pending pods of the DaemonSet, by node name.
    pods: BTreeMap<String, &'w Pod>,
    finished: Vec<&'w Pod>,
}

impl<'w> Daemons<'w> {
    fn of(world: &'w World, set: &'w DaemonSet, all: &[&'w Pod]) -> Self {
        let template = set.spec.as_ref().map(|spec| &spec.template);
        let probe = template.map(probe).unwrap_or_default();
        let mut pods = BTreeMap::new();
        let mut finished = Vec::new();
        for pod in all {
            match pinned(pod) {
                _ if is_finished(pod) => finished.push(*pod),
                Some(node) => {
                    pods.insert(node.to_owned(), *pod);
                }
                None => {}
            }
        }
        Self {
            set,
            hash: template.map(template::hash).unwrap_or_default(),
            nodes: world
                .nodes
                .iter()
                .filter(|node| fits(&probe, node))
                .collect(),
            pods,
            finished,
        }
    }

    fn place(&self, decision: &mut DecisionBuilder) {
        for node in &self.nodes {
            if !self.pods.contains_key(&node.name_any()) {
                self.create(&node.name_any(), decision);
            }
        }
        for pod in &self.finished {
            if !is_terminating(pod) {
                decision.delete(*pod, Some(0));
            }
        }
        for (node, pod) in &self.pods {
            let taken = self.nodes.iter().any(|own| own.name_any() == *node);
            if !taken && !is_terminating(pod) {
                decision.delete(*pod, None);
                let message = format!("Deleted pod: {}", pod.name_any());
                decision.emit_event(self.set, "SuccessfulDelete", message);
            }
        }
    }

    fn create(&self, node: &str, decision: &mut DecisionBuilder) {
        let Some(spec) = &self.set.spec else { return };
        let mut pod = template::pod(
            &spec.template,
            &self.set.namespace().unwrap_or_default(),
            Name::Prefix(format!("{}-", self.set.name_any())),
            owner(self.set),
            &[(REVISION_HASH, self.hash.clone())],
        );
        // The scheduler binds the pod.
        pod["spec"]["affinity"]["nodeAffinity"]["requiredDuringSchedulingIgnoredDuringExecution"] = json!({"nodeSelectorTerms": [{"matchFields": [
                {"key": "metadata.name", "operator": "In", "values": [node]}]}]});
        add_tolerations(&mut pod["spec"]);
        decision.create::<Pod>(pod);
    }

    /// Deletes pods of old templates. Limits the number of unavailable pods to `maxUnavailable`.
    fn update(&self, decision: &mut DecisionBuilder) {
        let strategy = self
            .set
            .spec
            .as_ref()
            .and_then(|spec| spec.update_strategy.as_ref());
        if strategy.and_then(|strategy| strategy.type_.as_deref()) == Some("OnDelete") {
            return;
        }
        let rolling = strategy.and_then(|strategy| strategy.rolling_update.as_ref());
        let most = rolling.and_then(|rolling| rolling.max_unavailable.as_ref());
        let whole = count(self.nodes.len());
        let most = most.map_or(1, |most| share(Some(most), whole, true).max(1));
        let serving = |pod: &&&Pod| is_active(pod) && is_ready(pod);
        let missing = whole - count(self.pods.values().filter(serving).count());
        let mut room = (most - missing).max(0);
        for pod in self.pods.values().filter(|pod| is_active(pod)) {
            if pod.labels().get(REVISION_HASH) == Some(&self.hash) {
                continue;
            }
            // Deleting an unready pod does not reduce the number of serving pods.
            if is_ready(pod) {
                if room == 0 {
                    continue;
                }
                room -= 1;
            }
            decision.delete(*pod, None);
        }
    }

    fn status(&self, decision: &mut DecisionBuilder) {
        let placed = |node: &&&Node| {
            let pod = self.pods.get(&node.name_any());
            pod.is_some_and(|pod| is_active(pod))
        };
        let current = count(self.nodes.iter().filter(placed).count());
        let expected = count(self.nodes.len());
        let active: Vec<&Pod> = self
            .pods
            .values()
            .copied()
            .filter(|pod| is_active(pod))
            .collect();
        let min_ready = self
            .set
            .spec
            .as_ref()
            .and_then(|spec| spec.min_ready_seconds);
        let (ready, available) = counts(&active, min_ready.unwrap_or(0), decision);
        let same = |pod: &&&Pod| pod.labels().get(REVISION_HASH) == Some(&self.hash);
        let updated = count(active.iter().filter(same).count());
        let generation = self.set.metadata.generation;
        let now = ([current, expected, ready, available, updated], generation);
        if self.set.status.as_ref().map(significant_fields) != Some(now) {
            let status = json!({
                "currentNumberScheduled": current, "desiredNumberScheduled": expected,
                "numberMisscheduled": 0, "numberReady": ready, "numberAvailable": available,
                "numberUnavailable": expected - available, "updatedNumberScheduled": updated,
                "observedGeneration": generation,
            });
            decision.status(Component::Controllers, self.set, status);
        }
    }
}

/// Returns the status fields whose change causes a status update of the DaemonSet.
fn significant_fields(status: &DaemonSetStatus) -> ([i32; 5], Option<i64>) {
    (
        [
            status.current_number_scheduled,
            status.desired_number_scheduled,
            status.number_ready,
            status.number_available.unwrap_or(0),
            status.updated_number_scheduled.unwrap_or(0),
        ],
        status.observed_generation,
    )
}

fn add_tolerations(spec: &mut Value) {
    if !spec["tolerations"].is_array() {
        spec["tolerations"] = json!([]);
    }
    if let Some(tolerations) = spec["tolerations"].as_array_mut() {
        let borne = TOLERATIONS
            .iter()
            .map(|(key, effect)| json!({"key": key, "operator": "Exists", "effect": effect}));
        tolerations.extend(borne);
    }
}

/// Returns a pod with the spec of the template. The pod is used only to find matching nodes.
fn probe(template: &k8s_openapi::api::core::v1::PodTemplateSpec) -> Pod {
    let mut spec = json!(template.spec);
    add_tolerations(&mut spec);
    Pod {
        spec: serde_json::from_value(spec).ok(),
        ..Pod::default()
    }
}
