//! Tests of the subresources of pods.

use serde_json::{Value, json};

use super::hub::Hub;

const PODS: &str = "/api/v1/namespaces/default/pods";

async fn hub_with_pod() -> (Hub, Value) {
    let hub = Hub::new().await;
    let pod = json!({"metadata": {"name": "p"}, "spec": {"containers": [
        {"name": "c", "image": "i"}]}});
    let pod = hub.create(PODS, pod).await;
    (hub, pod["metadata"].clone())
}

fn eviction(preconditions: &Value) -> Value {
    json!({"apiVersion": "policy/v1", "kind": "Eviction", "metadata": {"name": "p"},
        "deleteOptions": {"gracePeriodSeconds": 0, "preconditions": preconditions}})
}

#[tokio::test]
async fn eviction_with_wrong_uid_or_version_precondition_returns_409() {
    let (hub, meta) = hub_with_pod().await;
    let evict = format!("{PODS}/p/eviction");
    for other in [
        json!({"uid": "of-the-one-before"}),
        json!({"resourceVersion": "1"}),
    ] {
        hub.post(&evict, eviction(&other)).await.expect(409);
        let pod = hub.get(&format!("{PODS}/p")).await.expect(200);
        assert_eq!(pod["metadata"], meta, "{other}");
        let text = pod["status"].to_string();
        assert!(!text.contains("DisruptionTarget"), "{text}");
    }
    let this = json!({"uid": meta["uid"], "resourceVersion": meta["resourceVersion"]});
    hub.post(&evict, eviction(&this)).await.expect(201);
    hub.get(&format!("{PODS}/p")).await.expect(404);
}

#[tokio::test]
async fn binding_with_invalid_labels_is_rejected() {
    let (hub, _) = hub_with_pod().await;
    let binding = |labels: Value| {
        json!({"apiVersion": "v1", "kind": "Binding", "target": {"kind": "Node", "name": "n"},
            "metadata": {"name": "p", "labels": labels}})
    };
    let bind = format!("{PODS}/p/binding");
    let nested = binding(json!({"a": {"b": 1}}));
    hub.post(&bind, nested).await.expect(400);
    let strange = binding(json!({"a b": "c"}));
    hub.post(&bind, strange).await.expect(422);
    let pod = hub.get(&format!("{PODS}/p")).await.expect(200);
    assert_eq!(pod["spec"].get("nodeName"), None);
    hub.post(&bind, binding(json!({"a": "b"})))
        .await
        .expect(201);
    let pod = hub.get(&format!("{PODS}/p")).await.expect(200);
    assert_eq!(pod["metadata"]["labels"], json!({"a": "b"}));
}

#[tokio::test]
async fn status_update_retains_concurrent_cordon_of_node() {
    let hub = Hub::new().await;
    hub.create("/api/v1/nodes", json!({"metadata": {"name": "n"}}))
        .await;
    let address = json!({"type": "InternalIP", "address": "192.0.2.1"});
    let twice = json!({"status": {"addresses": [address, address]}});
    let status = hub.patch("/api/v1/nodes/n/status", "merge", twice).await;
    status.expect(422);
    let cordon = json!({"spec": {"unschedulable": true}});
    let cordoned = hub.patch("/api/v1/nodes/n", "merge", cordon).await;
    cordoned.expect(200);
}

#[tokio::test]
async fn mirror_pod_receives_no_service_account() {
    let hub = Hub::new().await;
    let pod = |account: Option<&str>| {
        json!({"metadata": {"name": "m", "annotations": {"kubernetes.io/config.mirror": "x"}},
            "spec": {"serviceAccountName": account, "containers": [{"name": "c", "image": "i"}]}})
    };
    let body = json!(pod(Some("robot")));
    hub.post(PODS, body).await.expect(403);
    let created = hub.create(PODS, pod(None)).await;
    assert_eq!(created["spec"].get("volumes"), None, "{created}");
}

#[tokio::test]
async fn pod_with_missing_service_account_is_rejected() {
    let hub = Hub::new().await;
    let pod = json!({"metadata": {"name": "p"}, "spec": {"serviceAccountName": "robot",
        "containers": [{"name": "c", "image": "i"}]}});
    let refused = hub.post(PODS, pod).await;
    assert!(refused.message().contains("robot"), "{}", refused.message());
    refused.expect(403);
}
