//! ReplicaSets: as many pods as were asked for.

use k8s_openapi::api::apps::v1::{ReplicaSet, ReplicaSetStatus};
use k8s_openapi::api::core::v1::Pod;
use kube::ResourceExt as _;
use serde_json::json;

use super::owned::{Owned, counts, is_active, least_wanted, owner};
use super::template::{self, Name};
use super::{Deciding, count};
use crate::act::Part;
use crate::world::World;

/// Pods made or deleted at once; the next ones follow when these are there.
const BURST: usize = 100;

pub(super) fn decide(world: &World, owned: &Owned<'_>, deciding: &mut Deciding) {
    for set in world.replica_sets.iter() {
        let uid = set.metadata.uid.as_deref().unwrap_or_default();
        let pods = owned.get(uid).map_or(&[][..], Vec::as_slice);
        let active: Vec<&Pod> = pods.iter().copied().filter(|pod| is_active(pod)).collect();
        if set.metadata.deletion_timestamp.is_none() {
            scale(set, &active, deciding);
        }
        status(set, &active, deciding);
    }
}

fn scale(set: &ReplicaSet, active: &[&Pod], deciding: &mut Deciding) {
    let Some(spec) = &set.spec else { return };
    let wanted = usize::try_from(spec.replicas.unwrap_or(1)).unwrap_or(0);
    let Some(pod_template) = &spec.template else {
        return;
    };
    for _ in active.len()..wanted.min(active.len() + BURST) {
        let pod = template::pod(
            pod_template,
            &set.namespace().unwrap_or_default(),
            Name::Prefix(format!("{}-", set.name_any())),
            owner(set),
            &[],
        );
        deciding.create::<Pod>(pod);
    }
    let surplus = active.len().saturating_sub(wanted).min(BURST);
    for pod in least_wanted(active.to_vec()).into_iter().take(surplus) {
        deciding.delete(pod, None);
        let message = format!("Deleted pod: {}", pod.name_any());
        deciding.tell(set, "SuccessfulDelete", message);
    }
}

fn status(set: &ReplicaSet, active: &[&Pod], deciding: &mut Deciding) {
    let min_ready = set.spec.as_ref().and_then(|spec| spec.min_ready_seconds);
    let (ready, available) = counts(active, min_ready.unwrap_or(0), deciding);
    let replicas = count(active.len());
    let generation = set.metadata.generation;
    let now = (replicas, replicas, ready, available, generation);
    if set.status.as_ref().map(essence) != Some(now) {
        let status = json!({
            "replicas": replicas, "fullyLabeledReplicas": replicas, "readyReplicas": ready,
            "availableReplicas": available, "observedGeneration": generation,
        });
        deciding.status(Part::Controllers, set, status);
    }
}

/// What of a status matters; an absent count is none.
fn essence(status: &ReplicaSetStatus) -> (i32, i32, i32, i32, Option<i64>) {
    (
        status.replicas,
        status.fully_labeled_replicas.unwrap_or(0),
        status.ready_replicas.unwrap_or(0),
        status.available_replicas.unwrap_or(0),
        status.observed_generation,
    )
}
