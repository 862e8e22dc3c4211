use serde_json::json;

use super::*;

/// Returns the state and the first word of the message.
fn state(object: Value) -> String {
    let summary = summary(&readiness(&Object(object), &[]));
    let message = summary.message.first().cloned().unwrap_or_default();
    format!("{} {message}", summary.state).trim().to_owned()
}

fn deployment(spec: &Value, status: &Value) -> Value {
    json!({"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"generation": 2}, "spec": spec, "status": status})
}

#[test]
fn deployment_is_ready_when_all_replicas_are_available() {
    let available = json!([{"type": "Available", "status": "True"}]);
    for (spec, status, expected) in [
        (json!({}), json!({}), "in-progress replicas: 0/1"),
        (json!({"replicas": 0}), json!({}), "active"),
        (
            json!({"replicas": 2}),
            json!({"observedGeneration": 1}),
            "in-progress observed generation 1 is older than generation 2",
        ),
        (
            json!({"replicas": 2}),
            json!({"replicas": 2, "updatedReplicas": 1}),
            "in-progress Updated: 1/2",
        ),
        (
            json!({"replicas": 2}),
            json!({"replicas": 3, "updatedReplicas": 2}),
            "in-progress Pending termination: 1",
        ),
        (
            json!({"replicas": 2}),
            json!({"replicas": 2, "updatedReplicas": 2, "availableReplicas": 1}),
            "in-progress Available: 1/2",
        ),
        (
            json!({"replicas": 1}),
            json!({"replicas": 1, "updatedReplicas": 1, "availableReplicas": 1, "readyReplicas": 1, "conditions": available}),
            "active",
        ),
        (
            json!({}),
            json!({"conditions": [{"type": "Progressing", "reason": "ProgressDeadlineExceeded"}]}),
            "failed Progress deadline exceeded",
        ),
    ] {
        assert_eq!(state(deployment(&spec, &status)), expected);
    }
}

#[test]
#[expect(
    clippy::too_many_lines,
    reason = "the table has one entry for each rule"
)]
fn each_kind_has_its_own_rule() {
    for (api_version, kind, spec, status, expected) in [
        ("v1", "ConfigMap", json!({}), json!({}), "active"),
        (
            "v1",
            "Pod",
            json!({}),
            json!({"phase": "Pending"}),
            "in-progress Pod is in the Pending phase",
        ),
        (
            "v1",
            "Pod",
            json!({}),
            json!({"phase": "Succeeded"}),
            "active",
        ),
        (
            "v1",
            "PersistentVolumeClaim",
            json!({}),
            json!({"phase": "Pending"}),
            "in-progress PVC is not Bound",
        ),
        (
            "v1",
            "PersistentVolumeClaim",
            json!({}),
            json!({"phase": "Bound"}),
            "active",
        ),
        (
            "v1",
            "Service",
            json!({"type": "ClusterIP"}),
            json!({}),
            "active",
        ),
        (
            "v1",
            "Service",
            json!({"type": "LoadBalancer"}),
            json!({}),
            "in-progress Load balancer is being provisioned",
        ),
        (
            "batch/v1",
            "Job",
            json!({}),
            json!({}),
            "in-progress Job not started",
        ),
        (
            "batch/v1",
            "Job",
            json!({}),
            json!({"startTime": "t"}),
            "active",
        ),
        (
            "batch/v1",
            "Job",
            json!({}),
            json!({"conditions": [{"type": "Failed", "status": "True", "message": "m"}]}),
            "failed Job Failed. m",
        ),
        (
            "apps/v1",
            "DaemonSet",
            json!({}),
            json!({}),
            "in-progress Missing .status.observedGeneration",
        ),
        (
            "apps/v1",
            "StatefulSet",
            json!({}),
            json!({}),
            "in-progress Replicas: 0/1",
        ),
        (
            "apps/v1",
            "ReplicaSet",
            json!({"replicas": 0}),
            json!({}),
            "active",
        ),
        (
            "apiextensions.k8s.io/v1",
            "CustomResourceDefinition",
            json!({}),
            json!({}),
            "in-progress Install in progress",
        ),
        (
            "apiregistration.k8s.io/v1",
            "APIService",
            json!({}),
            json!({"conditions": [{"type": "Available", "status": "False", "message": "down"}]}),
            "in-progress down",
        ),
        (
            "example.com/v1",
            "Thing",
            json!({}),
            json!({"conditions": [{"type": "Ready", "status": "False", "message": "wait"}]}),
            "in-progress wait",
        ),
        (
            "example.com/v1",
            "Thing",
            json!({}),
            json!({"conditions": [{"type": "Stalled", "status": "True", "reason": "Broken"}]}),
            "failed Broken",
        ),
    ] {
        let object =
            json!({"apiVersion": api_version, "kind": kind, "spec": spec, "status": status});
        assert_eq!(state(object), expected, "{kind}");
    }
}

#[test]
fn deleted_object_is_not_ready() {
    let object =
        json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"deletionTimestamp": "t"}});
    assert_eq!(state(object), "removing resource scheduled for deletion");
}

#[test]
fn ignored_condition_does_not_count() {
    let object = Object(json!({
        "apiVersion": "example.com/v1", "kind": "Thing",
        "status": {"conditions": [{"type": "Ready", "status": "False"}]},
    }));
    let ignored = BTreeMap::from([
        ("type".to_owned(), "Ready".to_owned()),
        ("status".to_owned(), "False".to_owned()),
    ]);
    assert_eq!(readiness(&object, &[ignored]), Readiness::Current);
    let other = BTreeMap::from([("type".to_owned(), "Active".to_owned())]);
    assert_ne!(readiness(&object, &[other]), Readiness::Current);
}
