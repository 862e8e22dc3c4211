//! The parts of Fleet's objects in a snapshot, with Fleet's field names.

use drover_api::fleet::labels::{COMMIT, REPO_NAME};
use drover_api::fleet::{
    Bundle, BundleDeployment, ClusterGroup, Content, FleetCluster, FleetCondition, GitRepo,
    condition,
};
use jiff::Timestamp;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use kube::ResourceExt as _;
use serde_json::{Map, Value, json};

use crate::table::span;

/// Fields that are also present with an empty value.
const ALWAYS: [&str; 6] = [
    "namespace",
    "name",
    "uid",
    "generation",
    "ready",
    "clusterCount",
];

/// Removes empty fields.
fn compact(value: Value) -> Value {
    let Value::Object(fields) = value else {
        return value;
    };
    let is_empty = |value: &Value| match value {
        Value::Null | Value::Bool(false) => true,
        Value::Number(number) => number.as_i64() == Some(0),
        Value::String(text) => text.is_empty(),
        Value::Array(items) => items.is_empty(),
        Value::Object(fields) => fields.is_empty(),
        Value::Bool(true) => false,
    };
    let kept = fields
        .into_iter()
        .filter(|(name, value)| ALWAYS.contains(&&**name) || !is_empty(value));
    Value::Object(kept.collect::<Map<_, _>>())
}

/// Returns whether the condition `Ready` is true, and its message if it is not.
fn readiness(conditions: &[FleetCondition]) -> (bool, &str) {
    match condition(conditions, "Ready") {
        Some(ready) if ready.status == "True" => (true, ""),
        ready => (false, ready.map_or("", |ready| &ready.message)),
    }
}

fn deleted(metadata: &ObjectMeta) -> Option<String> {
    let time = metadata.deletion_timestamp.as_ref();
    time.map(|time| seconds(time.0))
}

/// Returns a time in RFC 3339, in whole seconds.
pub(super) fn seconds(time: Timestamp) -> String {
    time.strftime("%Y-%m-%dT%H:%M:%SZ").to_string()
}

pub(super) fn git_repo(repo: &GitRepo) -> Value {
    let status = repo.status.clone().unwrap_or_default();
    let (ready, message) = readiness(&status.base.conditions);
    compact(json!({
        "namespace": repo.namespace().unwrap_or_default(),
        "name": repo.name_any(),
        "generation": repo.metadata.generation.unwrap_or_default(),
        "observedGeneration": status.observed_generation,
        "commit": status.commit,
        "forceSyncGeneration": repo.spec.force_sync_generation,
        "ready": ready,
        "readyMessage": message,
    }))
}

pub(super) fn bundle(bundle: &Bundle) -> Value {
    let status = bundle.status.clone().unwrap_or_default();
    let (ready, message) = readiness(&status.conditions);
    let unready = status.summary.non_ready_resources.first();
    compact(json!({
        "namespace": bundle.namespace().unwrap_or_default(),
        "name": bundle.name_any(),
        "uid": bundle.uid().unwrap_or_default(),
        "generation": bundle.metadata.generation.unwrap_or_default(),
        "observedGeneration": status.observed_generation,
        "commit": bundle.labels().get(COMMIT),
        "repoName": bundle.labels().get(REPO_NAME),
        "forceSyncGeneration": bundle.spec.options.force_sync_generation,
        "resourcesSHA256Sum": status.resources_sha256_sum,
        "sizeBytes": size(bundle),
        "deletionTimestamp": deleted(&bundle.metadata),
        "finalizers": bundle.finalizers(),
        "ready": ready,
        "readyMessage": message,
        "errorMessage": unready.map(|unready| &unready.message),
    }))
}

/// Returns the size of the JSON of a Bundle, in bytes.
pub(super) fn size(bundle: &Bundle) -> usize {
    serde_json::to_vec(bundle).map_or(0, |json| json.len())
}

pub(super) fn deployment(deployment: &BundleDeployment) -> Value {
    let status = deployment.status.clone().unwrap_or_default();
    let (ready, message) = readiness(&status.conditions);
    let unready = status.non_ready_status.first();
    compact(json!({
        "namespace": deployment.namespace().unwrap_or_default(),
        "name": deployment.name_any(),
        "uid": deployment.uid().unwrap_or_default(),
        "generation": deployment.metadata.generation.unwrap_or_default(),
        "commit": deployment.labels().get(COMMIT),
        "forceSyncGeneration": deployment.spec.options.force_sync_generation,
        "syncGeneration": status.sync_generation,
        "deploymentID": deployment.spec.deployment_id,
        "stagedDeploymentID": deployment.spec.staged_deployment_id,
        "appliedDeploymentID": status.applied_deployment_id,
        "deletionTimestamp": deleted(&deployment.metadata),
        "finalizers": deployment.finalizers(),
        "ready": ready,
        "readyMessage": message,
        "errorMessage": unready.map(|unready| unready.summary.message.join("; ")),
    }))
}

pub(super) fn content(content: &Content) -> Value {
    compact(json!({
        "name": content.name_any(),
        "size": content.content.as_ref().map_or(0, |content| content.0.len()),
        "deletionTimestamp": deleted(&content.metadata),
        "finalizers": content.finalizers(),
    }))
}

pub(super) fn cluster(cluster: &FleetCluster, now: Timestamp) -> Value {
    let status = cluster.status.clone().unwrap_or_default();
    let (ready, message) = readiness(&status.conditions);
    let seen = last_seen(cluster);
    let age = seen.map(|seen| {
        let age = now.as_second().saturating_sub(seen.as_second());
        span(u64::try_from(age).unwrap_or(0))
    });
    compact(json!({
        "namespace": cluster.namespace().unwrap_or_default(),
        "name": cluster.name_any(),
        "agentNamespace": status.agent.namespace,
        "agentLastSeen": seen.map(seconds),
        "agentLastSeenAge": age,
        "ready": ready,
        "readyMessage": message,
        "bundleDeployments": status.summary.desired_ready,
        "readyBundleDeployments": status.summary.ready,
    }))
}

/// Returns the time of the agent's last check-in.
pub(super) fn last_seen(cluster: &FleetCluster) -> Option<Timestamp> {
    Some(cluster.status.as_ref()?.agent.last_seen.as_ref()?.0)
}

pub(super) fn group(group: &ClusterGroup) -> Value {
    let selector = group.spec.selector.as_ref();
    let labels = selector.map(|selector| {
        let labels = selector.match_labels.iter();
        let labels: Vec<_> = labels
            .map(|(key, value)| format!("{key}={value}"))
            .collect();
        labels.join(",")
    });
    compact(json!({
        "namespace": group.namespace().unwrap_or_default(),
        "name": group.name_any(),
        "clusterCount": group.status.as_ref().map_or(0, |status| status.cluster_count),
        "selector": labels,
    }))
}
