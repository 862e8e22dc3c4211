//! Pods by their controllers, and how they do.

use std::collections::BTreeMap;

use jiff::{SignedDuration, Timestamp};
use k8s_openapi::api::core::v1::Pod;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use kube::ResourceExt as _;
use serde_json::{Value, json};

use crate::world::{Known, World};

/// Pods by the UID of their controller.
pub(crate) type Owned<'w> = BTreeMap<&'w str, Vec<&'w Pod>>;

/// All pods that have a controller.
pub(crate) fn pods_by_owner(world: &World) -> Owned<'_> {
    let mut owned = Owned::new();
    for pod in world.pods.iter() {
        if let Some(uid) = controller(&pod.metadata) {
            owned.entry(uid).or_default().push(pod);
        }
    }
    owned
}

/// UID of an object's controller.
pub(super) fn controller(meta: &ObjectMeta) -> Option<&str> {
    let owners = meta.owner_references.iter().flatten();
    owners
        .filter(|owner| owner.controller == Some(true))
        .map(|owner| owner.uid.as_str())
        .next()
}

/// A reference to an object as the controller of others.
pub(super) fn owner<K: Known>(object: &K) -> Value {
    let resource = K::KIND.resource();
    json!([{
        "apiVersion": resource.api_version, "kind": resource.kind, "name": object.name_any(),
        "uid": object.uid(), "controller": true, "blockOwnerDeletion": true,
    }])
}

/// `status.phase`.
pub(super) fn phase(pod: &Pod) -> &str {
    let status = pod.status.as_ref();
    status
        .and_then(|status| status.phase.as_deref())
        .unwrap_or("Pending")
}

/// Whether it has ended for good.
pub(super) fn is_finished(pod: &Pod) -> bool {
    matches!(phase(pod), "Succeeded" | "Failed")
}

/// Whether its deletion has begun.
pub(super) fn is_going(pod: &Pod) -> bool {
    pod.metadata.deletion_timestamp.is_some()
}

/// Whether it counts for its controller.
pub(super) fn is_active(pod: &Pod) -> bool {
    !is_finished(pod) && !is_going(pod)
}

/// Whether a condition is true, and since when.
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

/// Whether it is ready.
pub(super) fn is_ready(pod: &Pod) -> bool {
    condition(pod, "Ready").is_some()
}

/// Ready for some time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Availability {
    /// Not ready.
    No,
    /// Ready, and available at this time.
    At(Timestamp),
    /// Available.
    Yes,
}

/// Whether it has been ready for so many seconds.
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

/// How many of these are ready, and how many available; looks again when one will be.
pub(super) fn counts(pods: &[&Pod], min_ready: i32, deciding: &mut super::Deciding) -> (i32, i32) {
    let (mut ready, mut available) = (0, 0);
    for pod in pods {
        ready += i32::from(is_ready(pod));
        match availability(pod, min_ready, deciding.now) {
            Availability::No => {}
            Availability::At(at) => {
                deciding.due(at);
            }
            Availability::Yes => available += 1,
        }
    }
    (ready, available)
}

/// Which of these a controller gives up first: not placed, not running, not ready, youngest.
pub(super) fn least_wanted(mut pods: Vec<&Pod>) -> Vec<&Pod> {
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
