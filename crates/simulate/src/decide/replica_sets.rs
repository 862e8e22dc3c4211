//! Simulates ReplicaSets: creates and deletes pods until their number is `spec.replicas`.

use k8s_openapi::api::apps::v1::{ReplicaSet, ReplicaSetStatus};
use k8s_openapi::api::core::v1::Pod;
use kube::ResourceExt as _;
use serde_json::json;

use super::owned::{Owned, counts, deletion_order, is_active, owner};
use super::template::{self, Name};
use super::{DecisionBuilder, count};
use crate::action::Component;
use crate::world::World;

/// Maximum number of pods that one decision creates or deletes for a ReplicaSet.
const BURST: usize = 100;

pub(super) fn decide(world: &World, owned: &Owned<'_>, decision: &mut DecisionBuilder) {
    for set in world.replica_sets.iter() {
        let uid = set.metadata.uid.as_deref().unwrap_or_default();
        let pods = owned.get(uid).map_or(&[][..], Vec::as_slice);
        let active: Vec<&Pod> = pods.iter().copied().filter(|pod| is_active(pod)).collect();
        if set.metadata.deletion_timestamp.is_none() {
            scale(set, &active, decision);
        }
        status(set, &active, decision);
    }
}

fn scale(set: &ReplicaSet, active: &[&Pod], decision: &mut DecisionBuilder) {
    let Some(spec) = &set.spec else { return };
    let expected = usize::try_from(spec.replicas.unwrap_or(1)).unwrap_or(0);
    let Some(pod_template) = &spec.template else {
        return;
    };
    for _ in active.len()..expected.min(active.len() + BURST) {
        let pod = template::pod(
            pod_template,
            &set.namespace().unwrap_or_default(),
            Name::Prefix(format!("{}-", set.name_any())),
            owner(set),
            &[],
        );
        decision.create::<Pod>(pod);
    }
    let surplus = active.len().saturating_sub(expected).min(BURST);
    for pod in deletion_order(active.to_vec()).into_iter().take(surplus) {
        decision.delete(pod, None);
        let message = format!("Deleted pod: {}", pod.name_any());
        decision.emit_event(set, "SuccessfulDelete", message);
    }
}

fn status(set: &ReplicaSet, active: &[&Pod], decision: &mut DecisionBuilder) {
    let min_ready = set.spec.as_ref().and_then(|spec| spec.min_ready_seconds);
    let (ready, available) = counts(active, min_ready.unwrap_or(0), decision);
    let replicas = count(active.len());
    let generation = set.metadata.generation;
    let now = (replicas, replicas, ready, available, generation);
    if set.status.as_ref().map(significant_fields) != Some(now) {
        let status = json!({
            "replicas": replicas, "fullyLabeledReplicas": replicas, "readyReplicas": ready,
            "availableReplicas": available, "observedGeneration": generation,
        });
        decision.status(Component::Controllers, set, status);
    }
}

/// Returns the status fields whose change causes a status update of the ReplicaSet.
fn significant_fields(status: &ReplicaSetStatus) -> (i32, i32, i32, i32, Option<i64>) {
    (
        status.replicas,
        status.fully_labeled_replicas.unwrap_or(0),
        status.ready_replicas.unwrap_or(0),
        status.available_replicas.unwrap_or(0),
        status.observed_generation,
    )
}
