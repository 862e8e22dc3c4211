//! Release records that another user of the cluster wrote.

use drover_api::fleet::CorrectDrift;
use drover_deploy::deployment::DeployError;
use drover_deploy::object::DEPLOYMENT_LABEL;
use drover_deploy::record::{self, Hook, Info, Release, SECRET_TYPE, Status};
use serde_json::json;

use crate::cluster::{AGENT_NAMESPACE, Bundle, TestCluster};

const A: &str = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\ndata: {k: v}\n";
const EVIL: &str =
    r#"{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"evil","namespace":"web"}}"#;

/// Returns a record of the release `web` that names a bundle deployment.
fn release(deployment: &str, version: u32) -> Release {
    let event = |event: &str| Hook {
        name: "evil".to_owned(),
        kind: "ConfigMap".to_owned(),
        manifest: EVIL.to_owned(),
        events: vec![event.to_owned()],
        ..Hook::default()
    };
    Release {
        name: "web".to_owned(),
        namespace: "web".to_owned(),
        version,
        info: Info {
            status: Status::Deployed,
            ..Info::default()
        },
        chart: json!({"metadata": {"name": "web", "annotations": {
            "fleet.cattle.io/bundle-id": deployment,
            "management.drover.dev/signature": "AAAA",
        }}}),
        manifest: format!("---\n{EVIL}\n"),
        hooks: vec![event("pre-delete"), event("pre-rollback")],
        ..Release::default()
    }
}

/// Writes a record like a user who may write Secrets.
async fn forge(cluster: &TestCluster, release: &Release) {
    let mut labels = record::labels(release);
    labels.insert(DEPLOYMENT_LABEL.to_owned(), "web".to_owned());
    let namespace = json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "web"}});
    cluster.apply(namespace).await;
    let secret = json!({
        "apiVersion": "v1", "kind": "Secret", "type": SECRET_TYPE,
        "metadata": {
            "name": record::secret_name(&release.name, release.version), "namespace": "web", "labels": labels,
        },
        "stringData": {"release": record::encode(release).unwrap()},
    });
    cluster.apply(secret).await;
}

async fn assert_no_evil(cluster: &TestCluster) {
    assert!(cluster.get("v1", "ConfigMap", "evil").await.is_none());
}

#[tokio::test]
async fn removal_runs_no_hooks_of_a_forged_record() {
    let cluster = TestCluster::new().await;
    let bundle = Bundle::new(&[("a.yaml", A)]);
    let outcome = cluster.deploy(&bundle).await.unwrap();
    forge(&cluster, &release("web", 2)).await;
    let removed = cluster
        .deployer
        .remove("web", &bundle.spec.options, &outcome.release);
    removed.await.unwrap();
    assert_no_evil(&cluster).await;
    assert!(cluster.get("v1", "ConfigMap", "a").await.is_none());
    let left = cluster.history().await.read().await.unwrap();
    assert!(left.is_empty(), "{left:?}");
}

#[tokio::test]
async fn forged_record_is_no_release_of_a_bundle_deployment() {
    let cluster = TestCluster::new().await;
    forge(&cluster, &release("stale", 1)).await;
    assert_eq!(cluster.deployer.releases().await.unwrap(), []);
}

#[tokio::test]
async fn copied_record_has_no_valid_signature() {
    let cluster = TestCluster::new().await;
    cluster
        .deploy(&Bundle::new(&[("a.yaml", A)]))
        .await
        .unwrap();
    let releases = cluster.deployer.releases().await.unwrap();
    assert_eq!(releases[0].release, "web/web:1");
    let release = cluster.history().await.get(1).await.unwrap().unwrap();
    let mut copied = release.release;
    copied.version = 2;
    forge(&cluster, &copied).await;
    assert_eq!(cluster.deployer.releases().await.unwrap(), releases);
    // The record of the revision 1 is no record of the revision 2.
    copied.version = 1;
    let mut secret = json!({"apiVersion": "v1", "kind": "Secret", "type": SECRET_TYPE});
    secret["metadata"] = json!({"name": record::secret_name("web", 2), "namespace": "web"});
    secret["stringData"] = json!({"release": record::encode(&copied).unwrap()});
    cluster.apply(secret).await;
    let stored = cluster.history().await.get(2).await.unwrap().unwrap();
    assert!(!stored.is_signed());
}

#[tokio::test]
async fn objects_of_a_forged_record_are_not_applied() {
    let cluster = TestCluster::new().await;
    let mut bundle = Bundle::new(&[("a.yaml", A)]);
    let outcome = cluster.deploy(&bundle).await.unwrap();
    bundle.spec.correct_drift = Some(CorrectDrift {
        enabled: true,
        ..CorrectDrift::default()
    });
    forge(&cluster, &release("web", 1)).await;
    let corrected = cluster
        .deployer
        .correct("web", &bundle.spec, &outcome.release);
    let report = corrected.await.unwrap();
    assert_eq!(report.modified.len(), 2, "{report:?}");
    assert_no_evil(&cluster).await;
}

#[tokio::test]
async fn failed_deployment_does_not_roll_back_to_a_forged_record() {
    let cluster = TestCluster::new().await;
    forge(&cluster, &release("web", 1)).await;
    let mut bundle = Bundle::new(&[
        ("Chart.yaml", "apiVersion: v2\nname: a\nversion: 1.0.0\n"),
        (
            "templates/a.yaml",
            "apiVersion: v1\nkind: Pod\nmetadata:\n  name: hook\n  annotations: {helm.sh/hook: pre-upgrade}\n\
             spec:\n  containers: [{name: a, image: b}]\n",
        ),
    ]);
    bundle.spec.options.helm =
        serde_json::from_value(json!({"timeoutSeconds": 1, "atomic": true})).unwrap();
    let error = cluster.deploy(&bundle).await.unwrap_err();
    assert!(matches!(error, DeployError::Hook(_)), "{error}");
    assert_no_evil(&cluster).await;
}

#[tokio::test]
async fn deployment_continues_after_a_forged_record_and_adopts_no_foreign_object() {
    let cluster = TestCluster::new().await;
    let mut forged = release("web", 1);
    forged.manifest = format!("---\n{A}");
    forge(&cluster, &forged).await;
    let foreign = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a", "namespace": "web"}, "data": {"k": "x"}});
    cluster.apply(foreign).await;
    let bundle = Bundle::new(&[("a.yaml", A)]);
    let error = cluster.deploy(&bundle).await.unwrap_err();
    assert!(matches!(error, DeployError::Release(_)), "{error}");
    let bundle = Bundle::new(&[("b.yaml", &A.replace("name: a", "name: b"))]);
    let outcome = cluster.deploy(&bundle).await.unwrap();
    assert_eq!(outcome.release, "web/web:3");
    // The foreign object has no marks of the release, so that the deployment does not delete it.
    assert!(cluster.get("v1", "ConfigMap", "a").await.is_some());
}

#[tokio::test]
async fn replicas_share_the_key_of_the_release_records() {
    let cluster = TestCluster::new().await;
    let keys =
        || drover_deploy::signature::SigningKeys::new(cluster.client.clone(), AGENT_NAMESPACE);
    let (first, second) = (keys(), keys());
    let (first, second) = tokio::join!(first.get(), second.get());
    let mut signed = release("web", 1);
    first.unwrap().sign(&mut signed);
    assert_eq!(second.unwrap().deployment(&signed).as_deref(), Some("web"));
}
