//! Deployment of charts and kustomizations.

use drover_deploy::deployment::DeployError;
use drover_deploy::record::Status;
use k8s_openapi::api::batch::v1::Job;
use kube::Api;
use kube::api::{Patch, PatchParams};
use serde_json::json;

use crate::cluster::{Bundle, TestCluster};

/// Completes the hook's Job as soon as it exists, like the Job controller.
async fn complete_job(cluster: &TestCluster) {
    let jobs: Api<Job> = Api::namespaced(cluster.client.clone(), "web");
    let status = json!({"status": {
        "startTime": "2026-01-01T00:00:00Z", "completionTime": "2026-01-01T00:00:01Z", "succeeded": 1,
        "conditions": [
            {"type": "SuccessCriteriaMet", "status": "True"},
            {"type": "Complete", "status": "True"},
        ],
    }});
    for _ in 0..400 {
        let patch = Patch::Merge(&status);
        if jobs
            .patch_status("web-migrate", &PatchParams::default(), &patch)
            .await
            .is_ok()
        {
            return;
        }
        tokio::time::sleep(std::time::Duration::from_millis(50)).await;
    }
    panic!("the hook's Job is not created");
}

#[tokio::test]
async fn chart_is_deployed_with_hooks_and_a_release_record() {
    let cluster = TestCluster::new().await;
    let bundle = Bundle::chart();
    let deployed = cluster.deploy(&bundle);
    let (outcome, ()) = tokio::join!(deployed, complete_job(&cluster));
    assert_eq!(outcome.unwrap().release, "web/web:1");
    let config = cluster.get("v1", "ConfigMap", "web-config").await.unwrap();
    assert_eq!(config.0["data"]["upgrade"], "false");
    assert_eq!(config.annotation("meta.helm.sh/release-name"), Some("web"));
    assert!(
        cluster
            .get("batch/v1", "Job", "web-migrate")
            .await
            .is_none(),
        "hook-succeeded"
    );
    assert!(
        cluster
            .cluster
            .kind("example.com/v1", "Thing")
            .await
            .unwrap()
            .namespaced
    );

    let stored = cluster.history().await.read().await.unwrap();
    assert_eq!(stored.len(), 1);
    assert_eq!(stored[0].release.info.status, Status::Deployed);
    assert_eq!(stored[0].release.chart["metadata"]["name"], "web");
    assert_eq!(stored[0].release.hooks[0].name, "web-migrate");
}

#[tokio::test]
async fn failed_hook_fails_the_deployment() {
    let cluster = TestCluster::new().await;
    let mut bundle = Bundle::new(&[
        ("Chart.yaml", "apiVersion: v2\nname: a\nversion: 1.0.0\n"),
        (
            "templates/a.yaml",
            "apiVersion: v1\nkind: Pod\nmetadata:\n  name: hook\n  annotations: {helm.sh/hook: pre-install}\n\
             spec:\n  containers: [{name: a, image: b}]\n",
        ),
    ]);
    bundle.spec.options.helm = Some(drover_api::fleet::HelmOptions {
        timeout_seconds: 1,
        ..drover_api::fleet::HelmOptions::default()
    });
    let error = cluster.deploy(&bundle).await.unwrap_err();
    assert!(
        error
            .to_string()
            .contains("timed out waiting for the condition"),
        "{error}"
    );
    assert!(error.is_permanent());
    let stored = cluster.history().await.read().await.unwrap();
    assert_eq!(stored[0].release.info.status, Status::Failed);
}

#[tokio::test]
async fn lookup_reads_the_cluster() {
    let cluster = TestCluster::new().await;
    cluster
        .apply(json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "web"}}))
        .await;
    cluster
        .apply(json!({
            "apiVersion": "v1", "kind": "Secret", "metadata": {"name": "web-password", "namespace": "web"},
            "stringData": {"password": "pw"},
        }))
        .await;
    let bundle = Bundle::chart();
    let (outcome, ()) = tokio::join!(cluster.deploy(&bundle), complete_job(&cluster));
    outcome.unwrap();
    let config = cluster.get("v1", "ConfigMap", "web-config").await.unwrap();
    assert_eq!(config.0["data"]["password"], "pw");
}

