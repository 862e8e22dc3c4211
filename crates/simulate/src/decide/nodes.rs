//! Simulates heartbeats of nodes, and the conditions of unreachable nodes.

use jiff::{SignedDuration, Timestamp};
use k8s_openapi::api::core::v1::{Node, NodeCondition, Pod, Taint};
use kube::ResourceExt as _;
use serde_json::{Value, json};

use super::owned::{is_finished, is_ready};
use super::{DecisionBuilder, time};
use crate::action::{Action, Component, Severity};
use crate::annotations::{Timing, node_fails};
use crate::world::World;

/// Interval of status updates without a change. Equals the default of the kubelet.
const STATUS_INTERVAL: SignedDuration = SignedDuration::from_mins(5);
const UNREACHABLE: &str = "node.kubernetes.io/unreachable";

/// The conditions of a healthy node. Each element contains the type, status, reason and message.
const HEALTHY: [(&str, &str, &str, &str); 4] = [
    (
        "MemoryPressure",
        "False",
        "KubeletHasSufficientMemory",
        "kubelet has sufficient memory available",
    ),
    (
        "DiskPressure",
        "False",
        "KubeletHasNoDiskPressure",
        "kubelet has no disk pressure",
    ),
    (
        "PIDPressure",
        "False",
        "KubeletHasSufficientPID",
        "kubelet has sufficient PID available",
    ),
    (
        "Ready",
        "True",
        "KubeletReady",
        "the simulated kubelet is posting ready status",
    ),
];

pub(super) fn decide(world: &World, timing: &Timing, decision: &mut DecisionBuilder) {
    for node in world
        .nodes
        .iter()
        .filter(|node| node.metadata.deletion_timestamp.is_none())
    {
        if node_fails(node.metadata.annotations.as_ref()) {
            report_unreachable(node, decision);
        } else {
            report_healthy(node, decision);
            heartbeat(world, node, timing, decision);
        }
    }
    for pod in world.pods.iter().filter(|pod| !is_finished(pod)) {
        handle_lost_node(world, pod, decision);
    }
}

fn known<'n>(node: &'n Node, kind: &str) -> Option<&'n NodeCondition> {
    let status = node.status.as_ref()?;
    let mut conditions = status.conditions.iter().flatten();
    conditions.find(|condition| condition.type_ == kind)
}

fn has_condition(node: &Node, (kind, status, reason, _): &(&str, &str, &str, &str)) -> bool {
    known(node, kind)
        .is_some_and(|known| known.status == *status && known.reason.as_deref() == Some(*reason))
}

fn condition(
    node: &Node,
    (kind, status, reason, message): &(&str, &str, &str, &str),
    heard: Value,
    now: Timestamp,
) -> Value {
    let since = known(node, kind)
        .filter(|known| known.status == *status)
        .and_then(|known| known.last_transition_time.clone());
    let mut condition = json!({
        "type": kind, "status": status, "reason": reason, "message": message,
        "lastTransitionTime": since.map_or_else(|| time(now), |since| json!(since)),
    });
    condition["lastHeartbeatTime"] = heard;
    condition
}

fn report_healthy(node: &Node, decision: &mut DecisionBuilder) {
    let is_healthy = HEALTHY.iter().all(|one| has_condition(node, one));
    let heard = known(node, "Ready").and_then(|known| known.last_heartbeat_time.as_ref());
    let fresh = heard.is_some_and(|heard| {
        // An individual offset distributes the writes of the nodes over time.
        !decision.due_after(heard.0, STATUS_INTERVAL + offset(node, STATUS_INTERVAL / 2))
    });
    if !(is_healthy && fresh) {
        let now = decision.now;
        let conditions = HEALTHY
            .iter()
            .map(|one| condition(node, one, time(now), now));
        let conditions: Vec<Value> = conditions.collect();
        decision.status(Component::Kubelet, node, json!({"conditions": conditions}));
        if !has_condition(node, &HEALTHY[3]) {
            let name = node.name_any();
            let message = format!("Node {name} status is now: NodeReady");
            let normal = Severity::Normal;
            decision.emit_event_as(
                Component::Kubelet,
                node,
                normal,
                "NodeReady",
                message,
                &name,
            );
        }
    }
    taint(node, false, decision);
}

