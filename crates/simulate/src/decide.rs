//! Decides the next actions from the state of the cluster. The functions have no side effects, and
//! the time is a parameter.
//!
//! Each submodule simulates one component, and evaluates the complete state for each decision.
//! Decisions are deterministic. If an action is not executed, the next decision contains the action
//! again.

mod daemon_sets;
mod deployments;
mod endpoints;
mod jobs;
mod kubelet;
mod nodes;
mod owned;
mod replica_sets;
mod rollout;
mod scheduler;
mod stateful_sets;
mod template;

use jiff::{SignedDuration, Timestamp};
use k8s_openapi::api::core::v1::Node;
use serde_json::{Map, Value};

use crate::action::{Action, Component, ObjectRef, Severity};
use crate::annotations::Timing;
use crate::world::{Kind, SimulatedKind, World};

pub(crate) use kubelet::containers::host_address;
pub(crate) use owned::pods_by_owner;
pub(crate) use scheduler::amounts;

/// The next actions, and the time of the next decision.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Decision {
    /// The actions to execute. The actions are independent and have no order.
    pub actions: Vec<Action>,
    /// The time of the next decision if the cluster does not change. `None` if only a change causes
    /// the next decision.
    pub wake: Option<Timestamp>,
}

/// Decides the next actions of all components.
pub fn decide(world: &World, timing: &Timing, now: Timestamp) -> Decision {
    let mut decision = DecisionBuilder {
        now,
        result: Decision::default(),
    };
    let owned = pods_by_owner(world);
    nodes::decide(world, timing, &mut decision);
    deployments::decide(world, &mut decision);
    replica_sets::decide(world, &owned, &mut decision);
    stateful_sets::decide(world, &owned, &mut decision);
    daemon_sets::decide(world, &owned, &mut decision);
    jobs::decide(world, timing, &owned, &mut decision);
    scheduler::decide(world, &mut decision);
    kubelet::decide(world, timing, &mut decision);
    endpoints::decide(world, &mut decision);
    decision.limit_pods(world);
    decision.result
}

/// Maximum number of pods in a cluster without nodes. Each node increases the maximum by twice the
/// number of its allocatable pods.
const BASE_POD_LIMIT: usize = 500;

/// Returns the maximum number of pods. The limit protects the memory and the disk, which all
/// simulated clusters share, against a typo in `replicas`.
fn pod_limit(world: &World) -> usize {
    let takes = |node: &Node| -> Option<usize> {
        let pods = &node.status.as_ref()?.allocatable.as_ref()?.get("pods")?.0;
        pods.parse().ok()
    };
    let all = world.nodes.iter().filter_map(takes);
    all.fold(BASE_POD_LIMIT, |sum, pods| {
        sum.saturating_add(pods.saturating_mul(2))
    })
}

/// Builder that collects the actions of a decision.
struct DecisionBuilder {
    now: Timestamp,
    result: Decision,
}

impl DecisionBuilder {
    fn action(&mut self, action: Action) {
        self.result.actions.push(action);
    }

    /// Removes actions that create pods beyond the limit. Later decisions create these pods when
    /// the number of pods has decreased.
    fn limit_pods(&mut self, world: &World) {
        let mut room = pod_limit(world).saturating_sub(world.pods.iter().count());
        self.result.actions.retain(|action| {
            let pod = matches!(
                action,
                Action::Create {
                    kind: Kind::Pod,
                    ..
                }
            );
            let fits = !pod || room > 0;
            room -= usize::from(pod && fits);
            fits
        });
    }

    /// Returns true if the time `at` is reached. If the time is in the future, requests a decision
    /// at that time.
    fn due(&mut self, at: Timestamp) -> bool {
        if at <= self.now {
            return true;
        }
        let wake = &mut self.result.wake;
        *wake = Some(wake.map_or(at, |other| other.min(at)));
        false
    }

    /// Returns true if `pause` has passed since `since`. If not, requests a decision at the end of
    /// `pause`. The time is limited to the maximum timestamp.
    fn due_after(&mut self, since: Timestamp, pause: SignedDuration) -> bool {
        self.due(since.saturating_add(pause).unwrap_or(Timestamp::MAX))
    }

    fn status<K: SimulatedKind>(&mut self, component: Component, object: &K, status: Value) {
        self.action(Action::Patch {
            component,
            target: ObjectRef::of(object),
            subresource: "status",
            patch: Value::Object(Map::from_iter([("status".to_owned(), status)])),
        });
    }

    fn patch<K: SimulatedKind>(&mut self, object: &K, patch: Value) {
        self.action(Action::Patch {
            component: Component::Controllers,
            target: ObjectRef::of(object),
            subresource: "",
            patch,
        });
    }

    fn create<K: SimulatedKind>(&mut self, object: Value) {
        self.action(Action::Create {
            component: Component::Controllers,
            kind: K::KIND,
            object,
        });
    }

    fn delete<K: SimulatedKind>(&mut self, object: &K, grace_seconds: Option<u32>) {
        self.action(Action::Delete {
            target: ObjectRef::of(object),
            grace_seconds,
        });
    }

    fn emit_event<K: SimulatedKind>(
        &mut self,
        about: &K,
        reason: &'static str,
        message: impl Into<String>,
    ) {
        self.emit_event_as(
            Component::Controllers,
            about,
            Severity::Normal,
            reason,
            message,
            "",
        );
    }

    fn emit_event_as<K: SimulatedKind>(
        &mut self,
        component: Component,
        about: &K,
        severity: Severity,
        reason: &'static str,
        message: impl Into<String>,
        host: &str,
    ) {
        self.action(Action::EmitEvent {
            component,
            about: ObjectRef::of(about),
            severity,
            reason,
            message: message.into(),
            host: host.to_owned(),
        });
    }
}

/// Formats a time for the status of an object.
fn time(at: Timestamp) -> Value {
    serde_json::json!(k8s_openapi::apimachinery::pkg::apis::meta::v1::Time(at))
}

/// Converts a count to the type of status fields.
fn count(length: usize) -> i32 {
    i32::try_from(length).unwrap_or(i32::MAX)
}

#[cfg(test)]
mod tests;
