//! The states and overview fields of Deployments, StatefulSets and DaemonSets.

use serde_json::Value;

use super::overview::{Facts, ObjectState, Section};
use super::related::selector;
use super::{Object, read};
use crate::messages::t;
use drover_rows::Severity;

/// The numbers of desired and actual pods.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Replicas {
    wanted: i64,
    ready: i64,
    updated: i64,
    available: i64,
}

impl Replicas {
    fn of(kind: &str, object: &Value) -> Self {
        let status = |name: &str| read::count(object, &format!("/status/{name}"));
        if kind == "DaemonSet" {
            return Self {
                wanted: status("desiredNumberScheduled"),
                ready: status("numberReady"),
                updated: status("updatedNumberScheduled"),
                available: status("numberAvailable"),
            };
        }
        Self {
            wanted: read::number(object, "/spec/replicas").unwrap_or(1),
            ready: status("readyReplicas"),
            updated: status("updatedReplicas"),
            available: status("availableReplicas"),
        }
    }
}

/// Returns the state of a workload: severity, text, and cause with the next step.
pub(crate) fn object_state(kind: &str, object: &Object) -> ObjectState {
    let value = object.value();
    let Replicas {
        wanted: desired,
        ready,
        updated,
        available,
    } = Replicas::of(kind, value);
    let seen = read::count(value, "/status/observedGeneration");
    if seen < read::count(value, "/metadata/generation") {
        return ObjectState::of(Severity::Progressing, t().workloads.not_observed())
            .because(t().workloads.not_observed_help());
    }
    if let Some(stuck) = failing(value) {
        return stuck;
    }
    if read::is_true(value, "/spec/paused") {
        return ObjectState::of(Severity::Degraded, t().workloads.paused())
            .because(t().workloads.paused_help());
    }
    if desired == 0 {
        return match kind {
            "DaemonSet" => ObjectState::of(Severity::Idle, t().workloads.no_node())
                .because(t().workloads.no_node_help()),
            _ => ObjectState::of(Severity::Idle, t().workloads.scaled_to_zero()),
        };
    }
    if updated < desired && !is_partial_rollout(value) {
        return ObjectState::of(
            Severity::Progressing,
            t().workloads.rolling_out(updated, desired),
        );
    }
    if available < desired {
        let severity = if available == 0 {
            Severity::Failing
        } else {
            Severity::Degraded
        };
        let words = t().workloads.some_available(available, desired);
        return ObjectState::of(severity, words).because(t().workloads.check_pods());
    }
    ObjectState::of(Severity::Healthy, t().workloads.all_ready(ready, desired))
}

/// Reports whether the update strategy is partial: `OnDelete`, or a partition above 0.
fn is_partial_rollout(object: &Value) -> bool {
    let partition = read::count(object, "/spec/updateStrategy/rollingUpdate/partition");
    read::text(object, "/spec/updateStrategy/type") == Some("OnDelete") || partition > 0
}

fn failing(object: &Value) -> Option<ObjectState> {
    let mut conditions = read::list(object, "/status/conditions").iter();
    let sick = conditions.find(|one| {
        let of = |pointer| read::text(one, pointer);
        matches!(
            (of("/type"), of("/status"), of("/reason")),
            (Some("Progressing"), Some("False"), _) | (Some("ReplicaFailure"), Some("True"), _)
        )
    })?;
    let words = match read::text(sick, "/type") {
        Some("Progressing") => t().workloads.rollout_stuck(),
        _ => t().workloads.pods_rejected(),
    };
    let message = read::text(sick, "/message").unwrap_or_default();
    Some(ObjectState::of(Severity::Failing, words).because(message))
}

