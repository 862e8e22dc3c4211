//! Simulates Deployments: creates a ReplicaSet for each template, and rolls out changes.

use std::collections::BTreeMap;

use jiff::{SignedDuration, Timestamp};
use k8s_openapi::api::apps::v1::{Deployment, DeploymentCondition, ReplicaSet};
use kube::ResourceExt;
use serde_json::{Value, json};

use super::owned::{controller, owner};
use super::rollout::{Desired, Size, step};
use super::template::{self, POD_TEMPLATE_HASH};
use super::{DecisionBuilder, time};
use crate::action::Component;
use crate::world::World;

const REVISION: &str = "deployment.kubernetes.io/revision";

pub(super) fn decide(world: &World, decision: &mut DecisionBuilder) {
    let mut owned: BTreeMap<&str, Vec<&ReplicaSet>> = BTreeMap::new();
    for set in world.replica_sets.iter() {
        if let Some(uid) = controller(&set.metadata) {
            owned.entry(uid).or_default().push(set);
        }
    }
    for deployment in world.deployments.iter() {
        let uid = deployment.metadata.uid.as_deref().unwrap_or_default();
        if deployment.metadata.deletion_timestamp.is_none() {
            let sets = owned.remove(uid).unwrap_or_default();
            let clash = |name: &str| {
                let namespace = deployment.namespace().unwrap_or_default();
                world.replica_sets.get(&namespace, name).is_some()
            };
            one(deployment, sets, &clash, decision);
        }
    }
}

/// A Deployment and its ReplicaSets.
struct Rollout<'w> {
    deployment: &'w Deployment,
    desired: Desired,
    hash: String,
    new: Option<&'w ReplicaSet>,
    /// The old ReplicaSets, oldest first.
    old: Vec<&'w ReplicaSet>,
}

fn revision(annotations: &BTreeMap<String, String>) -> u64 {
    let text = annotations.get(REVISION);
    text.and_then(|text| text.parse().ok()).unwrap_or(0)
}

fn one(
    deployment: &Deployment,
    mut sets: Vec<&ReplicaSet>,
    clash: &dyn Fn(&str) -> bool,
    decision: &mut DecisionBuilder,
) {
    let Some(spec) = &deployment.spec else { return };
    sets.sort_by_key(|set| (revision(set.annotations()), set.name_any()));
    let hash = template::hash(&spec.template);
    let same = |set: &&ReplicaSet| {
        let own = set.spec.as_ref().and_then(|spec| spec.template.as_ref());
        own.is_some_and(|own| template::hash(own) == hash)
    };
    let new = sets.iter().copied().find(same);
    let is_new = |set: &ReplicaSet| new.is_some_and(|new| new.metadata.uid == set.metadata.uid);
    let rollout = Rollout {
        deployment,
        desired: Desired::of(deployment),
        new,
        old: sets.iter().copied().filter(|set| !is_new(set)).collect(),
        hash,
    };
    rollout.roll(clash, decision);
    rollout.number(decision);
    rollout.delete_oldest(decision);
    rollout.status(decision);
}

