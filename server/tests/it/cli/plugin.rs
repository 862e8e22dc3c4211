use serde_json::{Value, json};

use super::program::Drover;
use super::stub::{PASSWORD, SESSION, Stub};

fn exec_info(stub: &Stub) -> String {
    json!({"apiVersion": "client.authentication.k8s.io/v1", "kind": "ExecCredential",
        "spec": {"interactive": false, "cluster": {"server": format!("{}/k8s/clusters/berlin", stub.url)}}})
    .to_string()
}

#[tokio::test(flavor = "multi_thread")]
async fn credential_command_prints_a_short_lived_token_and_writes_no_file() {
    let (stub, drover) = (Stub::start().await, Drover::new());
    drover.log_in(&stub).await.ok();
    let before = std::fs::read_to_string(drover.config()).unwrap();
    let info = exec_info(&stub);
    let env = [("KUBERNETES_EXEC_INFO", info.as_str())];
    let ended = drover.run_with(&["credential"], &env, "").await.ok();
    let credential: Value = serde_json::from_str(&ended.out).unwrap();
    assert_eq!(
        credential,
        json!({"apiVersion": "client.authentication.k8s.io/v1", "kind": "ExecCredential",
            "status": {"token": "drover_new1_newsecret", "expirationTimestamp": "2098-12-31T23:59:30Z"}})
    );
    let requested = stub.seen().pop().unwrap();
    assert_eq!(
        requested.body,
        json!({"purpose": "Credential", "cluster": "berlin"})
    );
    assert_eq!(requested.bearer.as_deref(), Some(SESSION));
    assert_eq!(std::fs::read_to_string(drover.config()).unwrap(), before);
    assert_eq!(ended.err, "");
}

#[tokio::test(flavor = "multi_thread")]
async fn credential_command_for_the_hub_requires_no_cluster() {
    let (stub, drover) = (Stub::start().await, Drover::new());
    drover.log_in(&stub).await.ok();
    drover
        .run(&["credential", "--server", &stub.url])
        .await
        .ok();
    assert_eq!(
        stub.seen().pop().unwrap().body,
        json!({"purpose": "Credential"})
    );
    drover.run(&["credential"]).await.failed(2, "--cluster");
}

#[tokio::test(flavor = "multi_thread")]
async fn credential_command_with_an_expired_login_shows_the_login_command() {
    let (stub, drover) = (Stub::start().await, Drover::new());
    let advice = format!("drover login {}", stub.url);
    let args = ["credential", "--server", &stub.url, "--cluster", "berlin"];
    drover.run(&args).await.failed(3, &advice);
    drover.log_in(&stub).await.ok();
    stub.world.lock().sessions_end = true;
    let ended = drover.run(&args).await.failed(3, &advice);
    assert_eq!(ended.out, "");
}

