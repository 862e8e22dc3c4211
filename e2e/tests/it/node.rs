//! Tests of the real node with direct access by kubectl. The suite `pods` compares access through
//! Drover with these results.

use std::path::Path;
use std::time::Duration;

use drover_e2e::{
    ControlPlane, Image, MetricsServer, Node, NodeNetwork, Options, cluster_with_node, eventually,
};
use serde_json::json;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};

const SOON: Duration = Duration::from_mins(1);

/// Runs all checks of the node in one test, because starting a node takes longer than the checks.
#[tokio::test]
async fn kubectl_commands_succeed_for_pods_on_a_real_node() {
    let settings = kernel_settings();
    let (cluster, mut node) = cluster_with_node(Options::default()).await.unwrap();
    assert_eq!(kernel_settings(), settings);
    let metrics = MetricsServer::start(&cluster, node.network())
        .await
        .unwrap();
    run_pod(&cluster).await;

    logs_are_read_and_followed(&cluster).await;
    commands_run_in_a_pod(&cluster).await;
    files_are_copied_both_ways(&cluster).await;
    ports_are_forwarded(&cluster).await;
    pods_reach_the_api_server_and_the_host(&cluster, &node).await;
    own_image_is_loaded(&cluster, &node).await;
    let top = cluster.kubectl(["top", "nodes"]).await.unwrap();
    assert!(top.stdout.contains(node.name()), "{top:?}");
    paused_node_answers_when_resumed(&cluster, &node).await;

    node.check().unwrap();
    let (logs, name) = (node.logs(), node.network().name());
    drop((metrics, node, cluster));
    assert_no_remaining_processes(&logs, &name);
}

/// The kernel settings that kubelet changes.
fn kernel_settings() -> Vec<String> {
    [
        "vm/overcommit_memory",
        "kernel/panic",
        "kernel/panic_on_oops",
    ]
    .map(|name| std::fs::read_to_string(Path::new("/proc/sys").join(name)).unwrap())
    .to_vec()
}

#[tokio::test]
async fn node_without_access_to_its_api_server_fails_immediately() {
    let network = NodeNetwork::acquire().await.unwrap();
    let cluster = ControlPlane::start(Options::default()).await.unwrap();
    let error = Node::join(&cluster, network, drover_e2e::NodeOptions::default())
        .await
        .unwrap_err();
    assert!(error.to_string().contains("host_address()"), "{error}");
}

async fn run_pod(cluster: &ControlPlane) {
    let script = "echo first line; httpd -p 8080 -h /www; while :; do sleep 1; echo tick; done";
    apply_pod(cluster, "web", Image::TOOLS, &["sh", "-c", script]).await;
}

async fn apply_pod(cluster: &ControlPlane, name: &str, image: &str, command: &[&str]) {
    let pod = json!({
        "apiVersion": "v1", "kind": "Pod",
        "metadata": {"name": name},
        "spec": {"terminationGracePeriodSeconds": 0, "containers": [{
            "name": "main", "image": image, "imagePullPolicy": "Never", "command": command,
        }]},
    });
    let kubectl = cluster.command_line().with_stdin(pod.to_string());
    kubectl.run(["apply", "-f", "-"]).await.unwrap();
    let pod = format!("pod/{name}");
    let ready = kubectl
        .run(["wait", "--for=condition=Ready", "--timeout=90s", &pod])
        .await;
    if let Err(error) = ready {
        let reported = kubectl.run(["describe", &pod]).await.unwrap();
        panic!("{error}\n{}", reported.stdout);
    }
}

async fn logs_are_read_and_followed(cluster: &ControlPlane) {
    let logs = cluster.kubectl(["logs", "web"]).await.unwrap();
    assert!(logs.stdout.starts_with("first line\n"), "{logs:?}");
    let mut follow = cluster
        .command_line()
        .start("follow", ["logs", "-f", "--tail=0", "web"], &cluster.logs())
        .unwrap();
    follow.wait_for_log("tick", SOON).await.unwrap();
}

async fn commands_run_in_a_pod(cluster: &ControlPlane) {
    let kubectl = cluster.command_line();
    let hostname = kubectl
        .run(["exec", "web", "--", "hostname"])
        .await
        .unwrap();
    assert_eq!(hostname.stdout.trim(), "web");
    let echoed = kubectl
        .clone()
        .with_stdin("through standard input")
        .run(["exec", "-i", "web", "--", "cat"])
        .await
        .unwrap();
    assert_eq!(echoed.stdout, "through standard input");
    let failed = kubectl
        .output(["exec", "web", "--", "sh", "-c", "exit 7"])
        .await
        .unwrap();
    assert_eq!(failed.status.code(), Some(7));
    let terminal = kubectl
        .in_terminal(["exec", "-it", "web", "--", "tty"])
        .await
        .unwrap();
    assert!(terminal.stdout.contains("/dev/pts/"), "{terminal:?}");
}