/// Returns an offset between zero and `within`. The name of the node determines the offset.
fn offset(node: &Node, within: SignedDuration) -> SignedDuration {
    let share = crate::hash::fnv1a(&node.name_any()) % 1000;
    SignedDuration::from_secs_f64(within.as_secs_f64() * f64::from(share) / 1000.0)
}

fn heartbeat(world: &World, node: &Node, timing: &Timing, decision: &mut DecisionBuilder) {
    let name = node.name_any();
    let every = SignedDuration::try_from(timing.heartbeat).unwrap_or(STATUS_INTERVAL);
    let due = match world.leases.get(&name) {
        None => true,
        Some(renewed) => decision.due(*renewed + every),
    };
    if due {
        let uid = node.uid().unwrap_or_default();
        decision.action(Action::RenewLease { node: name, uid });
    }
}

/// Sets the conditions and taints of an unreachable node, as the node controller does.
fn report_unreachable(node: &Node, decision: &mut DecisionBuilder) {
    let unknown = HEALTHY.map(|(kind, ..)| {
        let message = "Kubelet stopped posting node status.";
        (kind, "Unknown", "NodeStatusUnknown", message)
    });
    if !unknown.iter().all(|one| has_condition(node, one)) {
        let now = decision.now;
        let conditions = unknown.iter().map(|one| {
            let heard = known(node, one.0).and_then(|known| known.last_heartbeat_time.clone());
            condition(node, one, json!(heard), now)
        });
        let conditions: Vec<Value> = conditions.collect();
        decision.status(
            Component::Controllers,
            node,
            json!({"conditions": conditions}),
        );
        let message = format!("Node {} status is now: NodeNotReady", node.name_any());
        decision.emit_event(node, "NodeNotReady", message);
    }
    taint(node, true, decision);
}

fn taint(node: &Node, unreachable: bool, decision: &mut DecisionBuilder) {
    let taints = node.spec.as_ref().and_then(|spec| spec.taints.as_deref());
    let taints = taints.unwrap_or_default();
    let others: Vec<&Taint> = taints.iter().filter(|one| one.key != UNREACHABLE).collect();
    let expected = if unreachable { 2 } else { 0 };
    if taints.len() - others.len() == expected {
        return;
    }
    let mut taints: Vec<Value> = others.into_iter().map(|one| json!(one)).collect();
    if unreachable {
        for effect in ["NoSchedule", "NoExecute"] {
            let since = time(decision.now);
            taints.push(json!({"key": UNREACHABLE, "effect": effect, "timeAdded": since}));
        }
    }
    decision.patch(node, json!({"spec": {"taints": taints}}));
}

/// Marks pods of unreachable nodes as not ready, and deletes pods of deleted nodes.
fn handle_lost_node(world: &World, pod: &Pod, decision: &mut DecisionBuilder) {
    let name = pod.spec.as_ref().and_then(|spec| spec.node_name.as_deref());
    let Some(name) = name.filter(|name| !name.is_empty()) else {
        return;
    };
    match world.nodes.get("", name) {
        None => decision.delete(pod, Some(0)),
        Some(node) if is_ready(pod) && node_fails(node.metadata.annotations.as_ref()) => {
            let conditions = pod
                .status
                .as_ref()
                .and_then(|status| status.conditions.as_ref());
            let mut conditions = json!(conditions);
            for one in conditions.as_array_mut().into_iter().flatten() {
                if one["type"] == "Ready" {
                    one["status"] = "False".into();
                    one["reason"] = "NodeNotReady".into();
                    one["lastTransitionTime"] = time(decision.now);
                }
            }
            decision.status(
                Component::Controllers,
                pod,
                json!({"conditions": conditions}),
            );
        }
        Some(_) => {}
    }
}
