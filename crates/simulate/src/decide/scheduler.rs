//! Simulates the scheduler: binds each pod to a node, or reports the reason why no node fits.

use std::collections::BTreeMap;

use k8s_openapi::api::core::v1::{Node, NodeSelectorTerm, Pod, Taint, Toleration};
use kube::ResourceExt as _;
use serde_json::json;

use super::owned::is_finished;
use super::{DecisionBuilder, time};
use crate::action::{Action, Component, ObjectRef, Severity};
use crate::world::World;

pub(crate) mod amounts;

use amounts::{Amounts, requests};

pub(super) fn decide(world: &World, decision: &mut DecisionBuilder) {
    let mut free = Free::of(world);
    for pod in world.pods.iter() {
        if is_waiting(pod) {
            place(world, &mut free, pod, decision);
        }
    }
}

fn is_waiting(pod: &Pod) -> bool {
    let Some(spec) = &pod.spec else { return false };
    let gated = spec
        .scheduling_gates
        .as_ref()
        .is_some_and(|gates| !gates.is_empty());
    let ours = matches!(
        spec.scheduler_name.as_deref(),
        None | Some("default-scheduler")
    );
    let placed = spec
        .node_name
        .as_deref()
        .is_some_and(|node| !node.is_empty());
    ours && !gated && !placed && pod.metadata.deletion_timestamp.is_none() && !is_finished(pod)
}

/// The free resources of each node in the cluster.
struct Free<'w> {
    nodes: Vec<(&'w Node, Amounts)>,
}

impl<'w> Free<'w> {
    fn of(world: &'w World) -> Self {
        let mut used: BTreeMap<&str, Amounts> = BTreeMap::new();
        for pod in world.pods.iter().filter(|pod| !is_finished(pod)) {
            let node = pod.spec.as_ref().and_then(|spec| spec.node_name.as_deref());
            if let Some(node) = node {
                used.entry(node).or_default().add(&requests(pod));
            }
        }
        let remaining = |node: &'w Node| {
            let mut remaining = Amounts::allocatable(node);
            if let Some(used) = used.get(node.name_any().as_str()) {
                remaining.take(used);
            }
            (node, remaining)
        };
        Self {
            nodes: world.nodes.iter().map(remaining).collect(),
        }
    }

    /// Returns the node with the most free resources. If the pod fits on no node, returns the
    /// number of nodes for each reason.
    fn best(&mut self, pod: &Pod) -> Result<String, BTreeMap<String, usize>> {
        let needs = requests(pod);
        let mut cause: BTreeMap<String, usize> = BTreeMap::new();
        let mut best: Option<(i64, usize)> = None;
        for (at, (node, remaining)) in self.nodes.iter().enumerate() {
            let reasons = match rejection(pod, node) {
                Some(reason) => vec![reason],
                None => remaining.lacks(&needs),
            };
            for reason in &reasons {
                *cause.entry(reason.clone()).or_default() += 1;
            }
            let score = remaining.score(&Amounts::allocatable(node));
            if reasons.is_empty() && best.is_none_or(|(other, _)| score > other) {
                best = Some((score, at));
            }
        }
        let (_, at) = best.ok_or(cause)?;
        let (node, remaining) = &mut self.nodes[at];
        remaining.take(&needs);
        Ok(node.name_any())
    }
}

fn place(world: &World, free: &mut Free<'_>, pod: &Pod, decision: &mut DecisionBuilder) {
    let cause = match free.best(pod) {
        Ok(node) => {
            let place = format!("{}/{}", pod.namespace().unwrap_or_default(), pod.name_any());
            decision.action(Action::Bind {
                pod: ObjectRef::of(pod),
                node: node.clone(),
            });
            let message = format!("Successfully assigned {place} to {node}");
            let (part, normal) = (Component::Scheduler, Severity::Normal);
            decision.emit_event_as(part, pod, normal, "Scheduled", message, "");
            return;
        }
        Err(cause) => cause,
    };
    let reasons: Vec<String> = cause
        .iter()
        .map(|(reason, nodes)| format!("{nodes} {reason}"))
        .collect();
    let nodes = free.nodes.len();
    let message = if nodes == 0 {
        "no nodes available to schedule pods".to_owned()
    } else {
        format!("0/{nodes} nodes are available: {}.", reasons.join(", "))
    };
    let uid = pod.uid().unwrap_or_default();
    if world.unschedulable.get(&uid) == Some(&message) {
        return;
    }
    let (part, warning) = (Component::Scheduler, Severity::Warning);
    decision.emit_event_as(part, pod, warning, "FailedScheduling", message.clone(), "");
    let status = json!({"phase": "Pending", "conditions": [{
        "type": "PodScheduled", "status": "False", "reason": "Unschedulable",
        "message": message, "lastTransitionTime": time(decision.now),
    }]});
    decision.status(Component::Scheduler, pod, status);
    decision.action(Action::RecordUnschedulable {
        pod: uid,
        why: message,
    });
}