impl Rollout<'_> {
    fn roll(&self, clash: &dyn Fn(&str) -> bool, decision: &mut DecisionBuilder) {
        let sizes: Vec<Size> = self.old.iter().map(|set| Size::of(set)).collect();
        let (new, old) = step(&self.desired, self.new.map(Size::of), &sizes);
        match self.new {
            None if self.desired.paused => {}
            None => self.create(new, clash, decision),
            Some(set) => self.scale(set, new, decision),
        }
        for (set, size) in self.old.iter().zip(old) {
            self.scale(set, size, decision);
        }
    }

    fn create(&self, replicas: i32, clash: &dyn Fn(&str) -> bool, decision: &mut DecisionBuilder) {
        let Some(spec) = &self.deployment.spec else {
            return;
        };
        let name = format!("{}-{}", self.deployment.name_any(), self.hash);
        if clash(&name) {
            return;
        }
        let label = [(POD_TEMPLATE_HASH, self.hash.clone())];
        let mut pod = json!(spec.template);
        template::add(&mut pod["metadata"], "labels", &label);
        let mut selector = json!(spec.selector);
        template::add(&mut selector, "matchLabels", &label);
        let mut metadata = json!({
            "name": name, "namespace": self.deployment.namespace(),
            "labels": pod["metadata"]["labels"], "ownerReferences": owner(self.deployment),
        });
        let number = self.next_revision().to_string();
        template::add(&mut metadata, "annotations", &[(REVISION, number)]);
        decision.create::<ReplicaSet>(json!({
            "apiVersion": "apps/v1", "kind": "ReplicaSet", "metadata": metadata,
            "spec": {
                "replicas": replicas, "selector": selector, "template": pod,
                "minReadySeconds": spec.min_ready_seconds.unwrap_or(0),
            },
        }));
        let message = format!("Scaled up replica set {name} from 0 to {replicas}");
        decision.emit_event(self.deployment, "ScalingReplicaSet", message);
    }

    fn scale(&self, set: &ReplicaSet, to: i32, decision: &mut DecisionBuilder) {
        let from = Size::of(set).wanted;
        if from == to {
            return;
        }
        decision.patch(set, json!({"spec": {"replicas": to}}));
        let way = if to > from { "up" } else { "down" };
        let name = set.name_any();
        let message = format!("Scaled {way} replica set {name} from {from} to {to}");
        decision.emit_event(self.deployment, "ScalingReplicaSet", message);
    }

    fn next_revision(&self) -> u64 {
        let latest = self.old.iter().map(|set| revision(set.annotations()));
        latest.max().unwrap_or(0) + 1
    }

    /// Increases the revision of the current ReplicaSet above all older revisions, and copies the
    /// revision to the Deployment.
    fn number(&self, decision: &mut DecisionBuilder) {
        let Some(new) = self.new else { return };
        let own = revision(new.annotations());
        let expected = own.max(self.next_revision());
        let patch = json!({"metadata": {"annotations": {REVISION: expected.to_string()}}});
        if own != expected {
            decision.patch(new, patch.clone());
        }
        if revision(self.deployment.annotations()) != expected {
            decision.patch(self.deployment, patch);
        }
    }

    fn delete_oldest(&self, decision: &mut DecisionBuilder) {
        let spec = self.deployment.spec.as_ref();
        let kept = spec.and_then(|spec| spec.revision_history_limit);
        let kept = usize::try_from(kept.unwrap_or(10)).unwrap_or(0);
        let surplus = self.old.len().saturating_sub(kept);
        for set in self.old.iter().take(surplus) {
            let size = Size::of(set);
            if (size.wanted, size.present) == (0, Some(0)) {
                decision.delete(*set, None);
            }
        }
    }

    fn status(&self, decision: &mut DecisionBuilder) {
        let all = || self.old.iter().copied().chain(self.new);
        let sum = |part: fn(&k8s_openapi::api::apps::v1::ReplicaSetStatus) -> Option<i32>| {
            let parts = all().filter_map(|set| set.status.as_ref().and_then(part));
            parts.sum::<i32>()
        };
        let replicas = sum(|status| Some(status.replicas));
        let available = sum(|status| status.available_replicas);
        let updated = self
            .new
            .and_then(|set| set.status.as_ref())
            .map_or(0, |status| status.replicas);
        let counts = Counts {
            replicas,
            updated,
            ready: sum(|status| status.ready_replicas),
            available,
            unavailable: (replicas - available).max(0),
            generation: self.deployment.metadata.generation,
        };
        let conditions = self.conditions(&counts, decision);
        let old = self.deployment.status.as_ref();
        let same_conditions = old
            .and_then(|status| status.conditions.as_ref())
            .is_some_and(|old| json!(old) == conditions);
        if Counts::of(self.deployment) != Some(counts) || !same_conditions {
            let status = counts.status(conditions);
            decision.status(Component::Controllers, self.deployment, status);
        }
    }

    fn conditions(&self, counts: &Counts, decision: &mut DecisionBuilder) -> Value {
        let enough = counts.available >= self.desired.min_available();
        let available = if enough {
            (
                "True",
                "MinimumReplicasAvailable",
                "Deployment has minimum availability.",
            )
        } else {
            (
                "False",
                "MinimumReplicasUnavailable",
                "Deployment does not have minimum availability.",
            )
        };
        let mut conditions = vec![self.condition("Available", available, false, decision.now)];
        if let Some((status, reason, message, news)) = self.progress(counts, decision) {
            let condition = (status, reason, message.as_str());
            conditions.push(self.condition("Progressing", condition, news, decision.now));
        }
        conditions.into()
    }

    fn known(&self, kind: &str) -> Option<&DeploymentCondition> {
        let status = self.deployment.status.as_ref()?;
        let mut conditions = status.conditions.iter().flatten();
        conditions.find(|condition| condition.type_ == kind)
    }

    /// Returns the new value of a condition. The value is equal to the stored condition if the
    /// status, the reason and the message are equal and the rollout has not progressed.
    fn condition(
        &self,
        kind: &str,
        (status, reason, message): (&str, &str, &str),
        news: bool,
        now: Timestamp,
    ) -> Value {
        let old = self.known(kind);
        let same = |old: &&DeploymentCondition| {
            old.status == status
                && old.reason.as_deref() == Some(reason)
                && old.message.as_deref() == Some(message)
        };
        if let Some(old) = old.filter(same).filter(|_| !news) {
            return json!(old);
        }
        let since = old
            .filter(|old| old.status == status)
            .and_then(|old| old.last_transition_time.clone());
        json!({
            "type": kind, "status": status, "reason": reason, "message": message,
            "lastUpdateTime": time(now),
            "lastTransitionTime": since.map_or_else(|| time(now), |since| json!(since)),
        })
    }

    /// Returns the status, the reason and the message of the condition `Progressing`. The last
    /// value is true if the rollout progressed since the last update.
    fn progress(
        &self,
        counts: &Counts,
        decision: &mut DecisionBuilder,
    ) -> Option<(&'static str, &'static str, String, bool)> {
        let spec = self.deployment.spec.as_ref()?;
        let name = format!("{}-{}", self.deployment.name_any(), self.hash);
        let name = self.new.map_or(name, ResourceExt::name_any);
        let whole = self.desired.replicas;
        let complete = (counts.updated, counts.replicas, counts.available) == (whole, whole, whole);
        let known = self.known("Progressing");
        let previous_message = known.and_then(|known| known.message.as_deref());
        let succeeded = format!("ReplicaSet \"{name}\" has successfully progressed.");
        // A completed rollout stays completed, even if a pod fails later.
        if complete || previous_message == Some(&succeeded) {
            return Some(("True", "NewReplicaSetAvailable", succeeded, false));
        }
        if self.desired.paused {
            let message = "Deployment is paused".to_owned();
            return Some(("Unknown", "DeploymentPaused", message, false));
        }
        let progressing = format!("ReplicaSet \"{name}\" is progressing.");
        let before = Counts::of(self.deployment);
        let news = before.is_none_or(|before| before.is_behind(counts))
            || known.is_none_or(|known| mentions_other_set(known, &name));
        let since = known.and_then(|known| known.last_update_time.as_ref());
        let within = spec.progress_deadline_seconds.unwrap_or(600);
        if let Some(since) = since.filter(|_| !news && within < i32::MAX)
            && decision.due_after(since.0, SignedDuration::from_secs(within.into()))
        {
            let message = format!("ReplicaSet \"{name}\" has timed out progressing.");
            return Some(("False", "ProgressDeadlineExceeded", message, false));
        }
        Some(("True", "ReplicaSetUpdated", progressing, news))
    }
}

