//! Tests of simulated clusters on the real server: the embedded hub, real tunnels and the real
//! kubectl.

#![expect(
    clippy::unwrap_used,
    reason = "helper functions of tests fail by a panic"
)]

mod objects;
mod tokens;

use std::path::PathBuf;
use std::process::ExitCode;

use drover_e2e::suite::{self, Stage};
use drover_e2e::{CommandLine, DemoOptions, DemoServer, DroverError, Tool, test};
use serde_json::Value;

/// The server with simulated clusters. A test can stop the server and start a new one.
struct Demo {
    server: Option<DemoServer>,
    kubectl: PathBuf,
    folder: tempfile::TempDir,
}

impl Stage for Demo {
    fn story(&self) -> String {
        let server = self.server.as_ref();
        let log = server.map(|server| server.folder().join("drover-server.log"));
        log.and_then(|log| std::fs::read_to_string(log).ok())
            .unwrap_or_default()
    }
}

/// The reason why the environment cannot start.
#[derive(Debug, thiserror::Error)]
enum NotStarted {
    #[error(transparent)]
    Kubectl(#[from] drover_e2e::BuildError),
    #[error("no folder")]
    Folder(#[from] std::io::Error),
    #[error(transparent)]
    Drover(#[from] DroverError),
}

impl Demo {
    async fn start() -> Result<Self, NotStarted> {
        let kubectl = Tool::Kubectl.locate().await?;
        let folder = tempfile::tempdir()?;
        let mut demo = Self {
            server: None,
            kubectl,
            folder,
        };
        demo.start_server(3).await?;
        Ok(demo)
    }

    async fn start_server(&mut self, clusters: u32) -> Result<(), DroverError> {
        let options = DemoOptions {
            folder: self.folder.path().to_owned(),
            port: None,
            clusters,
        };
        let server = DemoServer::start(options).await?;
        server.log_in().await?;
        server
            .wait_for_clusters(clusters.try_into().unwrap())
            .await?;
        self.server = Some(server);
        Ok(())
    }

    fn server(&self) -> &DemoServer {
        self.server.as_ref().unwrap()
    }

    /// Returns a kubectl command with the kubeconfig that `drover cluster kubeconfig` prints for a
    /// cluster.
    async fn kubectl(&self, cluster: &str) -> CommandLine {
        let server = self.server();
        let file = server.folder().join(format!("kubeconfig-{cluster}"));
        let _ = std::fs::remove_file(&file);
        let path = file.display().to_string();
        let words = ["cluster", "kubeconfig", cluster, "--credential", "token"];
        let words = words.into_iter().chain(["--output-file", &path]);
        server.command_line().run(words).await.unwrap();
        CommandLine::new(&self.kubectl, &file, &server.folder().join("home"))
    }

    async fn cluster(&self, name: &str) -> Value {
        let clusters = self.server().clusters().await.unwrap();
        clusters
            .into_iter()
            .find(|cluster| cluster["name"] == name)
            .unwrap()
    }
}

async fn run(kubectl: &CommandLine, words: &str) -> String {
    kubectl.run(words.split(' ')).await.unwrap().stdout
}

async fn kubectl_commands_succeed_in_a_simulated_cluster(demo: &mut Demo) {
    let kubectl = demo.kubectl("demo-small").await;
    run(
        &kubectl,
        "-n shop rollout status deployment/web --timeout=2m",
    )
    .await;
    let pods = run(&kubectl, "get pods -A").await;
    for part in ["shop", "kube-system", "drover-agent"] {
        assert!(pods.contains(part), "{pods}");
    }
    let nodes = run(&kubectl, "get nodes").await;
    assert!(
        nodes.contains("simulated-worker-1") && nodes.contains("+simulated"),
        "{nodes}"
    );
    run(&kubectl, "-n shop scale deployment/web --replicas=5").await;
    let output = run(
        &kubectl,
        "-n shop rollout status deployment/web --timeout=2m",
    )
    .await;
    assert!(output.contains("successfully rolled out"), "{output}");
    run(
        &kubectl,
        "-n shop set image deployment/web web=example.org/shop/web:3",
    )
    .await;
    run(
        &kubectl,
        "-n shop rollout status deployment/web --timeout=2m",
    )
    .await;
    let history = run(&kubectl, "-n shop rollout history deployment/web").await;
    assert!(history.contains("\n2 "), "{history}");
    run(
        &kubectl,
        "-n shop rollout status statefulset/store --timeout=2m",
    )
    .await;
    run(
        &kubectl,
        "-n kube-system rollout status daemonset/node-proxy --timeout=2m",
    )
    .await;
    run(
        &kubectl,
        "-n shop wait --for=condition=Complete job/migrate --timeout=2m",
    )
    .await;
    let log = run(&kubectl, "-n shop logs store-0").await;
    assert!(log.starts_with("[simulated] "), "{log}");
}

async fn charts_with_ingress_and_autoscaling_can_be_installed(demo: &mut Demo) {
    let kubectl = demo.kubectl("demo-small").await;
    let program = Tool::Helm.locate().await.unwrap();
    let helm = kubectl.clone().with_program(&program);
    let chart = demo.folder.path().join("site").display().to_string();
    helm.run(["create", &chart]).await.unwrap();
    let values = "ingress.enabled=true,autoscaling.enabled=true";
    let words = [
        "install",
        "site",
        &chart,
        "--namespace",
        "charts",
        "--create-namespace",
    ];
    let words = words
        .into_iter()
        .chain(["--set", values, "--wait", "--timeout", "2m"]);
    helm.run(words).await.unwrap();
    let shown = run(&kubectl, "-n charts get ingress site").await;
    assert!(shown.contains("chart-example.local"), "{shown}");
    let shown = run(&kubectl, "-n charts get hpa site").await;
    assert!(shown.contains("Deployment/site"), "{shown}");
    assert!(shown.contains("cpu: <unknown>/80%"), "{shown}");
    let all = run(&kubectl, "-n charts get all -o name").await;
    let autoscaler = "horizontalpodautoscaler.autoscaling/site";
    assert!(all.contains(autoscaler), "{all}");
    let upgrade = ["upgrade", "site", &chart, "--namespace", "charts"];
    let upgrade = upgrade.into_iter().chain(["--set", "replicaCount=2"]);
    helm.run(upgrade).await.unwrap();
    let remaining = run(&kubectl, "-n charts get ingress,hpa -o name").await;
    assert_eq!(remaining.trim(), "");
    let words = ["uninstall", "site", "--namespace", "charts", "--wait"];
    helm.run(words).await.unwrap();
}

async fn simulated_cluster_reports_usage_and_rejects_exec(demo: &mut Demo) {
    let kubectl = demo.kubectl("demo-small").await;
    run(
        &kubectl,
        "-n shop wait --for=condition=Ready pod/store-0 --timeout=2m",
    )
    .await;
    let nodes = run(&kubectl, "top nodes").await;
    assert!(nodes.contains("simulated-worker-2"), "{nodes}");
    let pods = run(&kubectl, "top pods -n shop").await;
    assert!(pods.contains("store-0"), "{pods}");
    let words = ["-n", "shop", "exec", "store-0", "--", "true"];
    let refused = kubectl.output(words).await.unwrap();
    assert!(!refused.status.success());
    assert!(
        refused
            .stderr
            .contains("is simulated: no process runs in it"),
        "{refused:?}"
    );
}

/// Asserts that the agent's service accounts have exactly the permissions that they have in a real
/// cluster.
async fn simulated_cluster_restricts_agent_accounts_to_their_roles(demo: &mut Demo) {
    let kubectl = demo.kubectl("demo-small").await;
    let account = "system:serviceaccount:drover-agent:drover-report";
    for (verb, allowed) in [
        ("list nodes", true),
        ("get secrets", false),
        ("create pods", false),
    ] {
        let words = format!("auth can-i {verb} --all-namespaces --as {account}");
        // Drover rejects impersonation of service accounts, also by administrators.
        let refused = kubectl.output(words.split(' ')).await.unwrap();
        assert!(!refused.status.success(), "{verb}: {refused:?}");
        let review = serde_json::json!({
            "apiVersion": "authorization.k8s.io/v1", "kind": "SubjectAccessReview",
            "spec": {"user": account, "resourceAttributes": {
                "verb": verb.split(' ').next(), "resource": verb.split(' ').nth(1)}},
        });
        let requested = kubectl.clone().with_stdin(review.to_string());
        let answer = requested
            .run(["create", "-o", "json", "-f", "-"])
            .await
            .unwrap()
            .stdout;
        let answer: Value = serde_json::from_str(&answer).unwrap();
        assert_eq!(
            answer["status"]["allowed"] == true,
            allowed,
            "{verb}: {answer}"
        );
    }
}

async fn cluster_status_reports_the_health_of_each_simulated_cluster(demo: &mut Demo) {
    for (name, total, ready) in [
        ("demo-small", 2, 2),
        ("demo-large", 15, 15),
        ("demo-troubled", 4, 3),
    ] {
        let reported = async || {
            let nodes = demo.cluster(name).await["nodes"].clone();
            let expected = nodes["total"] == total && nodes["ready"] == ready;
            if expected { Ok(()) } else { Err(nodes) }
        };
        let limit = std::time::Duration::from_mins(1);
        drover_e2e::eventually(name, limit, reported).await.unwrap();
        let cluster = demo.cluster(name).await;
        assert_eq!(cluster["kubernetesVersion"], "v1.36.3+simulated");
    }
    let kubectl = demo.kubectl("demo-troubled").await;
    for (pod, reason) in [
        ("crashing", "CrashLoopBackOff"),
        ("no-image", "ImagePullBackOff"),
    ] {
        let shows = async || {
            let pods = run(&kubectl, "-n troubles get pods").await;
            let mut lines = pods.lines().filter(|line| line.starts_with(pod));
            if lines.any(|line| line.contains(reason)) {
                Ok(())
            } else {
                Err(pods)
            }
        };
        let limit = std::time::Duration::from_mins(1);
        drover_e2e::eventually(reason, limit, shows).await.unwrap();
    }
    let events = run(
        &kubectl,
        "-n troubles get events --field-selector reason=FailedScheduling",
    )
    .await;
    assert!(events.contains("Insufficient cpu"), "{events}");
}

async fn restarted_demo_preserves_state_and_deletes_removed_clusters(demo: &mut Demo) {
    let kubectl = demo.kubectl("demo-small").await;
    run(&kubectl, "create configmap kept").await;
    let before = demo.cluster("demo-small").await["uid"].clone();
    demo.server.take().unwrap().stop().await.unwrap();
    demo.start_server(1).await.unwrap();
    assert_eq!(demo.cluster("demo-small").await["uid"], before);
    let kubectl = demo.kubectl("demo-small").await;
    run(&kubectl, "get configmap kept").await;
    let folders = demo.folder.path().join("data/demo");
    let remaining = async || {
        let remaining = std::fs::read_dir(&folders).unwrap().count();
        if remaining == 1 {
            Ok(())
        } else {
            Err(format!("{remaining} folders"))
        }
    };
    let limit = std::time::Duration::from_mins(1);
    drover_e2e::eventually("one folder", limit, remaining)
        .await
        .unwrap();
}

fn main() -> ExitCode {
    suite::main(
        &[
            test!(kubectl_commands_succeed_in_a_simulated_cluster),
            test!(charts_with_ingress_and_autoscaling_can_be_installed),
            test!(simulated_cluster_reports_usage_and_rejects_exec),
            test!(simulated_cluster_restricts_agent_accounts_to_their_roles),
            test!(cluster_status_reports_the_health_of_each_simulated_cluster),
            test!(objects::objects_of_all_clusters_are_in_one_table),
            test!(objects::output_for_one_cluster_equals_the_output_of_kubectl),
            test!(objects::failed_clusters_are_named_and_other_clusters_are_listed),
            test!(objects::labels_are_changed_in_all_selected_clusters),
            test!(objects::watch_prints_the_changes_of_all_clusters),
            test!(objects::logs_of_several_clusters_name_their_container),
            test!(objects::completion_contains_clusters_kinds_and_names),
            test!(objects::kubectl_runs_the_plugin_and_its_completion),
            test!(objects::search_finds_objects_by_name_label_and_image),
            test!(objects::top_prints_the_usage_of_all_clusters),
            test!(tokens::search_and_top_fail_with_a_wrong_token),
            test!(restarted_demo_preserves_state_and_deletes_removed_clusters),
        ],
        async || Demo::start().await,
    )
}
