//! Tests of control planes that tests use one after another.

use drover_e2e::{Component, SharedControlPlane};
use serde_json::json;

/// The kubectl commands that find the objects of [`change`].
const CHANGED: [&str; 4] = [
    "get namespace shop",
    "get clusterrole left-behind",
    "get validatingwebhookconfiguration left-behind",
    "get crd plums.shop.example",
];

/// Changes objects, the API of the server, files, and the cache of kubectl.
async fn change(cluster: &SharedControlPlane, property: &str) {
    let definition = json!({
        "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
        "metadata": {"name": "plums.shop.example"},
        "spec": {
            "group": "shop.example", "scope": "Cluster",
            "names": {"plural": "plums", "singular": "plum", "kind": "Plum"},
            "versions": [{"name": "v1", "served": true, "storage": true, "schema": {"openAPIV3Schema": {
                "type": "object", "properties": {property: {"type": "string"}},
            }}}],
        },
    });
    // The webhook would deny every write of ConfigMaps, because its server does not exist.
    let webhook = json!({
        "apiVersion": "admissionregistration.k8s.io/v1", "kind": "ValidatingWebhookConfiguration",
        "metadata": {"name": "left-behind"},
        "webhooks": [{
            "name": "left.behind.example", "sideEffects": "None", "admissionReviewVersions": ["v1"],
            "clientConfig": {"url": "https://127.0.0.1:1/"}, "failurePolicy": "Fail",
            "rules": [{"apiGroups": [""], "apiVersions": ["v1"], "operations": ["*"], "resources": ["configmaps"]}],
        }],
    });
    for line in [
        "create namespace shop",
        "create clusterrole left-behind --verb=get --resource=pods",
        "delete clusterrole view",
        "label namespace default left=behind",
    ] {
        cluster.kubectl(line.split(' ')).await.unwrap();
    }
    let apply = async |object: &serde_json::Value| {
        let kubectl = cluster.command_line().with_stdin(object.to_string());
        kubectl.run(["apply", "-f", "-"]).await.unwrap();
    };
    apply(&definition).await;
    let established = "wait --for=condition=Established crd/plums.shop.example";
    cluster.kubectl(established.split(' ')).await.unwrap();
    let plum = json!({
        "apiVersion": "shop.example/v1", "kind": "Plum", "metadata": {"name": "one"}, property: "x",
    });
    apply(&plum).await;
    let plum = cluster.kubectl(["get", "plum", "one", "-o", "json"]).await;
    assert!(plum.unwrap().stdout.contains(property));
    apply(&webhook).await;
    std::fs::write(cluster.folder().join("left-behind"), "").unwrap();
}

#[tokio::test]
async fn shared_control_plane_contains_no_change_of_an_earlier_test() {
    let mut cluster = SharedControlPlane::lease("left-behind").await.unwrap();
    let process = cluster.id(Component::ApiServer).unwrap();
    // Each change contains a different schema of the same kind.
    for property in ["colour", "weight"] {
        change(&cluster, property).await;
        drop(cluster);
        cluster = SharedControlPlane::lease("left-behind").await.unwrap();
        assert_eq!(cluster.id(Component::ApiServer).unwrap(), process);
        for line in CHANGED {
            let error = cluster.kubectl(line.split(' ')).await.unwrap_err();
            assert!(error.to_string().contains("NotFound"), "{line}: {error}");
        }
        let namespace = cluster
            .kubectl(["get", "namespace", "default", "-o", "json"])
            .await;
        assert!(!namespace.unwrap().stdout.contains("behind"));
        let line = "get clusterrole view -n default";
        cluster.kubectl(line.split(' ')).await.unwrap();
        let line = "create configmap written";
        cluster.kubectl(line.split(' ')).await.unwrap();
        assert!(!cluster.folder().join("left-behind").exists());
    }
}

#[tokio::test]
async fn control_plane_with_changed_programs_is_not_used_again() {
    let mut cluster = SharedControlPlane::lease("changed").await.unwrap();
    let process = cluster.id(Component::ApiServer).unwrap();
    cluster.restart(Component::ControllerManager).await.unwrap();
    drop(cluster);
    let next = SharedControlPlane::lease("changed").await.unwrap();
    assert_ne!(next.id(Component::ApiServer).unwrap(), process);
}
