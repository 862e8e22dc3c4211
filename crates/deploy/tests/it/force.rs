//! Replacement of objects whose immutable fields changed.

use serde_json::json;

use crate::cluster::{Bundle, TestCluster};

fn deployment(selector: &str, label: &str) -> String {
    let object = json!({
        "apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "a"},
        "spec": {
            "selector": {"matchLabels": {"app": selector}},
            "template": {
                "metadata": {"labels": {"app": label}},
                "spec": {"containers": [{"name": "a", "image": "b"}]},
            },
        },
    });
    object.to_string()
}

fn bundle(selector: &str, label: &str, force: bool) -> Bundle {
    let mut bundle = Bundle::new(&[("a.yaml", &deployment(selector, label))]);
    bundle.spec.options.helm = serde_json::from_value(json!({"force": force})).unwrap();
    bundle
}

async fn uid(cluster: &TestCluster) -> String {
    let live = cluster.get("apps/v1", "Deployment", "a").await.unwrap();
    live.uid().to_owned()
}

#[tokio::test]
async fn object_with_a_changed_immutable_field_is_replaced_only_with_force() {
    let cluster = TestCluster::new().await;
    cluster.deploy(&bundle("a", "a", false)).await.unwrap();
    let first = uid(&cluster).await;
    let error = cluster.deploy(&bundle("b", "b", false)).await.unwrap_err();
    assert!(error.is_permanent(), "{error}");
    assert_eq!(uid(&cluster).await, first);
    cluster.deploy(&bundle("b", "b", true)).await.unwrap();
    assert_ne!(uid(&cluster).await, first);
}

#[tokio::test]
async fn object_stays_if_its_replacement_is_not_valid() {
    let cluster = TestCluster::new().await;
    cluster.deploy(&bundle("a", "a", true)).await.unwrap();
    let first = uid(&cluster).await;
    let error = cluster.deploy(&bundle("b", "c", true)).await.unwrap_err();
    assert!(error.to_string().contains("check the new"), "{error}");
    assert_eq!(uid(&cluster).await, first);
}
