//! A test of a HelmOp: the agent pulls its chart from a Helm repository.

use std::path::Path;

use axum::Router;
use axum::extract::State;
use axum::http::{HeaderMap, StatusCode, Uri, header};
use drover_api::fleet::{BundleDeployment, HelmOp};
use drover_e2e::{CommandLine, Tool, eventually};
use k8s_openapi::api::core::v1::Secret;
use kube::api::{DeleteParams, Patch, PatchParams};
use serde_json::{Value, json};
use tempfile::TempDir;

use super::super::rig::{Rig, SOON, start_with_gitops};
use super::{create, wait_for_data};
use crate::place::TestHub;

const PASSWORD: &str = "password-of-the-repository";

/// A Helm repository that requires a password. Dropping the value stops the server.
struct Charts {
    url: String,
    folder: TempDir,
    task: tokio::task::JoinHandle<()>,
}

impl Drop for Charts {
    fn drop(&mut self) {
        self.task.abort();
    }
}

async fn file(
    State(folder): State<std::path::PathBuf>,
    uri: Uri,
    headers: HeaderMap,
) -> Result<Vec<u8>, StatusCode> {
    use base64::Engine as _;
    let credential = format!("shop:{PASSWORD}");
    let expected = base64::engine::general_purpose::STANDARD.encode(credential);
    let sent = headers.get(header::AUTHORIZATION);
    if sent.is_none_or(|sent| *sent != format!("Basic {expected}")) {
        return Err(StatusCode::UNAUTHORIZED);
    }
    std::fs::read(folder.join(uri.path().trim_start_matches('/')))
        .map_err(|_| StatusCode::NOT_FOUND)
}

impl Charts {
    async fn start() -> Self {
        let folder = TempDir::new().unwrap();
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let router = Router::new()
            .fallback(file)
            .with_state(folder.path().to_owned());
        let task = tokio::spawn(async move { axum::serve(listener, router).await.unwrap() });
        Self { url, folder, task }
    }

    /// Adds a version of the chart `shop`, and writes the index.
    async fn publish(&self, version: &str) {
        let source = TempDir::new().unwrap();
        let chart = source.path().join("shop");
        let chart_file = format!("apiVersion: v2\nname: shop\nversion: {version}\n");
        let template = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: shop}\ndata:\n  \
                        color: {{ .Values.color }}\n  version: {{ .Chart.Version }}\n";
        std::fs::create_dir_all(chart.join("templates")).unwrap();
        std::fs::write(chart.join("Chart.yaml"), chart_file).unwrap();
        std::fs::write(chart.join("templates/shop.yaml"), template).unwrap();
        let folder = self.folder.path().to_str().unwrap();
        let helm = Tool::Helm.locate().await.unwrap();
        let helm = CommandLine::new(&helm, Path::new("/dev/null"), source.path());
        let chart = chart.to_str().unwrap();
        helm.run(["package", chart, "--destination", folder])
            .await
            .unwrap();
        helm.run(["repo", "index", folder]).await.unwrap();
    }
}

impl Rig {
    async fn patch_helm_op(&self, helm: &Value) {
        let patch = Patch::Merge(json!({ "spec": { "helm": helm } }));
        let helm_ops = self.fleet::<HelmOp>();
        helm_ops
            .patch("shop", &PatchParams::default(), &patch)
            .await
            .unwrap();
    }

    /// Waits until the agent reports why a deployment failed.
    async fn wait_for_failure(&self, text: &str) -> String {
        eventually("the reason of the failure", SOON, async || {
            let deployments = self.deployments().await;
            let messages = deployments
                .iter()
                .flat_map(|deployment: &BundleDeployment| {
                    let status = deployment.status.clone().unwrap_or_default();
                    status.conditions.into_iter().map(|it| it.message)
                });
            let messages: Vec<String> = messages.collect();
            let found = messages.iter().find(|message| message.contains(text));
            found.cloned().ok_or_else(|| format!("{messages:?}"))
        })
        .await
        .unwrap()
    }
}

#[tokio::test]
async fn agent_pulls_the_chart_of_a_helm_op_with_its_credential() {
    let charts = Charts::start().await;
    charts.publish("1.0.0").await;
    charts.publish("1.1.0").await;
    let (rig, cluster) = Rig::with_cluster_on(TestHub::embedded()).await;
    rig.join("shop", &cluster).await;
    let _agent = start_with_gitops(&cluster, "pod-0").await;
    let credential = json!({
        "apiVersion": "v1", "kind": "Secret", "metadata": { "name": "registry" },
        "stringData": { "username": "shop", "password": PASSWORD },
    });
    create(&rig.fleet::<Secret>(), &credential).await;
    let helm_op = json!({
        "apiVersion": "fleet.cattle.io/v1alpha1", "kind": "HelmOp", "metadata": { "name": "shop" },
        "spec": {
            "defaultNamespace": "shop", "helmSecretName": "registry",
            "helm": {
                "repo": charts.url, "chart": "shop", "version": "1.0.0", "values": { "color": "red" },
            },
            "targets": [{ "clusterSelector": {} }],
        },
    });
    create(&rig.fleet::<HelmOp>(), &helm_op).await;
    let first = [("color", "red"), ("version", "1.0.0")];
    wait_for_data(&cluster, Some(&first)).await;
    rig.wait_for_ready(1).await;

    let second = json!({ "version": "1.1.0", "values": { "color": "blue" } });
    rig.patch_helm_op(&second).await;
    let deployed = [("color", "blue"), ("version", "1.1.0")];
    wait_for_data(&cluster, Some(&deployed)).await;
    rig.wait_for_ready(1).await;

    // The deployed version stays.
    rig.patch_helm_op(&json!({ "version": "9.9.9" })).await;
    let message = rig.wait_for_failure("9.9.9").await;
    assert!(!message.contains(PASSWORD), "{message}");
    wait_for_data(&cluster, Some(&deployed)).await;

    // The server finds the versions of a range.
    rig.patch_helm_op(&json!({ "version": "~1.0", "values": { "color": "red" } }))
        .await;
    wait_for_data(&cluster, Some(&first)).await;
    let status = async || {
        let helm_op = rig.fleet::<HelmOp>().get("shop").await.unwrap();
        helm_op.status.unwrap_or_default()
    };
    eventually("the time of the poll", SOON, async || {
        let time = status().await.last_polling_time;
        time.map(|_| ()).ok_or("no time")
    })
    .await
    .unwrap();
    let before = status().await.last_polling_time.unwrap();
    let often = Patch::Merge(json!({ "spec": { "pollingInterval": "15s" } }));
    let helm_ops = rig.fleet::<HelmOp>();
    helm_ops
        .patch("shop", &PatchParams::default(), &often)
        .await
        .unwrap();
    // The change of the interval also causes a poll.
    eventually("the next poll", SOON, async || {
        let time = status().await.last_polling_time;
        let is_later = time.is_some_and(|time| time > before);
        if is_later { Ok(()) } else { Err("no poll") }
    })
    .await
    .unwrap();
    charts.publish("1.0.7").await;
    let newest = [("color", "red"), ("version", "1.0.7")];
    wait_for_data(&cluster, Some(&newest)).await;
    assert_eq!(status().await.version, "1.0.7");

    helm_ops
        .delete("shop", &DeleteParams::default())
        .await
        .unwrap();
    wait_for_data(&cluster, None).await;
    rig.server.stop().await;
}