async fn files_are_copied_both_ways(cluster: &ControlPlane) {
    let there = cluster.folder().join("there.bin");
    let back = cluster.folder().join("back.bin");
    let bytes: Vec<u8> = (0_u32..1_000_000).flat_map(u32::to_le_bytes).collect();
    std::fs::write(&there, &bytes).unwrap();
    let (there, back) = (there.to_str().unwrap(), back.to_str().unwrap());
    cluster
        .kubectl(["cp", there, "web:/tmp/file.bin"])
        .await
        .unwrap();
    cluster
        .kubectl(["cp", "web:/tmp/file.bin", back])
        .await
        .unwrap();
    assert!(std::fs::read(back).unwrap() == bytes, "the copy differs");
}

async fn ports_are_forwarded(cluster: &ControlPlane) {
    let write_page = "echo a page > /www/index.html";
    cluster
        .kubectl(["exec", "web", "--", "sh", "-c", write_page])
        .await
        .unwrap();
    let mut forward = cluster
        .command_line()
        .start("forward", ["port-forward", "web", ":8080"], &cluster.logs())
        .unwrap();
    let line = forward
        .wait_for_log("Forwarding from 127.0.0.1:", SOON)
        .await
        .unwrap();
    let port = line
        .split_once("127.0.0.1:")
        .and_then(|(_, rest)| rest.split_once(' '))
        .map(|(port, _)| port.parse::<u16>().unwrap())
        .unwrap();
    let page = fetch(port).await.unwrap();
    assert!(page.ends_with("a page\n"), "{page}");
}

/// Returns the response of the HTTP server at `port` of this host.
async fn fetch(port: u16) -> std::io::Result<String> {
    let mut stream = tokio::net::TcpStream::connect(("127.0.0.1", port)).await?;
    stream
        .write_all(b"GET / HTTP/1.0\r\nHost: web\r\n\r\n")
        .await?;
    let mut answer = String::new();
    tokio::time::timeout(SOON, stream.read_to_string(&mut answer)).await??;
    Ok(answer)
}

async fn pods_reach_the_api_server_and_the_host(cluster: &ControlPlane, node: &Node) {
    // Connect to the API server by its ClusterIP, as in-cluster clients do.
    let reach = "nc -w 5 $KUBERNETES_SERVICE_HOST $KUBERNETES_SERVICE_PORT </dev/null";
    eventually("the API server's ClusterIP", SOON, async || {
        cluster
            .kubectl(["exec", "web", "--", "sh", "-c", reach])
            .await
    })
    .await
    .unwrap();
    // Connect to a program on this host, as the agent connects to a Drover server.
    let address = node.network().host_address();
    let listener = tokio::net::TcpListener::bind((address, 0)).await.unwrap();
    let port = listener.local_addr().unwrap().port();
    let greet = async {
        let (mut stream, _) = listener.accept().await.unwrap();
        stream.write_all(b"from the host").await.unwrap();
    };
    let reach = format!("nc -w 5 {address} {port} </dev/null");
    let reach = ["exec", "web", "--", "sh", "-c", &reach];
    let (output, ()) = tokio::join!(cluster.kubectl(reach), greet);
    assert_eq!(output.unwrap().stdout, "from the host");
}

async fn own_image_is_loaded(cluster: &ControlPlane, node: &Node) {
    let root = tempfile::tempdir().unwrap();
    std::fs::copy("/bin/busybox", root.path().join("sleep")).unwrap();
    let image = Image::from_folder("made-here:1", root.path(), &["/sleep", "600"])
        .await
        .unwrap();
    node.load_image(image.archive()).await.unwrap();
    apply_pod(cluster, "made-here", image.name(), &["/sleep", "600"]).await;
}

async fn paused_node_answers_when_resumed(cluster: &ControlPlane, node: &Node) {
    node.pause().unwrap();
    let cut_off = cluster
        .command_line()
        .with_limit(Duration::from_secs(2))
        .run(["exec", "web", "--", "hostname"])
        .await;
    cut_off.unwrap_err();
    node.resume().unwrap();
    eventually("the node to answer again", SOON, async || {
        cluster.kubectl(["exec", "web", "--", "hostname"]).await
    })
    .await
    .unwrap();
}

/// Checks that nothing remains of a node. `name` is the name of its network namespace, network link
/// and control group.
fn assert_no_remaining_processes(logs: &Path, name: &str) {
    assert!(!logs.exists());
    assert!(!Path::new("/run/netns").join(name).exists());
    assert!(!Path::new("/sys/class/net").join(name).exists());
    let mounts = std::fs::read_to_string("/proc/self/mounts").unwrap();
    assert!(!mounts.contains(name), "{mounts}");
    for hierarchy in std::fs::read_dir("/sys/fs/cgroup").unwrap() {
        let group = hierarchy.unwrap().path().join(name);
        assert!(!group.exists(), "{}", group.display());
    }
    for process in ["containerd", "kubelet", "containerd-shim-runc-v2"] {
        assert!(!is_running_for(process, logs), "{process}");
    }
}

/// Returns true if a process runs whose command line contains `name` and the folder of the test.
fn is_running_for(name: &str, logs: &Path) -> bool {
    let folder = logs.parent().unwrap().to_str().unwrap().to_owned();
    std::fs::read_dir("/proc").unwrap().flatten().any(|entry| {
        std::fs::read(entry.path().join("cmdline")).is_ok_and(|line| {
            let line = String::from_utf8_lossy(&line);
            line.contains(name) && line.contains(&folder)
        })
    })
}