fn mentions_other_set(known: &DeploymentCondition, set: &str) -> bool {
    let message = known.message.as_deref().unwrap_or_default();
    !message.contains(&format!("\"{set}\""))
}

/// The numbers of pods in a Deployment's status.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Counts {
    replicas: i32,
    updated: i32,
    ready: i32,
    available: i32,
    unavailable: i32,
    generation: Option<i64>,
}

impl Counts {
    fn of(deployment: &Deployment) -> Option<Self> {
        let status = deployment.status.as_ref()?;
        Some(Self {
            replicas: status.replicas.unwrap_or(0),
            updated: status.updated_replicas.unwrap_or(0),
            ready: status.ready_replicas.unwrap_or(0),
            available: status.available_replicas.unwrap_or(0),
            unavailable: status.unavailable_replicas.unwrap_or(0),
            generation: Some(status.observed_generation?),
        })
    }

    /// Returns true if the rollout progressed from these counts to the counts `now`.
    fn is_behind(&self, now: &Self) -> bool {
        now.updated > self.updated
            || now.ready > self.ready
            || now.available > self.available
            || now.replicas - now.updated < self.replicas - self.updated
    }

    fn status(&self, conditions: Value) -> Value {
        let mut status = json!({
            "replicas": self.replicas, "updatedReplicas": self.updated,
            "readyReplicas": self.ready, "availableReplicas": self.available,
            "unavailableReplicas": self.unavailable, "observedGeneration": self.generation,
        });
        status["conditions"] = conditions;
        status
    }
}
