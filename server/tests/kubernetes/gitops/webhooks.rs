//! Tests of `POST /webhooks/git` with a repository of the server.

use drover_api::fleet::GitRepo;
use drover_api::gitops::FLEET_NAMESPACE;
use drover_e2e::eventually;
use k8s_openapi::api::core::v1::Secret;
use kube::Api;
use kube::api::PostParams;
use reqwest::RequestBuilder;
use serde_json::{Value, json};

use crate::git::{Client, SOON, api_token, server_with_example};
use crate::server::{Server, client};

const KEY: &str = "a-secret-of-the-webhook";

/// Returns a GitRepo that polls every hour, and the Secrets for its repository and its webhook.
fn objects(server: &Server, token: &str) -> (Value, [Value; 2]) {
    let encoded = {
        use base64::Engine as _;
        base64::engine::general_purpose::STANDARD.encode(&server.trust)
    };
    let repo = json!({
        "apiVersion": "fleet.cattle.io/v1alpha1", "kind": "GitRepo", "metadata": { "name": "example" },
        "spec": {
            "repo": format!("{}/git/example.git", server.url), "branch": "main",
            "clientSecretName": "git", "caBundle": encoded, "pollingInterval": "1h",
            "webhookSecret": "hook",
        },
    });
    let credential = json!({
        "apiVersion": "v1", "kind": "Secret", "metadata": { "name": "git" },
        "type": "kubernetes.io/basic-auth", "stringData": { "username": "git", "password": token },
    });
    let hook = json!({
        "apiVersion": "v1", "kind": "Secret", "metadata": { "name": "hook" },
        "stringData": { "gitlab": KEY },
    });
    (repo, [credential, hook])
}

/// Returns the event of a push to the branch `main` as GitLab sends it.
fn push(server: &Server) -> RequestBuilder {
    let body = json!({
        "object_kind": "push", "ref": "refs/heads/main", "checkout_sha": "0".repeat(40),
        "project": { "git_http_url": format!("{}/git/example.git", server.url) },
    });
    post(server)
        .header("x-gitlab-event", "Push Hook")
        .json(&body)
}

fn post(server: &Server) -> RequestBuilder {
    client(&server.trust).post(format!("{}/webhooks/git", server.url))
}

async fn code(request: RequestBuilder) -> u16 {
    request.send().await.unwrap().status().as_u16()
}

async fn wait_for_commit(repos: &Api<GitRepo>, commit: &str) {
    eventually("the commit in the status", SOON, async || {
        let repo = repos.get("example").await.unwrap();
        let status = repo.status.unwrap_or_default();
        if status.commit == commit {
            Ok(())
        } else {
            Err(format!("{status:?}"))
        }
    })
    .await
    .unwrap();
}

#[tokio::test]
async fn only_a_webhook_with_the_key_of_the_git_repo_starts_a_poll() {
    let (_hub, server, _) = server_with_example().await;
    let admin = server.administrator().await;
    let token = api_token(&server, &admin).await;
    let git = Client::new(&server);
    let folder = git.clone("example", &token, "example", &[]).await;
    let head = async || {
        let head = git.done(&folder, &["rev-parse", "HEAD"]).await;
        head.trim().to_owned()
    };
    let hub = server.hub.client();
    let repos = Api::<GitRepo>::namespaced(hub.clone(), FLEET_NAMESPACE);
    let secrets = Api::<Secret>::namespaced(hub, FLEET_NAMESPACE);
    let (repo, needed) = objects(&server, &token);
    let params = PostParams::default();
    for secret in needed {
        let secret = serde_json::from_value(secret).unwrap();
        secrets.create(&params, &secret).await.unwrap();
    }
    let repo = serde_json::from_value(repo).unwrap();
    repos.create(&params, &repo).await.unwrap();
    let before = head().await;
    wait_for_commit(&repos, &before).await;

    git.commit(&folder, "b.yaml", b"b: 1\n").await;
    git.done(&folder, &["push", "--quiet", "origin", "main"])
        .await;
    assert_eq!(code(push(&server)).await, 403);
    let guessed = push(&server).header("x-gitlab-token", "guessed");
    assert_eq!(code(guessed).await, 403);
    assert_eq!(code(post(&server).json(&json!({}))).await, 400);
    let oversized = push(&server).body(vec![b' '; 9 << 20]);
    assert_eq!(code(oversized).await, 413);
    // A poll would take about a second.
    tokio::time::sleep(std::time::Duration::from_secs(3)).await;
    wait_for_commit(&repos, &before).await;

    let verified = || push(&server).header("x-gitlab-token", KEY);
    assert_eq!(code(verified()).await, 202);
    wait_for_commit(&repos, &head().await).await;
    // A repeated event is harmless.
    assert_eq!(code(verified()).await, 202);
    wait_for_commit(&repos, &head().await).await;
    server.stop().await;
}
