//! kubectl 1.36 against a server with TLS and running controllers.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Output, Stdio};
use std::sync::Arc;
use std::time::Duration;

use drover_apiserver::server::{ApiServer, Options};
use serde_json::{Value, json};
use tokio::io::AsyncWriteExt;
use tokio::net::TcpListener;
use tokio::process::Command;
use tokio_rustls::TlsAcceptor;
use tokio_util::sync::CancellationToken;

#[path = "../../examples/serve/listener.rs"]
mod listener;

/// A served hub, and kubectl's way to it.
struct Served {
    folder: tempfile::TempDir,
    end: CancellationToken,
    _serving: tokio::task::JoinHandle<()>,
}

impl Drop for Served {
    fn drop(&mut self) {
        self.end.cancel();
    }
}

/// How a run of kubectl ended.
struct Run {
    ok: bool,
    out: String,
    err: String,
}

impl Run {
    /// What it printed; it must have succeeded.
    #[track_caller]
    fn ok(self) -> String {
        assert!(self.ok, "{}{}", self.out, self.err);
        self.out
    }
}

impl Served {
    async fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let mut options = Options::new(folder.path().join("hub.db"));
        let token = secrecy::SecretString::from("secret");
        options
            .authenticators
            .push(Box::new(listener::AdminToken(token.clone())));
        let (tls, pem) = listener::certificate().unwrap();
        options.lifecycle.root_ca = Some(pem.clone());
        let server = ApiServer::open(options).await.unwrap();
        let socket = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = socket.local_addr().unwrap();
        let config = folder.path().join("kubeconfig");
        listener::write_kubeconfig(&config, address, Some(&pem), &token).unwrap();
        let end = CancellationToken::new();
        let running = (server.clone(), end.clone());
        tokio::spawn(async move { running.0.run(running.1).await });
        let acceptor = TlsAcceptor::from(Arc::new(tls));
        let serving = listener::accept(socket, Some(acceptor), server.router());
        Self {
            folder,
            end,
            _serving: tokio::spawn(serving),
        }
    }

    fn command(&self, args: &str) -> Command {
        let mut command = Command::new(kubectl());
        command
            .args(args.split_whitespace())
            .env("KUBECONFIG", self.folder.path().join("kubeconfig"))
            .env("HOME", self.folder.path())
            .kill_on_drop(true);
        command
    }

    async fn run(&self, args: &str) -> Run {
        self.run_with(args, "").await
    }

    /// Runs kubectl with this on its standard input.
    async fn run_with(&self, args: &str, input: &str) -> Run {
        let mut child = self
            .command(args)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let mut stdin = child.stdin.take().unwrap();
        stdin.write_all(input.as_bytes()).await.unwrap();
        drop(stdin);
        let ended = tokio::time::timeout(Duration::from_mins(1), child.wait_with_output());
        let Output {
            status,
            stdout,
            stderr,
        } = ended.await.expect("kubectl ends within a minute").unwrap();
        Run {
            ok: status.success(),
            out: String::from_utf8(stdout).unwrap(),
            err: String::from_utf8(stderr).unwrap(),
        }
    }

    async fn json(&self, args: &str) -> Value {
        let out = self.run(&format!("{args} -o json")).await.ok();
        serde_json::from_str(&out).unwrap()
    }
}

/// kubectl 1.36.3, where the end-to-end tests build it (`e2e/src/tools`).
fn kubectl() -> PathBuf {
    const LINK_FLAGS: &str = "-s -w \
     -X k8s.io/component-base/version.gitVersion=v1.36.3 \
     -X k8s.io/component-base/version.gitMajor=1 \
     -X k8s.io/component-base/version.gitMinor=36";
    let sources = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../e2e/kubernetes/kubernetes");
    let mut context = aws_lc_rs::digest::Context::new(&aws_lc_rs::digest::SHA256);
    for name in ["go.mod", "go.sum"] {
        context.update(&std::fs::read(sources.join(name)).unwrap());
    }
    context.update(LINK_FLAGS.as_bytes());
    let mut key = String::new();
    for byte in &context.finish().as_ref()[..8] {
        write!(key, "{byte:02x}").unwrap();
    }
    let cache = std::env::var_os("XDG_CACHE_HOME")
        .filter(|folder| !folder.is_empty())
        .map_or_else(
            || PathBuf::from(std::env::var_os("HOME").unwrap()).join(".cache"),
            PathBuf::from,
        );
    let program = cache.join(format!("drover/kubernetes/kubernetes-{key}/bin/kubectl"));
    assert!(
        program.is_file(),
        "kubectl is built by the end-to-end tests: {}",
        program.display()
    );
    program
}