#[tokio::test]
async fn values_of_the_cluster_replace_values_of_the_bundle() {
    let cluster = TestCluster::new().await;
    cluster
        .apply(json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "web"}}))
        .await;
    cluster
        .apply(json!({
            "apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "v", "namespace": "web"},
            "data": {"values.yaml": "a: 2\n"},
        }))
        .await;
    let mut bundle = Bundle::new(&[
        ("Chart.yaml", "apiVersion: v2\nname: a\nversion: 1.0.0\n"),
        (
            "templates/a.yaml",
            "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\ndata: {a: \"{{ .Values.a }}\", b: \"{{ .Values.b }}\"}\n",
        ),
    ]);
    bundle.spec.options.helm = serde_json::from_value(json!({
        "values": {"a": 1, "b": 1},
        "valuesFrom": [{"configMapKeyRef": {"name": "v"}}],
    }))
    .unwrap();
    cluster.deploy(&bundle).await.unwrap();
    let config = cluster.get("v1", "ConfigMap", "a").await.unwrap();
    assert_eq!(config.0["data"], json!({"a": "2", "b": "1"}));
}

#[tokio::test]
async fn kustomization_is_deployed() {
    let cluster = TestCluster::new().await;
    let bundle = Bundle::new(&[
        (
            "kustomization.yaml",
            "resources: [a.yaml]\nnameSuffix: -k\n",
        ),
        (
            "a.yaml",
            "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\n",
        ),
    ]);
    cluster.deploy(&bundle).await.unwrap();
    assert!(cluster.get("v1", "ConfigMap", "a-k").await.is_some());
}

#[tokio::test]
async fn release_of_another_deployment_is_not_replaced() {
    let cluster = TestCluster::new().await;
    let bundle = Bundle::new(&[(
        "a.yaml",
        "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\n",
    )]);
    cluster.deploy(&bundle).await.unwrap();
    let mut other = Bundle::new(&[]);
    other.spec.options.helm = serde_json::from_value(json!({"releaseName": "web"})).unwrap();
    let input = drover_deploy::deployment::Input {
        name: "other",
        ..other.input()
    };
    let error = cluster.deployer.deploy(&input).await.unwrap_err();
    assert!(matches!(error, DeployError::OtherOwner { .. }), "{error}");
}

const CHART: (&str, &str) = ("Chart.yaml", "apiVersion: v2\nname: a\nversion: 1.0.0\n");
const DEFINITION: &str = include_str!("../charts/web/crds/things.yaml");
const ROLE: &str =
    "apiVersion: rbac.authorization.k8s.io/v1\nkind: ClusterRole\nmetadata: {name: a}\n";

#[tokio::test]
async fn folder_of_definitions_cannot_contain_other_objects() {
    let cluster = TestCluster::new().await;
    let error = cluster
        .deploy(&Bundle::new(&[CHART, ("crds/a.yaml", ROLE)]))
        .await;
    let error = error.unwrap_err();
    assert!(matches!(error, DeployError::NoDefinition(_)), "{error}");
    assert!(error.is_permanent());
}

#[tokio::test]
async fn forced_namespace_rejects_definitions() {
    let cluster = TestCluster::new().await;
    let mut bundle = Bundle::new(&[CHART, ("crds/a.yaml", DEFINITION)]);
    bundle.spec.options.target_namespace = "web".to_owned();
    let error = cluster.deploy(&bundle).await.unwrap_err();
    assert!(matches!(error, DeployError::ClusterScoped(_)), "{error}");
}

#[tokio::test]
async fn definition_in_a_chart_does_not_change_the_scope_of_a_built_in_kind() {
    let cluster = TestCluster::new().await;
    let definition = DEFINITION
        .replace(
            "things.example.com",
            "clusterroles.rbac.authorization.k8s.io",
        )
        .replace("example.com", "rbac.authorization.k8s.io")
        .replace("Thing", "ClusterRole");
    cluster.deploy(&Bundle::new(&[CHART])).await.unwrap();
    // An upgrade does not create the definitions of the folder `crds/`.
    let bundle = Bundle::new(&[
        CHART,
        ("templates/a.yaml", ROLE),
        ("crds/definition.yaml", &definition),
    ]);
    let outcome = cluster.deploy(&bundle).await.unwrap();
    assert_eq!(outcome.objects[0].kind, "ClusterRole");
    assert_eq!(outcome.objects[0].namespace, "");
}
