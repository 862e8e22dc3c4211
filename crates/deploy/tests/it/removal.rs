//! Removal of namespaces and of renamed releases.

use drover_deploy::record::{self, Info, Release, SECRET_TYPE, Status};
use serde_json::json;

use crate::cluster::{Bundle, TestCluster};

const A: &str = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\n";
const B: &str = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: b}\n";

fn bundle() -> Bundle {
    let mut bundle = Bundle::new(&[("a.yaml", A)]);
    bundle.spec.options.delete_namespace = true;
    bundle
}

async fn has_namespace(cluster: &TestCluster, name: &str) -> bool {
    let live = cluster.get("v1", "Namespace", name).await;
    live.is_some_and(|live| live.0.pointer("/metadata/deletionTimestamp").is_none())
}

async fn remove(cluster: &TestCluster, bundle: &Bundle, release: &str) {
    let options = &bundle.spec.options;
    let removed = cluster.deployer.remove("web", options, release);
    removed.await.unwrap();
}

#[tokio::test]
async fn namespace_is_deleted_with_its_last_release() {
    let cluster = TestCluster::new().await;
    let bundle = bundle();
    let outcome = cluster.deploy(&bundle).await.unwrap();
    assert!(has_namespace(&cluster, "web").await);
    remove(&cluster, &bundle, &outcome.release).await;
    assert!(!has_namespace(&cluster, "web").await);
}

#[tokio::test]
async fn namespace_of_a_bundle_that_was_never_deployed_stays() {
    let cluster = TestCluster::new().await;
    let namespace = json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "web"}});
    cluster.apply(namespace).await;
    remove(&cluster, &bundle(), "").await;
    assert!(has_namespace(&cluster, "web").await);
}

#[tokio::test]
async fn namespace_with_another_release_stays() {
    let cluster = TestCluster::new().await;
    let bundle = bundle();
    let outcome = cluster.deploy(&bundle).await.unwrap();
    let other = Release {
        name: "other".to_owned(),
        namespace: "web".to_owned(),
        version: 1,
        info: Info {
            status: Status::Deployed,
            ..Info::default()
        },
        chart: json!({"metadata": {"name": "other"}}),
        ..Release::default()
    };
    let secret = json!({
        "apiVersion": "v1", "kind": "Secret", "type": SECRET_TYPE,
        "metadata": {
            "name": record::secret_name("other", 1), "namespace": "web", "labels": record::labels(&other),
        },
        "stringData": {"release": record::encode(&other).unwrap()},
    });
    cluster.apply(secret).await;
    remove(&cluster, &bundle, &outcome.release).await;
    assert!(has_namespace(&cluster, "web").await);
    assert!(cluster.get("v1", "ConfigMap", "a").await.is_none());
}

#[tokio::test]
async fn namespace_of_the_system_stays() {
    let cluster = TestCluster::new().await;
    let mut bundle = bundle();
    bundle.spec.options.default_namespace = "cattle-monitoring".to_owned();
    let outcome = cluster.deploy(&bundle).await.unwrap();
    remove(&cluster, &bundle, &outcome.release).await;
    assert!(has_namespace(&cluster, "cattle-monitoring").await);
}

#[tokio::test]
async fn renamed_release_replaces_the_previous_release() {
    let cluster = TestCluster::new().await;
    let first = Bundle::new(&[("a.yaml", A), ("b.yaml", B)]);
    let first = cluster.deploy(&first).await.unwrap();
    let mut renamed = bundle();
    renamed.spec.options.helm = serde_json::from_value(json!({"releaseName": "shop"})).unwrap();
    let second = cluster.deploy(&renamed).await.unwrap();
    assert_eq!(second.release, "web/shop:1");
    assert!(cluster.get("v1", "ConfigMap", "b").await.is_some());
    let options = &renamed.spec.options;
    for _ in 0..2 {
        let replaced = cluster
            .deployer
            .remove_replaced("web", options, &first.release, &second);
        replaced.await.unwrap();
        assert!(cluster.get("v1", "ConfigMap", "a").await.is_some());
        assert!(cluster.get("v1", "ConfigMap", "b").await.is_none());
        assert!(has_namespace(&cluster, "web").await);
    }
    let same = cluster
        .deployer
        .remove_replaced("web", options, &second.release, &second);
    same.await.unwrap();
    assert!(cluster.get("v1", "ConfigMap", "a").await.is_some());
    let left = cluster.history().await.read().await.unwrap();
    assert!(left.is_empty(), "{left:?}");
}