const DEPLOYMENT: &str = "
apiVersion: apps/v1
kind: Deployment
metadata: {name: web, labels: {app: web}}
spec:
  replicas: 2
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec: {containers: [{name: c, image: nginx}]}
";

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn kubectl_applies_shows_changes_and_deletes() {
    let hub = Served::new().await;
    let made = hub.run_with("apply -f -", DEPLOYMENT).await;
    assert!(made.err.is_empty(), "{}", made.err);
    assert_eq!(made.ok(), "deployment.apps/web created\n");
    assert_eq!(
        hub.run_with("apply -f -", DEPLOYMENT).await.ok(),
        "deployment.apps/web unchanged\n"
    );
    let more = DEPLOYMENT.replace("replicas: 2", "replicas: 3");
    let diff = hub.run_with("diff -f -", &more).await;
    assert!(
        !diff.ok && diff.out.contains("+  replicas: 3"),
        "{}{}",
        diff.out,
        diff.err
    );
    assert_eq!(
        hub.run_with("apply -f -", &more).await.ok(),
        "deployment.apps/web configured\n"
    );
    let applied = hub
        .run_with("apply --server-side --force-conflicts -f -", &more)
        .await;
    assert_eq!(applied.ok(), "deployment.apps/web serverside-applied\n");
    hub.run("scale deployment web --replicas=5").await.ok();
    assert_eq!(hub.json("get deployment web").await["spec"]["replicas"], 5);
    hub.run("label deployment web tier=front").await.ok();
    hub.run("annotate deployment web note=x").await.ok();
    let labelled = hub.run("get deployment -l tier=front -o name").await.ok();
    assert_eq!(labelled, "deployment.apps/web\n");
    for output in [
        "wide",
        "yaml",
        "name",
        "jsonpath={.spec.replicas}",
        "custom-columns=N:.metadata.name",
    ] {
        hub.run(&format!("get deployment web -o {output}"))
            .await
            .ok();
    }
    let described = hub.run("describe deployment web").await.ok();
    assert!(described.contains("Replicas:"), "{described}");
    hub.run("delete deployment web --wait").await.ok();
    let missing = hub.run("get deployment web").await;
    assert_eq!(
        missing.err,
        "Error from server (NotFound): deployments.apps \"web\" not found\n"
    );
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn kubectl_finds_what_is_served_and_what_it_may_do() {
    let hub = Served::new().await;
    let resources = hub.run("api-resources").await.ok();
    for name in [
        "configmaps",
        "deployments",
        "customresourcedefinitions",
        "leases",
    ] {
        assert!(resources.contains(name), "{name}\n{resources}");
    }
    assert!(
        hub.run("version")
            .await
            .ok()
            .contains("Server Version: v1.36")
    );
    assert_eq!(hub.run("auth can-i delete nodes").await.ok(), "yes\n");
    assert!(hub.run("auth can-i --list").await.ok().contains("*.*"));
    hub.run("create serviceaccount robot").await.ok();
    let token = hub.run("create token robot").await.ok();
    assert_eq!(token.trim().split('.').count(), 3);
    let refused = hub
        .run("auth can-i list secrets --as=system:serviceaccount:default:robot")
        .await;
    assert_eq!(refused.out, "no\n");
    let who = hub.run("auth whoami").await.ok();
    assert!(who.contains("admin"), "{who}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_namespace_empties_itself_and_goes() {
    let hub = Served::new().await;
    hub.run("create namespace shop").await.ok();
    hub.run("create configmap c -n shop --from-literal=a=b")
        .await
        .ok();
    hub.run("wait --for=create serviceaccount/default -n shop --timeout=20s")
        .await
        .ok();
    hub.run("delete namespace shop --timeout=40s").await.ok();
    assert!(!hub.run("get namespace shop").await.ok);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn custom_resources_are_served_at_once() {
    let hub = Served::new().await;
    let crd = json!({
        "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
        "metadata": {"name": "widgets.example.com"},
        "spec": {"group": "example.com", "scope": "Namespaced",
            "names": {"plural": "widgets", "kind": "Widget", "shortNames": ["wi"]},
            "versions": [{"name": "v1", "served": true, "storage": true,
                "subresources": {"status": {}, "scale": {"specReplicasPath": ".spec.size",
                    "statusReplicasPath": ".status.size"}},
                "schema": {"openAPIV3Schema": {"type": "object", "properties": {
                    "spec": {"type": "object", "properties": {
                        "size": {"type": "integer", "minimum": 1, "default": 2}}},
                    "status": {"type": "object", "properties": {"size": {"type": "integer"}}}}}}}]},
    });
    hub.run_with("create -f -", &crd.to_string()).await.ok();
    hub.run("wait --for=condition=Established crd/widgets.example.com --timeout=20s")
        .await
        .ok();
    let widget = json!({"apiVersion": "example.com/v1", "kind": "Widget",
        "metadata": {"name": "w"}, "spec": {}});
    hub.run_with("create -f -", &widget.to_string()).await.ok();
    assert_eq!(hub.json("get wi w").await["spec"]["size"], 2);
    hub.run("scale widget w --replicas=4").await.ok();
    let scaled = hub.json("get widget w").await;
    assert_eq!(
        (&scaled["spec"]["size"], &scaled["metadata"]["generation"]),
        (&json!(4), &json!(2))
    );
    let mut small = widget.clone();
    small["metadata"]["name"] = "small".into();
    small["spec"]["size"] = 0.into();
    let refused = hub
        .run_with("create --validate=false -f -", &small.to_string())
        .await;
    assert!(
        refused
            .err
            .contains("spec.size in body should be greater than or equal to 1"),
        "{}",
        refused.err
    );
    hub.run("delete crd widgets.example.com --timeout=30s")
        .await
        .ok();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn kubectl_watches_and_waits() {
    let hub = Served::new().await;
    let watching = hub
        .command("get configmaps -w -o name --request-timeout=5s")
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    tokio::time::sleep(Duration::from_secs(1)).await;
    hub.run("create configmap seen --from-literal=a=b")
        .await
        .ok();
    let ended = tokio::time::timeout(Duration::from_secs(30), watching.wait_with_output());
    let output = ended.await.expect("the watch ends").unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    assert!(text.contains("configmap/seen"), "{text}");
}
