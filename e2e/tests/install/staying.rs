//! Tests that use and upgrade an installation.

use std::time::Duration;

use drover_e2e::eventually;
use serde_json::{Value, json};

use crate::stage::{Installed, NAMESPACE, chart};

const SOON: Duration = Duration::from_mins(1);

pub(crate) async fn kubectl_accesses_a_cluster_through_the_installed_charts(
    installed: &mut Installed,
) {
    let kubeconfig = installed.admin.token_kubeconfig("east").await.unwrap();
    let kubectl = installed.admin.kubectl_with(&kubeconfig);
    let words = ["create", "configmap", "through", "--from-literal=a=b"];
    kubectl.run(words).await.unwrap();
    let words = ["get", "configmap", "through", "-o", "jsonpath={.data.a}"];
    assert_eq!(kubectl.run(words).await.unwrap().stdout, "b");
    // The hub calls the webhook of the server at its Service.
    eventually("the rules to be in force", SOON, async || {
        let line = "get validatingwebhookconfiguration drover-rules -o json";
        let rules = installed.tools.kubectl(line).await.unwrap();
        let rules: Value = serde_json::from_str(&rules).unwrap();
        let service = &rules["webhooks"][0]["clientConfig"]["service"];
        if service["name"] == "drover" {
            Ok(())
        } else {
            Err(rules.to_string())
        }
    })
    .await
    .unwrap();
}

async fn server_pod(installed: &Installed) -> String {
    let line = format!("--namespace={NAMESPACE} get pods -o jsonpath={{.items[*].metadata.name}}");
    installed.tools.kubectl(&line).await.unwrap()
}

/// Returns a field of the agent's Deployment.
async fn agent_deployment_field(installed: &Installed, path: &str) -> String {
    let line =
        format!("--namespace=drover-agent get deployment drover-agent -o jsonpath={{{path}}}");
    installed.tools_of_east.kubectl(&line).await.unwrap()
}

const GENERATION: &str = ".metadata.generation";
const IMAGE: &str = ".spec.template.spec.containers[0].image";
/// The image that an upgrade of the server sets. No node pulls the image, because the agents of
/// these tests run as processes.
const LATER: &str = "registry.example/drover-agent:later";

async fn let_the_server_set_the_agents_image(installed: &Installed) {
    let line = format!("setting set agent-image {LATER}");
    installed.drover(&line).await.unwrap();
    eventually("the server to set the agents' image", SOON, async || {
        let image = agent_deployment_field(installed, IMAGE).await;
        if image == LATER { Ok(()) } else { Err(image) }
    })
    .await
    .unwrap();
}

/// Upgrades to the same chart with different values, because no older chart exists.
pub(crate) async fn chart_upgrade_preserves_clusters_users_and_tokens(installed: &mut Installed) {
    installed
        .drover("user create ann --generate-password")
        .await
        .unwrap();
    let kubeconfig = installed.admin.token_kubeconfig("east").await.unwrap();
    let_the_server_set_the_agents_image(installed).await;
    let before = (
        server_pod(installed).await,
        agent_deployment_field(installed, GENERATION).await,
    );

    let server = ["upgrade", "drover", &chart("drover"), "--reuse-values"];
    let changed = ["--set", "log.format=text", "--wait", "--timeout=2m"];
    let words = [&server[..], &changed].concat();
    installed.tools.helm(&words, NAMESPACE).await.unwrap();
    let chart = chart("drover-agent");
    let agent = ["upgrade", "drover-agent", &chart, "--reuse-values"];
    let words = [&agent[..], &["--set", "podAnnotations.upgraded=yes"]].concat();
    let tools = &installed.tools_of_east;
    tools.helm(&words, "drover-agent").await.unwrap();

    installed.wait_until_usable().await;
    assert_ne!(before.0, server_pod(installed).await);
    assert_ne!(
        before.1,
        agent_deployment_field(installed, GENERATION).await
    );
    // The values still contain the image of the installation.
    assert_eq!(agent_deployment_field(installed, IMAGE).await, LATER);
    // The login, the token and the users are unchanged.
    let kubectl = installed.admin.kubectl_with(&kubeconfig);
    // The conditions of the cluster are those of the previous server until the agents reconnect.
    eventually("kubectl to reach the cluster", SOON, async || {
        kubectl.run(["get", "nodes"]).await.map(drop)
    })
    .await
    .unwrap();
    let users = installed.drover("user list").await.unwrap();
    assert!(users.contains("ann") && users.contains("admin"), "{users}");
    let clusters = installed.drover("cluster list").await.unwrap();
    assert!(clusters.contains("east"), "{clusters}");
}

/// The root file system of the server's pod is read-only.
pub(crate) async fn installed_server_can_fetch_charts(installed: &mut Installed) {
    let helm_op = json!({
        "apiVersion": "fleet.cattle.io/v1alpha1", "kind": "HelmOp",
        "metadata": { "name": "shop", "namespace": "fleet-default" },
        "spec": {
            "helm": { "repo": "https://127.0.0.1:1", "chart": "shop", "version": "^1" },
            "targets": [{ "clusterName": "none" }],
        },
    });
    let file = installed.admin.home().join("helm-op.json");
    std::fs::write(&file, helm_op.to_string()).unwrap();
    let file = file.display();
    let tools = &installed.tools;
    tools.kubectl(&format!("apply -f {file}")).await.unwrap();
    let line = "get helmops.fleet.cattle.io shop --namespace fleet-default -o \
                jsonpath={.status.conditions[?(@.type==\"Polled\")].message}";
    eventually("the result of the request", SOON, async || {
        let message = tools
            .kubectl(line)
            .await
            .map_err(|error| error.to_string())?;
        if message.contains("connection refused") {
            return Ok(());
        }
        Err(message)
    })
    .await
    .unwrap();
    tools.kubectl(&format!("delete -f {file}")).await.unwrap();
}
