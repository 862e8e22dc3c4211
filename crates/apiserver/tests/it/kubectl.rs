//! Checks that the output of kubectl 1.36 is the same as with kube-apiserver.

use std::process::Stdio;
use std::time::Duration;

use tokio::io::{AsyncBufReadExt as _, BufReader, Lines};
use tokio::process::{ChildStdout, Command};

use crate::served::{Served, tool};
use crate::transcript::check_transcript;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn kubectl_apply_output_matches_kube_apiserver() {
    check_transcript("kubectl", "apply").await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn kubectl_edit_label_patch_and_replace_output_matches_kube_apiserver() {
    check_transcript("kubectl", "change").await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn kubectl_get_explain_and_describe_output_matches_kube_apiserver() {
    check_transcript("kubectl", "show").await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn kubectl_output_for_custom_resources_matches_kube_apiserver() {
    check_transcript("kubectl", "custom").await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn kubectl_auth_output_matches_kube_apiserver() {
    check_transcript("kubectl", "access").await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn kubectl_rollout_output_matches_kube_apiserver() {
    check_transcript("kubectl", "rollout").await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn kubectl_delete_output_matches_kube_apiserver() {
    check_transcript("kubectl", "delete").await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn kubectl_taint_cordon_and_drain_output_matches_kube_apiserver() {
    check_transcript("kubectl", "nodes").await;
}

async fn next(lines: &mut Lines<BufReader<ChildStdout>>) -> String {
    let line = tokio::time::timeout(Duration::from_secs(30), lines.next_line()).await;
    line.expect("kubectl prints an event within 30 seconds")
        .unwrap()
        .unwrap()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn kubectl_get_watch_output_matches_kube_apiserver() {
    let hub = Served::new().await;
    let kubectl = |args: &str| {
        let mut command = Command::new(tool("kubectl"));
        command
            .args(args.split_whitespace())
            .env("KUBECONFIG", hub.kubeconfig())
            .env("HOME", hub.folder())
            .stdin(Stdio::null())
            .kill_on_drop(true);
        command
    };
    let done = async |args: &str| {
        let ended = tokio::time::timeout(Duration::from_mins(1), kubectl(args).output()).await;
        let output = ended.expect("kubectl ends within a minute").unwrap();
        assert!(output.status.success(), "{output:?}");
    };
    done("create configmap first --from-literal=a=b").await;
    let watch = "get configmaps --field-selector metadata.name!=kube-root-ca.crt \
                 --watch --output-watch-events";
    let mut watching = kubectl(watch).stdout(Stdio::piped()).spawn().unwrap();
    let mut lines = BufReader::new(watching.stdout.take().unwrap()).lines();
    let mut columns = async || {
        let line = next(&mut lines).await;
        let words: Vec<_> = line.split_whitespace().map(str::to_owned).collect();
        words[..3].join(" ")
    };
    assert_eq!(columns().await, "EVENT NAME DATA");
    assert_eq!(columns().await, "ADDED first 1");
    done("create configmap second --from-literal=a=b").await;
    assert_eq!(columns().await, "ADDED second 1");
    done("patch configmap second -p {\"data\":{\"c\":\"d\"}}").await;
    assert_eq!(columns().await, "MODIFIED second 2");
    done("delete configmap first").await;
    assert_eq!(columns().await, "DELETED first 1");
}
