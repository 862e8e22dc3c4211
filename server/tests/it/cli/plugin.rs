use serde_json::{Value, json};

use super::program::Drover;
use super::stub::{SESSION, Stub};

fn exec_info(stub: &Stub) -> String {
    json!({"apiVersion": "client.authentication.k8s.io/v1", "kind": "ExecCredential",
        "spec": {"interactive": false, "cluster": {"server": format!("{}/k8s/clusters/berlin", stub.url)}}})
    .to_string()
}

#[tokio::test(flavor = "multi_thread")]
async fn kubectl_gets_a_short_lived_token_for_its_cluster_and_nothing_is_written() {
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
    let asked = stub.seen().pop().unwrap();
    assert_eq!(
        asked.body,
        json!({"purpose": "Credential", "cluster": "berlin", "ttlSeconds": 900})
    );
    assert_eq!(asked.bearer.as_deref(), Some(SESSION));
    assert_eq!(std::fs::read_to_string(drover.config()).unwrap(), before);
    assert_eq!(ended.err, "");
}

#[tokio::test(flavor = "multi_thread")]
async fn the_hub_itself_needs_no_cluster() {
    let (stub, drover) = (Stub::start().await, Drover::new());
    drover.log_in(&stub).await.ok();
    drover
        .run(&["credential", "--server", &stub.url])
        .await
        .ok();
    assert_eq!(
        stub.seen().pop().unwrap().body,
        json!({"purpose": "Credential", "ttlSeconds": 900})
    );
    drover.run(&["credential"]).await.failed(2, "--cluster");
}

#[tokio::test(flavor = "multi_thread")]
async fn an_ended_login_tells_kubectls_user_to_log_in() {
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
async fn a_cluster_imported_again_under_the_same_name_gets_no_token() {
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
async fn a_login_at_one_server_is_not_used_at_another() {
    let (stub, other, drover) = (Stub::start().await, Stub::start().await, Drover::new());
    drover.log_in(&stub).await.ok();
    let args = ["credential", "--server", &other.url, "--cluster", "berlin"];
    drover.run(&args).await.failed(3, &other.url);
    let named = [&args[..], &["--context", stub.authority()]].concat();
    drover.run(&named).await.failed(2, &other.url);
    assert!(other.seen().is_empty());
}
