//! Tests of control planes that have no node.

use std::path::PathBuf;
use std::time::Duration;

use drover_e2e::{CommandError, Component, ControlPlane, Options, eventually};
use k8s_openapi::api::core::v1::Namespace;
use kube::Api;
use kube::api::ListParams;

const SOON: Duration = Duration::from_mins(1);

#[tokio::test]
async fn started_control_plane_responds_to_kubectl_and_the_client_library() {
    let cluster = ControlPlane::start(Options::default()).await.unwrap();
    let version = cluster.kubectl(["version"]).await.unwrap();
    assert!(
        version.stdout.contains("Server Version: v1.36.3"),
        "{version:?}"
    );
    assert!(
        version.stdout.contains("Client Version: v1.36.3"),
        "{version:?}"
    );

    cluster
        .kubectl(["create", "namespace", "shop"])
        .await
        .unwrap();
    let namespaces: Api<Namespace> = Api::all(cluster.client());
    namespaces.get("shop").await.unwrap();
}

#[tokio::test]
async fn two_control_planes_run_at_the_same_time() {
    let named = |name: &str| Options {
        name: name.to_owned(),
        ..Options::default()
    };
    let (remaining, right) = tokio::join!(
        ControlPlane::start(named("left")),
        ControlPlane::start(named("right"))
    );
    let (remaining, right) = (remaining.unwrap(), right.unwrap());
    remaining
        .kubectl(["create", "namespace", "only-left"])
        .await
        .unwrap();
    let seen = right
        .kubectl(["get", "namespaces", "-o", "name"])
        .await
        .unwrap();
    assert!(!seen.stdout.contains("only-left"), "{seen:?}");
    assert!(seen.stdout.contains("namespace/default"), "{seen:?}");
    // Each control plane rejects users of the other one.
    let crossed = remaining
        .command_line()
        .with_kubeconfig(right.kubeconfig_path());
    let whoami = crossed
        .run(["auth", "whoami", "--server", &remaining.url()])
        .await;
    assert!(
        matches!(whoami, Err(CommandError::Failed { .. })),
        "{whoami:?}"
    );
}

#[tokio::test]
async fn dropped_control_plane_removes_processes_and_files() {
    let cluster = ControlPlane::start(Options::default()).await.unwrap();
    let folder = cluster.folder().to_owned();
    let address = cluster.api_address();
    let marker = folder.display().to_string();
    assert!(!processes_that_mention(&marker).is_empty());
    drop(cluster);
    assert!(!folder.exists());
    assert_eq!(processes_that_mention(&marker), Vec::<PathBuf>::new());
    assert!(std::net::TcpStream::connect(address).is_err());
}

#[tokio::test]
async fn control_plane_in_fixed_folder_retains_state_and_kubeconfig_after_restart() {
    let folder = tempfile::tempdir().unwrap();
    let options = Options {
        folder: Some(folder.path().join("hub")),
        ..Options::default()
    };
    let first = ControlPlane::start(options.clone()).await.unwrap();
    let url = first.url();
    let command_line = first.command_line();
    first
        .kubectl(["create", "namespace", "kept"])
        .await
        .unwrap();

    let twice = ControlPlane::start(options.clone()).await.unwrap_err();
    assert!(twice.to_string().contains("already running"), "{twice}");

    first.stop().await.unwrap();
    let second = ControlPlane::start(options).await.unwrap();
    assert_eq!(second.url(), url);
    command_line
        .run(["get", "namespace", "kept"])
        .await
        .unwrap();
}

#[tokio::test]
async fn api_server_responds_after_resume_and_after_restart() {
    let mut cluster = ControlPlane::start(Options::default()).await.unwrap();
    let namespaces: Api<Namespace> = Api::all(cluster.client());
    let everything = ListParams::default();

    cluster.pause(Component::ApiServer).unwrap();
    let list = tokio::time::timeout(Duration::from_secs(2), namespaces.list(&everything)).await;
    assert!(list.is_err(), "a paused API server answered: {list:?}");
    cluster.resume(Component::ApiServer).unwrap();
    cluster.wait_until_ready().await.unwrap();

    cluster.kill(Component::ApiServer).unwrap();
    assert!(std::net::TcpStream::connect(cluster.api_address()).is_err());
    cluster.restart(Component::ApiServer).await.unwrap();
    namespaces.list(&everything).await.unwrap();
}

#[tokio::test]
async fn audit_log_contains_user_and_impersonated_user() {
    let cluster = ControlPlane::start(Options {
        audit: true,
        ..Options::default()
    })
    .await
    .unwrap();
    cluster
        .command_line()
        .output([
            "get",
            "pods",
            "--as=drover:user:1",
            "--as-group=drover:local:2",
        ])
        .await
        .unwrap();
    let event = eventually("the audit event", SOON, async || {
        cluster
            .audit_events()
            .map_err(|error| error.to_string())?
            .into_iter()
            .find(|event| event.impersonated_user.is_some() && event.verb == "list")
            .ok_or_else(|| "not there".to_owned())
    })
    .await
    .unwrap();
    assert_eq!(event.user.username, "admin");
    let impersonated = event.impersonated_user.unwrap();
    assert_eq!(impersonated.username, "drover:user:1");
    assert!(impersonated.groups.contains(&"drover:local:2".to_owned()));
    assert_eq!(event.response_status.unwrap().code, 403);
    assert_eq!(event.object_ref.unwrap().resource, "pods");
}

#[tokio::test]
async fn client_certificate_determines_the_user() {
    let cluster = ControlPlane::start(Options::default()).await.unwrap();
    let identity = cluster.identity("mary", Some("accounts")).unwrap();
    let kubeconfig = cluster.folder().join("mary.kubeconfig");
    std::fs::write(&kubeconfig, &identity.kubeconfig).unwrap();
    let whoami = cluster
        .command_line()
        .with_kubeconfig(&kubeconfig)
        .run(["auth", "whoami", "-o", "json"])
        .await
        .unwrap();
    let answer: serde_json::Value = serde_json::from_str(&whoami.stdout).unwrap();
    let user = &answer["status"]["userInfo"];
    assert_eq!(user["username"], "mary");
    assert_eq!(user["groups"][0], "accounts");
}

#[tokio::test]
async fn error_of_a_failed_program_contains_its_log() {
    let error = ControlPlane::start(Options {
        api_server_flags: vec!["--no-such-flag".to_owned()],
        ..Options::default()
    })
    .await
    .unwrap_err();
    let reported = error.to_string();
    assert!(reported.contains("kube-apiserver ended"), "{reported}");
    assert!(
        reported.contains("unknown flag: --no-such-flag"),
        "{reported}"
    );
}

/// Returns the paths in `/proc` of all processes whose command line contains `marker`.
fn processes_that_mention(marker: &str) -> Vec<PathBuf> {
    std::fs::read_dir("/proc")
        .into_iter()
        .flatten()
        .flatten()
        .map(|entry| entry.path().join("cmdline"))
        .filter(|path| {
            std::fs::read(path).is_ok_and(|line| String::from_utf8_lossy(&line).contains(marker))
        })
        .collect()
}
