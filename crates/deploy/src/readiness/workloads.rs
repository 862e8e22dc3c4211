//! Readiness of the kinds that run pods.

use serde_json::Value;

use super::{Readiness, View, in_progress};

pub(super) fn deployment(view: &View<'_>) -> Readiness {
    let progress = view.condition("Progressing");
    if progress.is_some_and(|progress| progress.text("reason") == "ProgressDeadlineExceeded") {
        return Readiness::Failed("Progress deadline exceeded".to_owned());
    }
    if let Some(failure) = view
        .condition("ReplicaFailure")
        .filter(|condition| condition.is("True"))
    {
        return Readiness::Failed(failure.cause());
    }
    let wanted = replicas(view);
    let [all, updated, available, ready] = [
        "replicas",
        "updatedReplicas",
        "availableReplicas",
        "readyReplicas",
    ]
    .map(|field| view.count(&format!("/status/{field}")));
    if wanted > all {
        return in_progress(format!("replicas: {all}/{wanted}"));
    }
    if wanted > updated {
        return in_progress(format!("Updated: {updated}/{wanted}"));
    }
    if all > wanted {
        return in_progress(format!("Pending termination: {}", all - wanted));
    }
    if updated > available {
        return in_progress(format!("Available: {available}/{updated}"));
    }
    if wanted > ready {
        return in_progress(format!("Ready: {ready}/{wanted}"));
    }
    match view.condition("Available") {
        Some(condition) if condition.is("True") => Readiness::Current,
        None if wanted == 0 => Readiness::Current,
        Some(condition) => in_progress(condition.cause()),
        None => in_progress("Deployment is not Available"),
    }
}

pub(super) fn stateful_set(view: &View<'_>) -> Readiness {
    if view.text("/spec/updateStrategy/type") == "OnDelete" {
        return Readiness::Current;
    }
    let wanted = replicas(view);
    let [all, ready, current, updated] = [
        "replicas",
        "readyReplicas",
        "currentReplicas",
        "updatedReplicas",
    ]
    .map(|field| view.count(&format!("/status/{field}")));
    if wanted > all {
        return in_progress(format!("Replicas: {all}/{wanted}"));
    }
    if wanted > ready {
        return in_progress(format!("Ready: {ready}/{wanted}"));
    }
    if all > wanted {
        return in_progress(format!("Pending termination: {}", all - wanted));
    }
    if let Some(partition) = view
        .number("/spec/updateStrategy/rollingUpdate/partition")
        .filter(|partition| *partition > 0)
    {
        let expected = wanted - partition;
        return if updated < expected {
            in_progress(format!("Updated: {updated}/{expected}"))
        } else {
            Readiness::Current
        };
    }
    if wanted > current {
        return in_progress(format!("current: {current}/{wanted}"));
    }
    if view.text("/status/currentRevision") != view.text("/status/updateRevision") {
        return in_progress("Waiting for updated revision to match current");
    }
    Readiness::Current
}

pub(super) fn daemon_set(view: &View<'_>) -> Readiness {
    if view.number("/status/observedGeneration").is_none() || !view.has_status() {
        return in_progress("Missing .status.observedGeneration");
    }
    if view.text("/spec/updateStrategy/type") == "OnDelete" {
        return Readiness::Current;
    }
    let wanted = view.count("/status/desiredNumberScheduled");
    for (label, field) in [
        ("Current", "currentNumberScheduled"),
        ("Updated", "updatedNumberScheduled"),
        ("Available", "numberAvailable"),
        ("Ready", "numberReady"),
    ] {
        let count = view.count(&format!("/status/{field}"));
        if wanted > count {
            return in_progress(format!("{label}: {count}/{wanted}"));
        }
    }
    Readiness::Current
}

pub(super) fn replica_set(view: &View<'_>) -> Readiness {
    if let Some(failure) = view
        .condition("ReplicaFailure")
        .filter(|condition| condition.is("True"))
    {
        return Readiness::Failed(failure.cause());
    }
    let wanted = replicas(view);
    for (label, field) in [
        ("Labelled", "fullyLabeledReplicas"),
        ("Available", "availableReplicas"),
        ("Ready", "readyReplicas"),
    ] {
        let count = view.count(&format!("/status/{field}"));
        if wanted > count {
            return in_progress(format!("{label}: {count}/{wanted}"));
        }
    }
    let all = view.count("/status/replicas");
    if all > wanted {
        return in_progress(format!("Pending termination: {}", all - wanted));
    }
    Readiness::Current
}

pub(super) fn job(view: &View<'_>) -> Readiness {
    if let Some(failed) = view
        .condition("Failed")
        .filter(|condition| condition.is("True"))
    {
        return Readiness::Failed(format!("Job Failed. {}", failed.cause()));
    }
    if view
        .condition("Complete")
        .is_some_and(|complete| complete.is("True"))
    {
        return Readiness::Current;
    }
    if view.text("/status/startTime").is_empty() && !is_suspended(view) {
        return in_progress("Job not started");
    }
    // A running Job counts as ready, because it may run for days.
    Readiness::Current
}

fn is_suspended(view: &View<'_>) -> bool {
    view.object
        .0
        .pointer("/spec/suspend")
        .and_then(Value::as_bool)
        .unwrap_or_default()
}

pub(super) fn pod(view: &View<'_>) -> Readiness {
    if let Some(reason) = crash_reason(view) {
        return Readiness::Failed(reason);
    }
    match view.text("/status/phase") {
        "Succeeded" => Readiness::Current,
        "Failed" => Readiness::Failed(format!("Pod has failed: {}", view.text("/status/message"))),
        "Running" => match view.condition("Ready") {
            Some(ready) if ready.is("True") => Readiness::Current,
            _ => in_progress("Pod is running but is not Ready"),
        },
        _ => match view
            .condition("PodScheduled")
            .filter(|condition| condition.is("False"))
        {
            Some(unscheduled) if unscheduled.text("reason") == "Unschedulable" => in_progress(
                format!("Pod could not be scheduled: {}", unscheduled.cause()),
            ),
            _ => in_progress("Pod is in the Pending phase"),
        },
    }
}

/// Returns the reason of a container that restarts again and again.
fn crash_reason(view: &View<'_>) -> Option<String> {
    let statuses = view
        .object
        .0
        .pointer("/status/containerStatuses")?
        .as_array()?;
    statuses.iter().find_map(|status| {
        let waiting = status
            .pointer("/state/waiting/reason")
            .and_then(Value::as_str)?;
        let name = status
            .get("name")
            .and_then(Value::as_str)
            .unwrap_or_default();
        (waiting == "CrashLoopBackOff").then(|| format!("Container {name} in state {waiting}"))
    })
}

fn replicas(view: &View<'_>) -> i64 {
    view.number("/spec/replicas").unwrap_or(1)
}