/// Returns the overview fields of a workload.
pub(crate) fn sections(kind: &str, object: &Object) -> Vec<Section> {
    let value = object.value();
    let of = |pointer| read::owned(value, pointer);
    let Replicas {
        wanted: desired,
        ready,
        updated,
        available,
    } = Replicas::of(kind, value);
    let numbers = Facts::default()
        .text(t().workloads.desired(), Some(desired.to_string()))
        .text(t().workloads.ready(), Some(ready.to_string()))
        .text(t().workloads.updated(), Some(updated.to_string()))
        .text(t().workloads.available(), Some(available.to_string()))
        .text(t().workloads.misscheduled(), misplaced(value));
    let more = Facts::default()
        .text(t().workloads.strategy(), strategy(kind, value))
        .codes(t().workloads.images(), images(value, "/spec/template/spec"))
        .codes(
            t().workloads.selector(),
            selector(value).into_iter().collect(),
        )
        .text(t().workloads.service(), of("/spec/serviceName"))
        .text(
            t().workloads.pod_management(),
            of("/spec/podManagementPolicy").map(management),
        )
        .codes(
            t().workloads.node_selector(),
            read::assignments(value, "/spec/template/spec/nodeSelector"),
        )
        .codes(t().workloads.volume_claims(), claims(value))
        .text(t().workloads.revision(), revision(value))
        .text(
            t().workloads.revision_history(),
            number(value, "/spec/revisionHistoryLimit"),
        );
    vec![numbers.under(t().labels.pods()), more.under(heading(kind))]
}

fn heading(kind: &str) -> &'static str {
    match kind {
        "Deployment" => "Deployment",
        "StatefulSet" => "StatefulSet",
        "ReplicaSet" => "ReplicaSet",
        _ => "DaemonSet",
    }
}

fn misplaced(object: &Value) -> Option<String> {
    let count = read::count(object, "/status/numberMisscheduled");
    (count > 0).then(|| count.to_string())
}

pub(crate) fn number(object: &Value, pointer: &str) -> Option<String> {
    read::number(object, pointer).map(|number| number.to_string())
}

/// Returns the images of a pod template.
pub(crate) fn images(object: &Value, spec: &str) -> Vec<String> {
    let mut images = read::each(object, &format!("{spec}/initContainers"), "/image");
    images.extend(read::each(object, &format!("{spec}/containers"), "/image"));
    let mut once = Vec::new();
    for image in images {
        if !once.contains(&image) {
            once.push(image);
        }
    }
    once
}

fn strategy(kind: &str, object: &Value) -> Option<String> {
    let place = match kind {
        "Deployment" => "/spec/strategy",
        _ => "/spec/updateStrategy",
    };
    let strategy = read::at(object, place);
    let of = |name| read::scalar(read::at(strategy, name)).map(std::borrow::Cow::into_owned);
    let words = match read::text(strategy, "/type")? {
        "RollingUpdate" => t().workloads.rolling_update(),
        "Recreate" => t().workloads.recreate(),
        "OnDelete" => t().workloads.on_delete(),
        other => other,
    };
    let limits = [
        (
            t().workloads.max_unavailable(),
            of("/rollingUpdate/maxUnavailable"),
        ),
        (t().workloads.max_surge(), of("/rollingUpdate/maxSurge")),
        (
            t().workloads.partition(),
            of("/rollingUpdate/partition").filter(|from| from != "0"),
        ),
    ];
    let limits = limits
        .into_iter()
        .filter_map(|(name, limit)| Some(format!(", {name} {}", limit?)));
    Some(format!("{words}{}", limits.collect::<String>()))
}

fn management(policy: String) -> String {
    match policy.as_str() {
        "OrderedReady" => t().workloads.ordered_ready().to_owned(),
        "Parallel" => t().workloads.parallel().to_owned(),
        _ => policy,
    }
}

fn claims(object: &Value) -> Vec<String> {
    let claims = read::list(object, "/spec/volumeClaimTemplates").iter();
    claims
        .filter_map(|claim| {
            let name = read::text(claim, "/metadata/name")?;
            let size = read::text(claim, "/spec/resources/requests/storage").unwrap_or("?");
            let class = read::text(claim, "/spec/storageClassName")
                .unwrap_or_else(|| t().workloads.default_class());
            Some(format!("{name}: {size}, {class}"))
        })
        .collect()
}

fn revision(object: &Value) -> Option<String> {
    let annotations = read::at(object, "/metadata/annotations");
    let number = annotations.get("deployment.kubernetes.io/revision");
    let hash = read::text(object, "/status/updateRevision");
    let text = number.and_then(Value::as_str).or(hash);
    text.map(str::to_owned)
}
