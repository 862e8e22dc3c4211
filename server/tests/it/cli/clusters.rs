use std::process::Stdio;
use std::time::Duration;

use tokio::io::AsyncReadExt;
use tokio::time::timeout;

use super::program::{Drover, PATIENCE};
use super::stub::{MANIFEST, Stub};

async fn logged_in() -> (Stub, Drover) {
    let (stub, drover) = (Stub::start().await, Drover::new());
    drover.log_in(&stub).await.ok();
    (stub, drover)
}

#[tokio::test(flavor = "multi_thread")]
async fn ten_thousand_clusters_are_listed_page_by_page() {
    let (stub, drover) = logged_in().await;
    stub.world.lock().clusters = 10_000;
    let ended = drover.run(&["cluster", "list"]).await.ok();
    let lines: Vec<_> = ended.out.lines().collect();
    assert_eq!(lines.len(), 10_001);
    assert!(
        lines[10_000].starts_with("c09999   agent not connected"),
        "{}",
        lines[10_000]
    );
    let pages = stub
        .seen()
        .iter()
        .filter(|s| s.target.starts_with("/v1/clusters?"))
        .count();
    assert_eq!(pages, 20);
}

#[tokio::test(flavor = "multi_thread")]
async fn list_command_exits_without_error_when_its_output_pipe_is_closed() {
    let (stub, drover) = logged_in().await;
    stub.world.lock().clusters = 10_000;
    let mut command = drover.command(&["cluster", "list", "-o", "yaml"]);
    command.stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().unwrap();
    drop(child.stdout.take());
    let output = timeout(PATIENCE, child.wait_with_output())
        .await
        .unwrap()
        .unwrap();
    assert_eq!(output.status.code(), Some(141));
    assert_eq!(String::from_utf8_lossy(&output.stderr), "");
}

#[tokio::test(flavor = "multi_thread")]
async fn import_command_prints_only_the_manifest_to_standard_output() {
    let (stub, drover) = logged_in().await;
    for text in ["Created the cluster", "registers the cluster once"] {
        let ended = drover
            .run(&["cluster", "import", "berlin", "--ttl", "2h"])
            .await
            .ok();
        assert_eq!(ended.out, MANIFEST);
        assert!(ended.err.contains(text), "{ended:?}");
    }
    assert_eq!(stub.seen().last().unwrap().body["ttlSeconds"], 7_200);
    let curl = drover
        .run(&["cluster", "import", "berlin", "--curl"])
        .await
        .ok();
    let lines: Vec<_> = curl.out.lines().collect();
    assert_eq!(
        lines[0],
        "export DROVER_IMPORT_TOKEN='droverimport_r1_once'"
    );
    assert!(
        lines[1].starts_with("curl ") && !lines[1].contains("droverimport"),
        "{curl:?}"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn import_command_closes_standard_output_before_it_waits_for_the_cluster() {
    let (stub, drover) = logged_in().await;
    let mut command = drover.command(&["cluster", "import", "berlin", "--wait"]);
    command.stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().unwrap();
    let mut manifest = String::new();
    let mut out = child.stdout.take().unwrap();
    // The output ends before the cluster is ready, because kubectl waits for its end.
    timeout(PATIENCE, out.read_to_string(&mut manifest))
        .await
        .unwrap()
        .unwrap();
    assert_eq!(manifest, MANIFEST);
    let looked = || {
        stub.seen()
            .iter()
            .any(|seen| seen.target == "/v1/clusters/berlin")
    };
    while !looked() {
        assert!(
            child.try_wait().unwrap().is_none(),
            "the program must wait for the cluster"
        );
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    stub.world.lock().cluster_ready = true;
    let output = timeout(PATIENCE, child.wait_with_output())
        .await
        .unwrap()
        .unwrap();
    assert!(output.status.success());
    let err = String::from_utf8(output.stderr).unwrap();
    assert!(
        err.contains("agent not connected") && err.contains("is ready"),
        "{err}"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn wait_command_shows_the_last_state_at_its_timeout() {
    let (_stub, drover) = logged_in().await;
    let ended = drover
        .run(&["cluster", "import", "berlin", "--wait", "--timeout", "1s"])
        .await;
    ended.failed(7, "agent not connected");
}

#[tokio::test(flavor = "multi_thread")]
async fn delete_command_requires_confirmation() {
    let (stub, drover) = logged_in().await;
    drover
        .run(&["cluster", "delete", "berlin"])
        .await
        .failed(2, "--yes");
    assert!(
        stub.seen()
            .iter()
            .all(|seen| seen.method != http::Method::DELETE)
    );
    drover
        .run(&["cluster", "delete", "berlin", "--yes"])
        .await
        .ok();
    assert_eq!(stub.seen().last().unwrap().method, http::Method::DELETE);
}

#[tokio::test(flavor = "multi_thread")]
async fn delete_command_with_wait_reports_an_incomplete_cleanup() {
    let (stub, drover) = logged_in().await;
    let delete = ["cluster", "delete", "berlin", "--yes", "--wait"];
    let ended = drover.run(&delete).await.ok();
    assert!(ended.err.contains("Deleted the cluster"), "{ended:?}");
    stub.world.lock().leaving = vec!["it stays; run there: kubectl delete namespace drover-agent"];
    let ended = drover.run(&delete).await;
    ended.failed(1, "run there: kubectl delete namespace drover-agent");
}

#[tokio::test(flavor = "multi_thread")]
async fn kubeconfig_command_prints_or_writes_or_merges_the_file() {
    let (stub, drover) = logged_in().await;
    let text = "apiVersion: v1\nkind: Config\ncurrent-context: berlin\ncontexts:\n- name: berlin\n  context: {cluster: berlin, user: a}\n";
    stub.world.lock().kubeconfig = text.to_owned();
    let printed = drover
        .run(&[
            "cluster",
            "kubeconfig",
            "berlin",
            "--credential",
            "token",
            "--ttl",
            "8h",
        ])
        .await
        .ok();
    assert_eq!(printed.out, text);
    let requested = stub.seen().pop().unwrap().body;
    assert_eq!(
        requested,
        serde_json::json!({"clusters": ["berlin"], "credential": "Token", "ttlSeconds": 28_800})
    );
    let file = drover.home.path().join("k.yaml");
    let written = drover
        .run(&[
            "cluster",
            "kubeconfig",
            "--output-file",
            file.to_str().unwrap(),
        ])
        .await
        .ok();
    assert_eq!(
        (
            written.out.as_str(),
            std::fs::read_to_string(&file).unwrap().as_str()
        ),
        ("", text)
    );
    drover.run(&["cluster", "kubeconfig", "--merge"]).await.ok();
    let merged = std::fs::read_to_string(drover.home.path().join(".kube/config")).unwrap();
    assert!(merged.contains("current-context: berlin"), "{merged}");
}

#[tokio::test(flavor = "multi_thread")]
async fn token_create_command_prints_only_the_token_to_standard_output() {
    let (stub, drover) = logged_in().await;
    let args = [
        "token",
        "create",
        "--cluster",
        "berlin",
        "--ttl",
        "30d",
        "--description",
        "job",
    ];
    let ended = drover.run(&args).await.ok();
    assert_eq!(ended.out, "drover_new1_newsecret\n");
    assert!(!ended.err.contains("newsecret"), "{ended:?}");
    let requested = stub.seen().pop().unwrap().body;
    assert_eq!(
        requested,
        serde_json::json!({"purpose": "Api", "cluster": "berlin", "description": "job", "ttlSeconds": 2_592_000})
    );
}
