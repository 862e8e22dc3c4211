//! What people do with an installation, and what an upgrade leaves as it was.

use std::time::Duration;

use drover_e2e::{BuiltImage, Image, eventually};
use serde_json::Value;

use crate::stage::{Installed, NAMESPACE, chart};

const SOON: Duration = Duration::from_mins(1);

pub(crate) async fn kubectl_works_through_what_the_charts_installed(installed: &mut Installed) {
    let kubeconfig = installed.admin.token_kubeconfig("east").await.unwrap();
    let kubectl = installed.admin.kubectl_with(&kubeconfig);
    let image = format!("--image={}", Image::TOOLS);
    let run = [
        "run",
        "talker",
        &image,
        "--restart=Never",
        "--command",
        "--",
    ];
    let script = ["sh", "-c", "echo from the pod; sleep 1000"];
    kubectl.run(run.into_iter().chain(script)).await.unwrap();
    let ready = [
        "wait",
        "pod/talker",
        "--for=condition=Ready",
        "--timeout=60s",
    ];
    kubectl.run(ready).await.unwrap();
    let logs = kubectl.run(["logs", "talker"]).await.unwrap().stdout;
    assert_eq!(logs, "from the pod\n");
    let words = ["exec", "talker", "--", "hostname"];
    assert_eq!(kubectl.run(words).await.unwrap().stdout, "talker\n");
    kubectl
        .run(["delete", "pod", "talker", "--now"])
        .await
        .unwrap();
    // The hub asks the server about writes, at its Service.
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

pub(crate) async fn the_servers_image_holds_the_agents(installed: &mut Installed) {
    let file = installed.east.cluster.folder().join("from-the-server.tar");
    let line = format!(
        "kubectl --namespace {NAMESPACE} exec deployment/drover -- /drover agent image > {}",
        file.display()
    );
    installed.tools.shell(&line).await.unwrap();
    let built = std::fs::read(BuiltImage::Agent.archive().unwrap()).unwrap();
    assert!(std::fs::read(&file).unwrap() == built, "another image");
}

async fn pods(installed: &Installed, namespace: &str) -> String {
    let line = format!("--namespace={namespace} get pods -o jsonpath={{.items[*].metadata.name}}");
    installed.tools.kubectl(&line).await.unwrap()
}

/// There is no older chart yet, so this one is upgraded to, with other values.
pub(crate) async fn an_upgrade_keeps_clusters_users_and_tokens(installed: &mut Installed) {
    installed
        .drover("user create ann --generate-password")
        .await
        .unwrap();
    let kubeconfig = installed.admin.token_kubeconfig("east").await.unwrap();
    let before = (
        pods(installed, NAMESPACE).await,
        pods(installed, "drover-agent").await,
    );

    let server = ["upgrade", "drover", &chart("drover"), "--reuse-values"];
    let changed = ["--set", "log.format=text", "--wait", "--timeout=2m"];
    installed
        .tools
        .helm(&[&server[..], &changed].concat(), NAMESPACE)
        .await
        .unwrap();
    let agent = [
        "upgrade",
        "drover-agent",
        &chart("drover-agent"),
        "--reuse-values",
    ];
    let changed = [
        "--set",
        "podAnnotations.upgraded=yes",
        "--wait",
        "--timeout=2m",
    ];
    installed
        .tools
        .helm(&[&agent[..], &changed].concat(), "drover-agent")
        .await
        .unwrap();

    installed.wait_until_usable().await;
    let after = (
        pods(installed, NAMESPACE).await,
        pods(installed, "drover-agent").await,
    );
    assert_ne!(before.0, after.0);
    assert_ne!(before.1, after.1);
    // The login, the token and the users are those from before.
    let kubectl = installed.admin.kubectl_with(&kubeconfig);
    kubectl.run(["get", "nodes"]).await.unwrap();
    let users = installed.drover("user list").await.unwrap();
    assert!(users.contains("ann") && users.contains("admin"), "{users}");
    let clusters = installed.drover("cluster list").await.unwrap();
    assert!(clusters.contains("east"), "{clusters}");
}
