//! Deployment, observation, correction and removal of plain YAML.

use drover_api::fleet::{BundleDeploymentStatus, CorrectDrift};
use drover_deploy::apply::ReleaseError;
use drover_deploy::deployment::{DeployError, status};
use drover_deploy::object::DEPLOYMENT_LABEL;
use drover_deploy::record::Status;
use serde_json::json;

use crate::cluster::{Bundle, TestCluster};

const A: &str = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\ndata: {k: v}\n";
const B: &str = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: b}\n";

#[tokio::test]
async fn objects_are_applied_and_observed() {
    let cluster = TestCluster::new().await;
    let bundle = Bundle::new(&[("a.yaml", A), ("b.yaml", B)]);
    let outcome = cluster.deploy(&bundle).await.unwrap();
    assert_eq!(outcome.objects.len(), 2);
    let live = cluster.get("v1", "ConfigMap", "a").await.unwrap();
    assert_eq!(live.label(DEPLOYMENT_LABEL), Some("web"));

    let report = cluster
        .deployer
        .observe("web", &bundle.spec, &outcome.release)
        .await
        .unwrap();
    assert!(report.is_ready() && report.is_unmodified(), "{report:?}");
    assert_eq!((report.counts.ready, report.counts.desired_ready), (2, 2));
    assert_eq!(report.versions.len(), 2);
    let without_requests = cluster.deployer.report_of(&bundle.spec, &outcome);
    assert_eq!(without_requests.as_ref(), Some(&report));
    let deployed = status::deployed(
        BundleDeploymentStatus::default(),
        &bundle.spec,
        &outcome.release,
        "t",
    );
    let observed = status::observed(deployed, &report, "t");
    assert!(observed.ready && observed.non_modified);
    assert_eq!(observed.release, "web/web:1");
    assert_eq!(observed.applied_deployment_id, bundle.spec.deployment_id);
    let states: Vec<_> = observed
        .conditions
        .iter()
        .map(|c| (c.type_.as_str(), c.status.as_str()))
        .collect();
    assert_eq!(
        states,
        [
            ("Installed", "True"),
            ("Deployed", "True"),
            ("Monitored", "True"),
            ("Ready", "True")
        ]
    );
}

#[tokio::test]
async fn removed_objects_are_deleted_and_removed_fields_disappear() {
    let cluster = TestCluster::new().await;
    cluster
        .deploy(&Bundle::new(&[("a.yaml", A), ("b.yaml", B)]))
        .await
        .unwrap();
    let changed = A.replace("{k: v}", "{l: w}");
    let outcome = cluster
        .deploy(&Bundle::new(&[("a.yaml", &changed)]))
        .await
        .unwrap();
    assert_eq!(outcome.release, "web/web:2");
    assert!(cluster.get("v1", "ConfigMap", "b").await.is_none());
    let live = cluster.get("v1", "ConfigMap", "a").await.unwrap();
    assert_eq!(live.0["data"], json!({"l": "w"}));
}

#[tokio::test]
async fn history_keeps_two_records() {
    let cluster = TestCluster::new().await;
    for value in ["1", "2", "3"] {
        let text = A.replace("{k: v}", &format!("{{k: v{value}}}"));
        cluster
            .deploy(&Bundle::new(&[("a.yaml", &text)]))
            .await
            .unwrap();
    }
    let stored = cluster.history().await.read().await.unwrap();
    let states: Vec<_> = stored
        .iter()
        .map(|one| (one.release.version, one.release.info.status))
        .collect();
    assert_eq!(states, [(2, Status::Superseded), (3, Status::Deployed)]);
}

#[tokio::test]
async fn complete_deployment_is_repeated_only_if_the_hub_requests_it() {
    let cluster = TestCluster::new().await;
    let mut bundle = Bundle::new(&[("a.yaml", A)]);
    let first = cluster.deploy(&bundle).await.unwrap();
    // The agent ended before it wrote the status, and starts again.
    let again = cluster.deploy(&bundle).await.unwrap();
    assert_eq!(again.release, "web/web:1");
    assert_eq!(again.objects, first.objects);
    assert_eq!(cluster.deployer.report_of(&bundle.spec, &again), None);

    bundle.spec.options.force_sync_generation = 1;
    let forced = cluster.deploy(&bundle).await.unwrap();
    assert_eq!(forced.release, "web/web:2");
}

#[tokio::test]
async fn object_of_another_owner_is_not_replaced() {
    let cluster = TestCluster::new().await;
    cluster
        .apply(json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "web"}}))
        .await;
    let foreign = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a", "namespace": "web"}, "data": {"k": "x"}});
    cluster.apply(foreign).await;
    let mut bundle = Bundle::new(&[("a.yaml", A)]);
    let error = cluster.deploy(&bundle).await.unwrap_err();
    assert!(
        matches!(error, DeployError::Release(ReleaseError::NotOwned { .. })),
        "{error}"
    );
    let live = cluster.get("v1", "ConfigMap", "a").await.unwrap();
    assert_eq!(live.0["data"]["k"], "x");
    bundle.spec.options.helm = serde_json::from_value(json!({"takeOwnership": true})).unwrap();
    cluster.deploy(&bundle).await.unwrap();
    let live = cluster.get("v1", "ConfigMap", "a").await.unwrap();
    assert_eq!(live.0["data"]["k"], "v");
}

