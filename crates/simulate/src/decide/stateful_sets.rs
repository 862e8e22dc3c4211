//! Simulates StatefulSets: creates pods with stable names, in order.

use k8s_openapi::api::apps::v1::{StatefulSet, StatefulSetStatus};
use k8s_openapi::api::core::v1::Pod;
use kube::ResourceExt as _;
use serde_json::json;

use super::owned::{
    Availability, Owned, availability, counts, is_active, is_finished, is_terminating, owner,
};
use super::template::{self, Name, REVISION_HASH};
use super::{DecisionBuilder, count};
use crate::action::Component;
use crate::world::World;

pub(super) fn decide(world: &World, owned: &Owned<'_>, decision: &mut DecisionBuilder) {
    for set in world.stateful_sets.iter() {
        let uid = set.metadata.uid.as_deref().unwrap_or_default();
        let pods = owned.get(uid).map_or(&[][..], Vec::as_slice);
        let ordered = Ordered::of(set, pods);
        if set.metadata.deletion_timestamp.is_none() {
            ordered.advance(decision);
        }
        ordered.status(decision);
    }
}

struct Ordered<'w> {
    set: &'w StatefulSet,
    /// Pods of the StatefulSet with their ordinals, sorted by ordinal.
    pods: Vec<(i32, &'w Pod)>,
    /// Name of the current revision: the name of the StatefulSet, a hyphen, and the hash of the
    /// template.
    revision: String,
    wanted: std::ops::Range<i32>,
    parallel: bool,
    min_ready: i32,
}

fn ordinal(set: &StatefulSet, pod: &Pod) -> Option<i32> {
    let name = pod.name_any();
    let number = name.strip_prefix(&format!("{}-", set.name_any()))?;
    number.parse().ok()
}

fn revision(pod: &Pod) -> &str {
    pod.labels().get(REVISION_HASH).map_or("", String::as_str)
}

