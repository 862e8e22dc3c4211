//! Finds the pods of each controller, and determines the readiness of pods.

use std::collections::BTreeMap;

use jiff::{SignedDuration, Timestamp};
use k8s_openapi::api::core::v1::Pod;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use kube::ResourceExt as _;
use serde_json::{Value, json};

use crate::world::{SimulatedKind, World};

/// Pods, grouped by the UID of their controller.
pub(crate) type Owned<'w> = BTreeMap<&'w str, Vec<&'w Pod>>;

/// Returns all pods that have a controller, grouped by the UID of the controller.
pub(crate) fn pods_by_owner(world: &World) -> Owned<'_> {
    let mut owned = Owned::new();
    for pod in world.pods.iter() {
        if let Some(uid) = controller(&pod.metadata) {
            owned.entry(uid).or_default().push(pod);
        }
    }
    owned
}

/// Returns the UID of the controller of an object.
pub(super) fn controller(meta: &ObjectMeta) -> Option<&str> {
    let owners = meta.owner_references.iter().flatten();
    owners
        .filter(|owner| owner.controller == Some(true))
        .map(|owner| owner.uid.as_str())
        .next()
}

/// Creates an owner reference to a controller.
pub(super) fn owner<K: SimulatedKind>(object: &K) -> Value {
    let resource = K::KIND.resource();
    json!([{
        "apiVersion": resource.api_version, "kind": resource.kind, "name": object.name_any(),
        "uid": object.uid(), "controller": true, "blockOwnerDeletion": true,
    }])
}

/// Returns the phase of a pod from `status.phase`.
pub(super) fn phase(pod: &Pod) -> &str {
    let status = pod.status.as_ref();
    status
        .and_then(|status| status.phase.as_deref())
        .unwrap_or("Pending")
}

/// Returns true if the pod has succeeded or failed.
pub(super) fn is_finished(pod: &Pod) -> bool {
    matches!(phase(pod), "Succeeded" | "Failed")
}

/// Returns true if the pod is being deleted.
pub(super) fn is_terminating(pod: &Pod) -> bool {
    pod.metadata.deletion_timestamp.is_some()
}

/// Returns true if the pod counts toward the replicas of its controller.
pub(super) fn is_active(pod: &Pod) -> bool {
    !is_finished(pod) && !is_terminating(pod)
}

/// Returns the transition time of a condition. Returns `None` unless the condition is true.
pub(super) fn condition(pod: &Pod, kind: &str) -> Option<Timestamp> {
    let status = pod.status.as_ref()?;
    let condition = status
        .conditions
        .iter()
        .flatten()
        .find(|condition| condition.type_ == kind && condition.status == "True")?;
    let since = condition.last_transition_time.as_ref();
    Some(since.map_or(Timestamp::MIN, |time| time.0))
}

/// Returns true if the pod is ready.
pub(super) fn is_ready(pod: &Pod) -> bool {
    condition(pod, "Ready").is_some()
}

/// The availability of a pod. A pod is available after it has been ready for `minReadySeconds`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Availability {
    /// The pod is not ready.
    No,
    /// The pod is ready, and becomes available at this time.
    At(Timestamp),
    /// The pod is available.
    Yes,
}

/// Checks whether a pod has been ready for `min_ready` seconds.
pub(super) fn availability(pod: &Pod, min_ready: i32, now: Timestamp) -> Availability {
    let Some(since) = condition(pod, "Ready") else {
        return Availability::No;
    };
    if min_ready <= 0 {
        return Availability::Yes;
    }
    match since.checked_add(SignedDuration::from_secs(min_ready.into())) {
        Ok(at) if at > now => Availability::At(at),
        _ => Availability::Yes,
    }
}

/// Counts the ready and available pods, and requests a decision when a pod becomes available.
pub(super) fn counts(
    pods: &[&Pod],
    min_ready: i32,
    decision: &mut super::DecisionBuilder,
) -> (i32, i32) {
    let (mut ready, mut available) = (0, 0);
    for pod in pods {
        ready += i32::from(is_ready(pod));
        match availability(pod, min_ready, decision.now) {
            Availability::No => {}
            Availability::At(at) => {
                decision.due(at);
            }
            Availability::Yes => available += 1,
        }
    }
    (ready, available)
}

/// Sorts pods in the order of their deletion: unbound pods, pods that do not run, pods that are not
/// ready, and then the youngest pods.
pub(super) fn deletion_order(mut pods: Vec<&Pod>) -> Vec<&Pod> {
    let placed = |pod: &Pod| {
        let spec = pod.spec.as_ref();
        spec.is_some_and(|spec| spec.node_name.is_some())
    };
    pods.sort_by_key(|pod| {
        let created = pod.creation_timestamp().map(|time| time.0);
        (
            placed(pod),
            phase(pod) == "Running",
            is_ready(pod),
            std::cmp::Reverse(created),
            pod.name_any(),
        )
    });
    pods
}