#[tokio::test]
async fn drift_is_reported_and_corrected_without_a_new_record() {
    let cluster = TestCluster::new().await;
    let mut bundle = Bundle::new(&[("a.yaml", A)]);
    let outcome = cluster.deploy(&bundle).await.unwrap();
    let changed = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a", "namespace": "web"}, "data": {"k": "x"}});
    cluster.apply(changed).await;
    let report = cluster
        .deployer
        .correct("web", &bundle.spec, &outcome.release)
        .await
        .unwrap();
    assert_eq!(report.modified[0].patch, "{\"data\":{\"k\":\"v\"}}");

    bundle.spec.correct_drift = Some(CorrectDrift {
        enabled: true,
        ..CorrectDrift::default()
    });
    let report = cluster
        .deployer
        .correct("web", &bundle.spec, &outcome.release)
        .await
        .unwrap();
    assert!(report.is_unmodified(), "{report:?}");
    let live = cluster.get("v1", "ConfigMap", "a").await.unwrap();
    assert_eq!(live.0["data"]["k"], "v");
    let stored = cluster.history().await.read().await.unwrap();
    assert_eq!(stored.len(), 1);
}

#[tokio::test]
async fn removal_deletes_objects_and_records() {
    let cluster = TestCluster::new().await;
    let mut bundle = Bundle::new(&[("a.yaml", A)]);
    let outcome = cluster.deploy(&bundle).await.unwrap();
    bundle.spec.options.keep_resources = true;
    cluster
        .deployer
        .remove("web", &bundle.spec.options, &outcome.release)
        .await
        .unwrap();
    assert!(
        cluster.get("v1", "ConfigMap", "a").await.is_some(),
        "keepResources"
    );

    bundle.spec.options.keep_resources = false;
    let outcome = cluster.deploy(&bundle).await.unwrap();
    cluster
        .deployer
        .remove("web", &bundle.spec.options, &outcome.release)
        .await
        .unwrap();
    assert!(cluster.get("v1", "ConfigMap", "a").await.is_none());
    let stored = cluster.history().await.read().await.unwrap();
    assert!(stored.is_empty());
}

#[tokio::test]
async fn forced_namespace_rejects_cluster_scoped_objects() {
    let cluster = TestCluster::new().await;
    let mut bundle = Bundle::new(&[(
        "a.yaml",
        "apiVersion: v1\nkind: Namespace\nmetadata: {name: other}\n",
    )]);
    bundle.spec.options.target_namespace = "web".to_owned();
    let error = cluster.deploy(&bundle).await.unwrap_err();
    assert!(
        error
            .to_string()
            .starts_with("invalid cluster scoped object [name=other kind=Namespace apiVersion=v1]"),
        "{error}"
    );
}

#[tokio::test]
async fn missing_service_account_is_an_error() {
    let cluster = TestCluster::new().await;
    let mut bundle = Bundle::new(&[("a.yaml", A)]);
    bundle.spec.options.service_account = "tenant".to_owned();
    let error = cluster.deploy(&bundle).await.unwrap_err();
    assert!(matches!(error, DeployError::NoAccount { .. }), "{error}");
}

#[tokio::test]
async fn service_account_limits_the_deployment() {
    let cluster = TestCluster::new().await;
    for object in [
        json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": crate::cluster::AGENT_NAMESPACE}}),
        json!({"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": "tenant", "namespace": crate::cluster::AGENT_NAMESPACE}}),
    ] {
        cluster.apply(object).await;
    }
    let mut bundle = Bundle::new(&[("a.yaml", A)]);
    bundle.spec.options.service_account = "tenant".to_owned();
    let error = cluster.deploy(&bundle).await.unwrap_err();
    assert!(
        error.to_string().contains("lacks the permission"),
        "{error}"
    );
}

#[tokio::test]
async fn release_belongs_to_the_cluster_of_the_hub_that_last_requested_it() {
    let cluster = TestCluster::new().await;
    let bundle = Bundle::new(&[("a.yaml", A)]);
    for uid in ["cluster-1", "cluster-2"] {
        let input = drover_deploy::deployment::Input {
            cluster: uid,
            ..bundle.input()
        };
        let outcome = cluster.deployer.deploy(&input).await.unwrap();
        assert_eq!(outcome.release, "web/web:1");
        let releases = cluster.deployer.releases().await.unwrap();
        assert_eq!(releases.len(), 1);
        assert_eq!(releases[0].cluster, uid);
    }
}
