//! Nodes: heartbeats of those that live, and what is said of those that are silent.

use jiff::{SignedDuration, Timestamp};
use k8s_openapi::api::core::v1::{Node, NodeCondition, Pod, Taint};
use kube::ResourceExt as _;
use serde_json::{Value, json};

use super::owned::{is_finished, is_ready};
use super::{Deciding, time};
use crate::act::{Act, Part, Severity};
use crate::annotations::{Pace, node_fails};
use crate::hash::hash;
use crate::world::World;

/// How often a node's status is written although nothing has changed, as kubelets do.
const STATUS_EVERY: SignedDuration = SignedDuration::from_mins(5);
const UNREACHABLE: &str = "node.kubernetes.io/unreachable";

/// A kubelet's conditions: kind, status, reason, message.
const ALIVE: [(&str, &str, &str, &str); 4] = [
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

pub(super) fn decide(world: &World, pace: &Pace, deciding: &mut Deciding) {
    for node in world
        .nodes
        .iter()
        .filter(|node| node.metadata.deletion_timestamp.is_none())
    {
        if node_fails(node.metadata.annotations.as_ref()) {
            silent(node, deciding);
        } else {
            alive(node, deciding);
            heartbeat(world, node, pace, deciding);
        }
    }
    for pod in world.pods.iter().filter(|pod| !is_finished(pod)) {
        lost(world, pod, deciding);
    }
}

fn known<'n>(node: &'n Node, kind: &str) -> Option<&'n NodeCondition> {
    let status = node.status.as_ref()?;
    let mut conditions = status.conditions.iter().flatten();
    conditions.find(|condition| condition.type_ == kind)
}

fn is_said(node: &Node, (kind, status, reason, _): &(&str, &str, &str, &str)) -> bool {
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

fn alive(node: &Node, deciding: &mut Deciding) {
    let said = ALIVE.iter().all(|one| is_said(node, one));
    let heard = known(node, "Ready").and_then(|known| known.last_heartbeat_time.as_ref());
    let fresh = heard.is_some_and(|heard| {
        // Spread, so that a cluster's nodes do not all write at the same time.
        !deciding.due_after(heard.0, STATUS_EVERY + offset(node, STATUS_EVERY / 2))
    });
    if !(said && fresh) {
        let now = deciding.now;
        let conditions = ALIVE.iter().map(|one| condition(node, one, time(now), now));
        let conditions: Vec<Value> = conditions.collect();
        deciding.status(Part::Kubelet, node, json!({"conditions": conditions}));
        if !is_said(node, &ALIVE[3]) {
            let name = node.name_any();
            let message = format!("Node {name} status is now: NodeReady");
            let normal = Severity::Normal;
            deciding.tell_as(Part::Kubelet, node, normal, "NodeReady", message, &name);
        }
    }
    taint(node, false, deciding);
}

/// A part of `within` that is the node's own.
fn offset(node: &Node, within: SignedDuration) -> SignedDuration {
    let share = hash(&node.name_any()) % 1000;
    SignedDuration::from_secs_f64(within.as_secs_f64() * f64::from(share) / 1000.0)
}

fn heartbeat(world: &World, node: &Node, pace: &Pace, deciding: &mut Deciding) {
    let name = node.name_any();
    let every = SignedDuration::try_from(pace.heartbeat).unwrap_or(STATUS_EVERY);
    let due = match world.leases.get(&name) {
        None => true,
        Some(renewed) => deciding.due(*renewed + every),
    };
    if due {
        let uid = node.uid().unwrap_or_default();
        deciding.act(Act::Renew { node: name, uid });
    }
}

/// What the controller of nodes says of one that it does not hear from.
fn silent(node: &Node, deciding: &mut Deciding) {
    let unknown = ALIVE.map(|(kind, ..)| {
        let message = "Kubelet stopped posting node status.";
        (kind, "Unknown", "NodeStatusUnknown", message)
    });
    if !unknown.iter().all(|one| is_said(node, one)) {
        let now = deciding.now;
        let conditions = unknown.iter().map(|one| {
            let heard = known(node, one.0).and_then(|known| known.last_heartbeat_time.clone());
            condition(node, one, json!(heard), now)
        });
        let conditions: Vec<Value> = conditions.collect();
        deciding.status(Part::Controllers, node, json!({"conditions": conditions}));
        let message = format!("Node {} status is now: NodeNotReady", node.name_any());
        deciding.tell(node, "NodeNotReady", message);
    }
    taint(node, true, deciding);
}

fn taint(node: &Node, unreachable: bool, deciding: &mut Deciding) {
    let taints = node.spec.as_ref().and_then(|spec| spec.taints.as_deref());
    let taints = taints.unwrap_or_default();
    let others: Vec<&Taint> = taints.iter().filter(|one| one.key != UNREACHABLE).collect();
    let wanted = if unreachable { 2 } else { 0 };
    if taints.len() - others.len() == wanted {
        return;
    }
    let mut taints: Vec<Value> = others.into_iter().map(|one| json!(one)).collect();
    if unreachable {
        for effect in ["NoSchedule", "NoExecute"] {
            let since = time(deciding.now);
            taints.push(json!({"key": UNREACHABLE, "effect": effect, "timeAdded": since}));
        }
    }
    deciding.patch(node, json!({"spec": {"taints": taints}}));
}

/// Pods of silent nodes are not ready any more; those of nodes that are gone go too.
fn lost(world: &World, pod: &Pod, deciding: &mut Deciding) {
    let name = pod.spec.as_ref().and_then(|spec| spec.node_name.as_deref());
    let Some(name) = name.filter(|name| !name.is_empty()) else {
        return;
    };
    match world.nodes.get("", name) {
        None => deciding.delete(pod, Some(0)),
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
                    one["lastTransitionTime"] = time(deciding.now);
                }
            }
            deciding.status(Part::Controllers, pod, json!({"conditions": conditions}));
        }
        Some(_) => {}
    }
}