/// Returns the name of the node to which the pod is bound. For an unbound pod, returns the node
/// that the pod requires.
pub(super) fn pinned(pod: &Pod) -> Option<&str> {
    let spec = pod.spec.as_ref()?;
    if let Some(node) = spec.node_name.as_deref().filter(|node| !node.is_empty()) {
        return Some(node);
    }
    let affinity = spec.affinity.as_ref()?.node_affinity.as_ref()?;
    let required = affinity
        .required_during_scheduling_ignored_during_execution
        .as_ref()?;
    let mut fields = required.node_selector_terms.iter();
    let field = fields.find_map(|term| term.match_fields.as_ref()?.first())?;
    field.values.as_ref()?.first().map(String::as_str)
}

/// Returns true if a node matches a pod, regardless of free resources.
pub(super) fn fits(pod: &Pod, node: &Node) -> bool {
    rejection(pod, node).is_none()
}

fn rejection(pod: &Pod, node: &Node) -> Option<String> {
    let spec = pod.spec.as_ref()?;
    let borne = spec.tolerations.as_deref().unwrap_or_default();
    let own = node.spec.as_ref();
    if own.and_then(|own| own.unschedulable) == Some(true)
        && !borne.iter().any(|one| tolerates(one, &unschedulable()))
    {
        return Some("node(s) were unschedulable".to_owned());
    }
    let taints = own
        .and_then(|own| own.taints.as_deref())
        .unwrap_or_default();
    let driven_away = taints.iter().find(|taint| {
        taint.effect != "PreferNoSchedule" && !borne.iter().any(|one| tolerates(one, taint))
    });
    if let Some(taint) = driven_away {
        let value = taint.value.as_deref().unwrap_or_default();
        return Some(format!(
            "node(s) had untolerated taint(s) {{{}: {value}}}",
            taint.key
        ));
    }
    let labels = node.labels();
    let selected = spec.node_selector.iter().flatten();
    let mut unlike = selected.filter(|(name, value)| labels.get(*name) != Some(value));
    if unlike.next().is_some() || !matches_affinity(pod, node) {
        return Some("node(s) didn't match Pod's node affinity/selector".to_owned());
    }
    None
}

fn unschedulable() -> Taint {
    Taint {
        key: "node.kubernetes.io/unschedulable".to_owned(),
        effect: "NoSchedule".to_owned(),
        ..Taint::default()
    }
}

fn tolerates(one: &Toleration, taint: &Taint) -> bool {
    let text_of = |text: &Option<String>| text.clone().unwrap_or_default();
    let (key, effect) = (text_of(&one.key), text_of(&one.effect));
    let any = one.operator.as_deref() == Some("Exists");
    (effect.is_empty() || effect == taint.effect)
        && (key == taint.key || key.is_empty() && any)
        && (any || text_of(&one.value) == text_of(&taint.value))
}

fn matches_affinity(pod: &Pod, node: &Node) -> bool {
    let affinity = pod.spec.as_ref().and_then(|spec| spec.affinity.as_ref());
    let affinity = affinity.and_then(|affinity| affinity.node_affinity.as_ref());
    let required = affinity.and_then(|one| {
        one.required_during_scheduling_ignored_during_execution
            .as_ref()
    });
    required.is_none_or(|required| {
        required
            .node_selector_terms
            .iter()
            .any(|term| matches_term(term, node))
    })
}

fn matches_term(term: &NodeSelectorTerm, node: &Node) -> bool {
    let name = node.name_any();
    let fields = term.match_fields.iter().flatten();
    let mut fields = fields.map(|one| (one, Some(&name)));
    let labels = term.match_expressions.iter().flatten();
    let mut labels = labels.map(|one| (one, node.labels().get(&one.key)));
    let holds = |(one, value): (
        &k8s_openapi::api::core::v1::NodeSelectorRequirement,
        Option<&String>,
    )| {
        let among = value.is_some_and(|value| one.values.iter().flatten().any(|own| own == value));
        match one.operator.as_str() {
            "In" => among,
            "NotIn" => !among,
            "Exists" => value.is_some(),
            "DoesNotExist" => value.is_none(),
            _ => false,
        }
    };
    fields.all(holds) && labels.all(holds)
}
