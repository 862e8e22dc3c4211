//! Limits of the bundles of tenants, and copies of objects of the hub.

use drover_deploy::deployment::{DeployError, Input, Outcome};
use drover_deploy::object::{Object, ObjectKey};
use serde_json::{Value, json};

use crate::cluster::{Bundle, TestCluster};

const A: &str = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\n";

fn namespace(labels: &Value) -> Value {
    json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "web", "labels": labels}})
}

fn secret(password: &str) -> Object {
    let data = json!({ "password": password });
    Object(json!({
        "apiVersion": "v1", "kind": "Secret", "type": "Opaque", "data": data,
        "metadata": { "name": "login", "namespace": "cluster-fleet-default-east" },
    }))
}

fn with_copy(password: &str) -> Bundle {
    let mut bundle = Bundle::new(&[("a.yaml", A)]);
    bundle.copies = vec![secret(password)];
    bundle
}

impl TestCluster {
    async fn password(&self) -> Option<Value> {
        let found = self.get("v1", "Secret", "login").await;
        found.map(|found| found.0["data"]["password"].clone())
    }

    /// Deploys a bundle deployment with another name.
    async fn deploy_as(&self, name: &str, bundle: &Bundle) -> Outcome {
        let input = Input {
            name,
            ..bundle.input()
        };
        self.deployer.deploy(&input).await.unwrap()
    }
}

#[tokio::test]
async fn namespace_without_the_required_labels_is_refused_until_it_has_them() {
    let cluster = TestCluster::new().await;
    let mut bundle = Bundle::new(&[("a.yaml", A)]);
    bundle.spec.options.namespace_labels = [("team".to_owned(), "a".to_owned())].into();
    let selector = json!({ "matchLabels": { "team": "a" } });
    let selector = serde_json::from_value(selector).unwrap();
    bundle.spec.options.allowed_target_namespace_selector = Some(selector);
    for labels in [None, Some(json!({ "team": "b" }))] {
        if let Some(labels) = labels {
            cluster.apply(namespace(&labels)).await;
        }
        let error = cluster.deploy(&bundle).await.unwrap_err();
        assert!(matches!(error, DeployError::Namespace(_)), "{error}");
        assert!(!error.is_permanent());
        assert!(cluster.get("v1", "ConfigMap", "a").await.is_none());
    }
    let web = ObjectKey {
        namespace: String::new(),
        ..Object(namespace(&json!({}))).key()
    };
    let live = cluster.cluster.get(&web).await.unwrap().unwrap();
    assert_eq!(live.label("team"), Some("b"));

    cluster.apply(namespace(&json!({ "team": "a" }))).await;
    cluster.deploy(&bundle).await.unwrap();
}

#[tokio::test]
async fn copies_are_written_before_the_chart_is_rendered_and_follow_their_sources() {
    let cluster = TestCluster::new().await;
    let mut bundle = with_copy("cm9vdA==");
    let values_from =
        json!({ "valuesFrom": [{ "secretKeyRef": { "name": "login", "key": "password" } }] });
    bundle.spec.options.helm = Some(serde_json::from_value(values_from).unwrap());
    // The text `color: red` in base64.
    bundle.copies = vec![secret("Y29sb3I6IHJlZA==")];
    cluster.deploy(&bundle).await.unwrap();
    assert_eq!(cluster.password().await, Some(json!("Y29sb3I6IHJlZA==")));

    // The server changes the generation with each change of an object.
    bundle.spec.downstream_resources_generation = 1;
    bundle.copies = vec![secret("Y29sb3I6IGJsdWU=")];
    cluster.deploy(&bundle).await.unwrap();
    assert_eq!(cluster.password().await, Some(json!("Y29sb3I6IGJsdWU=")));

    // The type of a Secret cannot change.
    bundle.spec.downstream_resources_generation = 2;
    bundle.copies[0].0["type"] = json!("example.com/login");
    cluster.deploy(&bundle).await.unwrap();
    let live = cluster.get("v1", "Secret", "login").await.unwrap();
    assert_eq!(live.0["type"], "example.com/login");

    bundle.spec.options.helm = None;
    bundle.spec.deployment_id = "s-1:3".to_owned();
    bundle.copies = Vec::new();
    cluster.deploy(&bundle).await.unwrap();
    assert_eq!(cluster.password().await, None);
}

#[tokio::test]
async fn copy_does_not_replace_another_object() {
    let cluster = TestCluster::new().await;
    cluster.apply(namespace(&json!({}))).await;
    let mut other = secret("b3RoZXI=");
    other.set_namespace("web");
    cluster.apply(other.0).await;
    let bundle = with_copy("cm9vdA==");
    let error = cluster.deploy(&bundle).await.unwrap_err();
    assert!(matches!(error, DeployError::OccupiedCopy(_)), "{error}");
    cluster
        .deployer
        .remove("web", &bundle.spec.options, "")
        .await
        .unwrap();
    assert_eq!(cluster.password().await, Some(json!("b3RoZXI=")));
}

#[tokio::test]
async fn last_of_several_deployments_deletes_a_shared_copy() {
    let cluster = TestCluster::new().await;
    let bundle = with_copy("cm9vdA==");
    let first = cluster.deploy(&bundle).await.unwrap();
    let mut second = with_copy("cm9vdA==");
    second.resources[0].content = A.replace("{name: a}", "{name: b}");
    let other = cluster.deploy_as("other", &second).await;

    let options = &bundle.spec.options;
    let removed = cluster.deployer.remove("web", options, &first.release);
    removed.await.unwrap();
    assert!(cluster.password().await.is_some());
    let mut kept = second.spec.options.clone();
    kept.keep_resources = true;
    let removed = cluster.deployer.remove("other", &kept, &other.release);
    removed.await.unwrap();
    assert!(cluster.password().await.is_some(), "keepResources");

    let other = cluster.deploy_as("other", &second).await;
    let options = &second.spec.options;
    let removed = cluster.deployer.remove("other", options, &other.release);
    removed.await.unwrap();
    assert!(cluster.password().await.is_none());
}

#[tokio::test]
async fn copy_is_deleted_with_the_release_in_the_previous_namespace() {
    let cluster = TestCluster::new().await;
    let mut bundle = with_copy("cm9vdA==");
    let first = cluster.deploy(&bundle).await.unwrap();
    bundle.spec.options.default_namespace = "shop".to_owned();
    bundle.spec.deployment_id = "s-1:3".to_owned();
    let second = cluster.deploy(&bundle).await.unwrap();
    let options = &bundle.spec.options;
    cluster
        .deployer
        .remove_replaced("web", options, &first.release, &second)
        .await
        .unwrap();
    assert_eq!(cluster.password().await, None);
    let mut moved = secret("cm9vdA==");
    moved.set_namespace("shop");
    assert!(cluster.cluster.get(&moved.key()).await.unwrap().is_some());
}