#[tokio::test(flavor = "multi_thread")]
async fn credential_command_fails_for_a_recreated_cluster_with_a_different_uid() {
    let (stub, drover) = (Stub::start().await, Drover::new());
    drover.log_in(&stub).await.ok();
    let args = [
        "credential",
        "--server",
        &stub.url,
        "--cluster",
        "berlin",
        "--cluster-uid",
    ];
    drover.run(&[&args[..], &["uid-1"]].concat()).await.ok();
    let ended = drover.run(&[&args[..], &["uid-0"]].concat()).await;
    let ended = ended.failed(1, "imported again");
    assert!(!format!("{ended:?}").contains("newsecret"), "{ended:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn token_of_one_server_is_not_sent_to_a_different_server() {
    let (stub, other, drover) = (Stub::start().await, Stub::start().await, Drover::new());
    drover.log_in(&stub).await.ok();
    let args = ["credential", "--server", &other.url, "--cluster", "berlin"];
    drover.run(&args).await.failed(3, &other.url);
    let named = [&args[..], &["--context", stub.authority()]].concat();
    drover.run(&named).await.failed(2, &other.url);
    assert!(other.seen().is_empty());
}

/// Returns a kubeconfig with this URL of the server. Its credential plugin is `drover credential`.
fn kubeconfig(url: &str) -> String {
    json!({"apiVersion": "v1", "kind": "Config", "current-context": "berlin",
        "clusters": [{"name": "berlin", "cluster": {"server": format!("{url}/k8s/clusters/berlin")}}],
        "contexts": [{"name": "berlin", "context": {"cluster": "berlin", "user": "alice@berlin"}}],
        "users": [{"name": "alice@berlin", "user": {"exec": {"command": "drover",
            "args": ["credential", "--server", url, "--cluster", "berlin"]}}}]})
    .to_string()
}

#[tokio::test(flavor = "multi_thread")]
async fn merged_kubeconfig_can_contain_a_different_address_of_the_same_server() {
    let (stub, drover) = (Stub::start().await, Drover::new());
    drover.log_in(&stub).await.ok();
    let announced = "https://drover.example:8443";
    stub.world.lock().kubeconfig = kubeconfig(announced);
    let args = ["credential", "--server", announced, "--cluster", "berlin"];
    drover.run(&args).await.failed(3, "kubeconfig --merge");
    drover.run(&["cluster", "kubeconfig", "--merge"]).await.ok();
    let ended = drover.run(&args).await.ok();
    assert!(ended.out.contains("drover_new1_newsecret"), "{ended:?}");
    drover.log_in(&stub).await.ok();
    drover.run(&args).await.ok();
}

#[tokio::test(flavor = "multi_thread")]
async fn kubeconfig_command_without_a_login_shows_the_login_command() {
    let (stub, drover) = (Stub::start().await, Drover::new());
    let ca = drover.home.path().join("ca.pem");
    std::fs::write(&ca, &stub.authority_pem).unwrap();
    stub.world.lock().kubeconfig = kubeconfig("https://drover.example");
    let at = [
        ("DROVER_SERVER", stub.url.as_str()),
        ("DROVER_CA_FILE", ca.to_str().unwrap()),
        ("DROVER_TOKEN", SESSION),
    ];
    let ended = drover
        .run_with(&["cluster", "kubeconfig"], &at, "")
        .await
        .ok();
    assert!(
        ended.err.contains("drover login https://drover.example"),
        "{ended:?}"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn kubeconfig_with_an_unknown_exec_program_is_rejected() {
    let (stub, drover) = (Stub::start().await, Drover::new());
    drover.log_in(&stub).await.ok();
    stub.world.lock().kubeconfig =
        kubeconfig("https://d").replace(r#""command":"drover""#, r#""command":"sh""#);
    let ended = drover.run(&["cluster", "kubeconfig"]).await.failed(1, "sh");
    assert_eq!(ended.out, "");
}

#[tokio::test(flavor = "multi_thread")]
async fn context_flag_takes_precedence_over_the_environment_variable() {
    let (here, there, drover) = (Stub::start().await, Stub::start().await, Drover::new());
    drover.log_in(&here).await.ok();
    drover.log_in(&there).await.ok();
    let exported = [("DROVER_CONTEXT", here.authority())];
    let args = ["credential", "--server", &there.url, "--cluster", "berlin"];
    drover.run_with(&args, &exported, "").await.ok();
    assert_eq!(there.seen().last().unwrap().target, "/v1/tokens");
    let typed = [&args[..], &["--context", here.authority()]].concat();
    drover.run(&typed).await.failed(2, "is for the server");

    // Flags take precedence over variables without a conflict.
    let list = ["cluster", "list", "--server", &there.url];
    drover
        .run_with(&list, &exported, "")
        .await
        .failed(3, "DROVER_TOKEN");
    let both = [exported[0], ("DROVER_SERVER", there.url.as_str())];
    drover
        .run_with(&list[..2], &both, "")
        .await
        .failed(2, "unset one");

    let before = std::fs::read_to_string(drover.config()).unwrap();
    let other = Stub::start().await;
    let login = [
        "login",
        &other.url,
        "--username",
        "alice",
        "--password-stdin",
        "--ca-fingerprint",
        &other.fingerprint,
    ];
    drover
        .run_with(&login, &exported, "")
        .await
        .failed(2, "DROVER_CONTEXT");
    assert_eq!(std::fs::read_to_string(drover.config()).unwrap(), before);
    let file = [("DROVER_CA_FILE", "/no/such/file")];
    let input = format!("{PASSWORD}\n");
    drover.run_with(&login, &file, &input).await.ok();
}