impl<'w> Ordered<'w> {
    fn of(set: &'w StatefulSet, pods: &[&'w Pod]) -> Self {
        let spec = set.spec.as_ref();
        let numbered = pods
            .iter()
            .filter_map(|pod| Some((ordinal(set, pod)?, *pod)));
        let mut pods: Vec<(i32, &Pod)> = numbered.collect();
        pods.sort_by_key(|(number, _)| *number);
        let hash = spec.map_or_else(String::new, |spec| template::hash(&spec.template));
        let first = spec
            .and_then(|spec| spec.ordinals.as_ref())
            .and_then(|ordinals| ordinals.start)
            .unwrap_or(0);
        let replicas = spec.and_then(|spec| spec.replicas).unwrap_or(1);
        Self {
            set,
            pods,
            revision: format!("{}-{hash}", set.name_any()),
            wanted: first..first.saturating_add(replicas),
            parallel: spec.and_then(|spec| spec.pod_management_policy.as_deref())
                == Some("Parallel"),
            min_ready: spec.and_then(|spec| spec.min_ready_seconds).unwrap_or(0),
        }
    }

    fn pod(&self, number: i32) -> Option<&'w Pod> {
        let found = self.pods.iter().find(|(own, _)| *own == number);
        found.map(|(_, pod)| *pod)
    }

    /// Creates or deletes the next pod. With the policy `OrderedReady`, each pod waits for the
    /// preceding pods.
    fn advance(&self, decision: &mut DecisionBuilder) {
        for number in self.wanted.clone() {
            match self.pod(number) {
                None => {
                    self.create(number, decision);
                    if !self.parallel {
                        return;
                    }
                }
                // Delete a finished pod, so that a later decision creates a new pod.
                Some(pod) if is_finished(pod) && !is_terminating(pod) => {
                    decision.delete(pod, Some(0));
                    return;
                }
                Some(pod) if !self.parallel && !self.is_available(pod, decision) => return,
                Some(_) => {}
            }
        }
        let surplus = self.pods.iter().rev();
        for (_, pod) in surplus.filter(|(number, _)| !self.wanted.contains(number)) {
            if is_active(pod) {
                decision.delete(*pod, None);
                self.event("delete", &pod.name_any(), decision);
            }
            if !self.parallel {
                return;
            }
        }
        self.update(decision);
    }

    fn is_available(&self, pod: &Pod, decision: &mut DecisionBuilder) -> bool {
        match availability(pod, self.min_ready, decision.now) {
            _ if !is_active(pod) => false,
            Availability::No => false,
            Availability::At(at) => decision.due(at),
            Availability::Yes => true,
        }
    }

    fn create(&self, number: i32, decision: &mut DecisionBuilder) {
        let Some(spec) = &self.set.spec else { return };
        let name = format!("{}-{number}", self.set.name_any());
        let labels = [
            ("statefulset.kubernetes.io/pod-name", name.clone()),
            ("apps.kubernetes.io/pod-index", number.to_string()),
            (REVISION_HASH, self.revision.clone()),
        ];
        let mut pod = template::pod(
            &spec.template,
            &self.set.namespace().unwrap_or_default(),
            Name::Fixed(name.clone()),
            owner(self.set),
            &labels,
        );
        pod["spec"]["hostname"] = name.as_str().into();
        if let Some(service) = &spec.service_name {
            pod["spec"]["subdomain"] = service.as_str().into();
        }
        decision.create::<Pod>(pod);
        self.event("create", &name, decision);
    }

    fn event(&self, subject: &str, pod: &str, decision: &mut DecisionBuilder) {
        let name = self.set.name_any();
        let reason = if subject == "create" {
            "SuccessfulCreate"
        } else {
            "SuccessfulDelete"
        };
        let message = format!("{subject} Pod {pod} in StatefulSet {name} successful");
        decision.emit_event(self.set, reason, message);
    }

    /// Deletes the pod with the highest ordinal among pods of old templates. Ignores pods whose
    /// ordinal is less than `partition`.
    fn update(&self, decision: &mut DecisionBuilder) {
        let strategy = self
            .set
            .spec
            .as_ref()
            .and_then(|spec| spec.update_strategy.as_ref());
        if strategy.and_then(|strategy| strategy.type_.as_deref()) == Some("OnDelete") {
            return;
        }
        let partition = strategy
            .and_then(|strategy| strategy.rolling_update.as_ref())
            .and_then(|rolling| rolling.partition)
            .unwrap_or(0);
        for (number, pod) in self.pods.iter().rev() {
            if *number < partition || !self.wanted.contains(number) {
                continue;
            }
            if revision(pod) != self.revision {
                if is_active(pod) {
                    decision.delete(*pod, None);
                    self.event("delete", &pod.name_any(), decision);
                }
                return;
            }
            if !self.is_available(pod, decision) {
                return;
            }
        }
    }

    fn status(&self, decision: &mut DecisionBuilder) {
        let active: Vec<&Pod> = self
            .pods
            .iter()
            .map(|(_, pod)| *pod)
            .filter(|pod| is_active(pod))
            .collect();
        let (ready, available) = counts(&active, self.min_ready, decision);
        let updated = active.iter().filter(|pod| revision(pod) == self.revision);
        let updated = count(updated.count());
        let old = self.set.status.as_ref();
        let before = old.and_then(|status| status.current_revision.clone());
        let expected = count(self.wanted.clone().count());
        let rolled_out = updated == count(active.len()) && updated == expected;
        let current = match before {
            Some(before) if !rolled_out => before,
            _ => self.revision.clone(),
        };
        let of_current = active.iter().filter(|pod| revision(pod) == current).count();
        let now = (
            [
                count(active.len()),
                ready,
                available,
                count(of_current),
                updated,
            ],
            current.as_str(),
            self.revision.as_str(),
            self.set.metadata.generation,
        );
        if old.map(significant_fields) != Some(now) {
            let status = json!({
                "replicas": now.0[0], "readyReplicas": ready, "availableReplicas": available,
                "currentReplicas": now.0[3], "updatedReplicas": updated,
                "currentRevision": current, "updateRevision": self.revision,
                "observedGeneration": self.set.metadata.generation, "collisionCount": 0,
            });
            decision.status(Component::Controllers, self.set, status);
        }
    }
}

/// Returns the status fields whose change causes a status update of the StatefulSet.
fn significant_fields(status: &StatefulSetStatus) -> ([i32; 5], &str, &str, Option<i64>) {
    (
        [
            status.replicas,
            status.ready_replicas.unwrap_or(0),
            status.available_replicas.unwrap_or(0),
            status.current_replicas.unwrap_or(0),
            status.updated_replicas.unwrap_or(0),
        ],
        status.current_revision.as_deref().unwrap_or_default(),
        status.update_revision.as_deref().unwrap_or_default(),
        status.observed_generation,
    )
}
