//! Tests of the authorized endpoint: a real API server calls the webhook of a node agent. The node
//! agent runs in this process with the permissions of the manifest.

use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use drover_api::agent::NodeClass;
use drover_e2e::{ControlPlane, SharedControlPlane, eventually};
use drover_node_agent::report::NodeIdentity;
use drover_node_agent::wire::Services;
use hyper_util::rt::{TokioExecutor, TokioIo};
use hyper_util::server::conn::auto;
use k8s_openapi::api::core::v1::Secret;
use kube::config::AuthInfo;
use reqwest::Method;
use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use serde_json::{Value, json};
use tokio::net::TcpListener;
use tokio::task::JoinHandle;

use super::members::{give, take};
use super::node_agents::{create_node, create_pod, token, with_ready_cluster};
use super::rig::{Rig, Running, SOON, outside};

const ENDPOINT: &str = "/v1/clusters/shop/endpoint";
const NODE: &str = "cp-1";
/// A role that permits reads in the cluster.
const ROLE: &str = "cluster-viewer";
/// Time within which the cluster refuses a revoked token: the server writes the tokens within 2 s, the
/// API servers of these tests keep the responses of the webhook for 1 s, and all API servers keep
/// authenticated tokens for 10 s.
const REVOKED: Duration = Duration::from_secs(16);

/// A server, and a cluster whose API server calls the webhook of a node agent.
struct Direct {
    rig: Rig,
    agent: Option<Running>,
    api: Api,
}

/// The API server for direct requests, and the node agent with its webhook.
struct Api {
    cluster: SharedControlPlane,
    listen: SocketAddr,
    services: Task,
}

/// A task that ends when the value is dropped.
pub(super) struct Task(JoinHandle<()>);

impl Drop for Task {
    fn drop(&mut self) {
        self.0.abort();
    }
}

impl Direct {
    async fn start() -> Self {
        let (rig, mut cluster, agent) = with_ready_cluster().await;
        create_node(&cluster, NODE, NodeClass::ControlPlane).await;
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await.unwrap();
        let listen = listener.local_addr().unwrap();
        drop(listener);
        let services = start_webhook(&cluster, NODE, listen).await;
        enable(&rig, true).await;
        let condition = "AuthorizedEndpointReady";
        rig.wait_for("shop", condition, ("False", "NotConfigured"))
            .await;
        configure(&rig, &mut cluster, listen).await;
        rig.wait_for("shop", condition, ("True", "Ready")).await;
        Self {
            rig,
            agent: Some(agent),
            api: Api {
                cluster,
                listen,
                services,
            },
        }
    }

    /// Creates a user with a role in the cluster. Returns the ID of the member, and a direct token.
    async fn member(&self, name: &str) -> (String, String) {
        let session = self.rig.server.user(&self.rig.admin, name).await;
        let member = give(&self.rig, &self.rig.admin, ROLE, name).await;
        (member, self.direct_token(&session).await)
    }

    /// Returns the token of a kubeconfig for direct access.
    async fn direct_token(&self, session: &str) -> String {
        let body = json!({ "clusters": ["shop"], "credential": "Token", "direct": true });
        let created = self.rig.server.post("/v1/kubeconfig", session, body);
        let created = created.await.expect(201);
        let text = created["kubeconfig"].as_str().unwrap();
        let config: Value = serde_saphyr::from_str(text).unwrap();
        assert_eq!(config["current-context"], format!("shop-{NODE}"));
        let server = &config["clusters"][0]["cluster"]["server"];
        assert_eq!(*server, self.api.cluster.url());
        config["users"][0]["user"]["token"]
            .as_str()
            .unwrap()
            .to_owned()
    }
}

impl Api {
    /// Lists the nodes with a direct request. Returns the status code.
    async fn list(&self, token: &str) -> u16 {
        send(&self.cluster, token, &Method::GET, "/api/v1/nodes", None).await
    }

    async fn wait_for_code(&self, what: &str, token: &str, limit: Duration, expected: u16) {
        eventually(what, limit, async || {
            let code = self.list(token).await;
            (code == expected).then_some(()).ok_or(code)
        })
        .await
        .unwrap();
    }
}

pub(super) async fn enable(rig: &Rig, enabled: bool) {
    let body = Some(json!({ "enabled": enabled }));
    let patch = rig
        .server
        .call(Method::PATCH, ENDPOINT, Some(&rig.admin), body);
    patch.await.expect(200);
}

async fn send(
    cluster: &ControlPlane,
    token: &str,
    method: &Method,
    path: &str,
    body: Option<&Value>,
) -> u16 {
    let authority = reqwest::Certificate::from_pem(cluster.ca().as_bytes()).unwrap();
    let client = reqwest::Client::builder().tls_certs_only([authority]);
    let client = client.build().unwrap();
    let mut request = client
        .request(method.clone(), format!("{}{path}", cluster.url()))
        .bearer_auth(token);
    if let Some(body) = body {
        request = request.json(body);
    }
    request.send().await.unwrap().status().as_u16()
}

/// Returns a client configuration with the token of a node agent's pod, which names the node.
pub(super) async fn as_node_agent(
    cluster: &ControlPlane,
    node: &str,
    class: NodeClass,
) -> kube::Config {
    let pod = create_pod(cluster, node, class).await;
    let mut config = outside(cluster).await;
    config.auth_info = AuthInfo {
        token: Some(token(cluster, class, Some(&pod), None).await.into()),
        ..AuthInfo::default()
    };
    config
}

/// Starts the webhook and the report of a node agent on a control-plane node.
async fn start_webhook(cluster: &ControlPlane, node: &str, listen: SocketAddr) -> Task {
    start_services(cluster, node, NodeClass::ControlPlane, Some(listen)).await
}

/// Starts the report of a node agent, and on control-plane nodes the webhook.
pub(super) async fn start_services(
    cluster: &ControlPlane,
    node: &str,
    class: NodeClass,
    listen: Option<SocketAddr>,
) -> Task {
    let local = match class {
        NodeClass::ControlPlane => Some(outside(cluster).await),
        NodeClass::Worker => None,
    };
    let config = as_node_agent(cluster, node, class).await;
    let loopback = Ipv4Addr::LOCALHOST.into();
    let identity = NodeIdentity {
        node: node.to_owned(),
        class,
        address: Some(loopback),
        pod: None,
        kubelet: None,
        api_server: Some(SocketAddr::new(loopback, cluster.api_address().port())),
    };
    let services = Services::new(config, local, identity, listen).unwrap();
    Task(tokio::spawn(services.run()))
}

/// Configures the API server as the setup instructions describe. Only the port differs, so that tests
/// can run in parallel.
async fn configure(rig: &Rig, cluster: &mut SharedControlPlane, listen: SocketAddr) {
    let endpoint = rig.server.get(ENDPOINT, &rig.admin).await.expect(200);
    let config = endpoint["webhookConfig"].as_str().unwrap();
    let config = config.replace("127.0.0.1:6440", &listen.to_string());
    let file = cluster.folder().join("drover-webhook.yaml");
    std::fs::write(&file, config).unwrap();
    let flags = [
        format!(
            "--authentication-token-webhook-config-file={}",
            file.display()
        ),
        "--authentication-token-webhook-version=v1".to_owned(),
        "--authentication-token-webhook-cache-ttl=1s".to_owned(),
    ];
    cluster.reconfigure_api_server(&flags).await.unwrap();
}

/// Requests with different permissions: reads and writes, of namespaced and cluster-scoped objects, with
/// and without a role, of missing objects, and of paths without an object.
fn requests() -> Vec<(Method, String, Option<Value>)> {
    let read = |path: &str| (Method::GET, path.to_owned(), None);
    let mut requests: Vec<_> = [
        "/version",
        "/livez",
        "/readyz",
        "/metrics",
        "/api",
        "/apis",
        "/openapi/v2",
        "/logs/",
    ]
    .map(read)
    .into();
    for kind in [
        "pods",
        "services",
        "configmaps",
        "secrets",
        "endpoints",
        "serviceaccounts",
        "events",
        "resourcequotas",
        "limitranges",
        "persistentvolumeclaims",
        "replicationcontrollers",
    ] {
        requests.push(read(&format!("/api/v1/namespaces/default/{kind}")));
    }
    for path in [
        "/api/v1/nodes",
        "/api/v1/namespaces",
        "/api/v1/persistentvolumes",
        "/api/v1/pods",
        "/api/v1/secrets",
        "/api/v1/namespaces/default/pods/missing",
        "/api/v1/namespaces/kube-system/configmaps/kube-root-ca.crt",
        "/apis/apps/v1/deployments",
        "/apis/batch/v1/jobs",
        "/apis/rbac.authorization.k8s.io/v1/clusterroles",
        "/apis/rbac.authorization.k8s.io/v1/clusterrolebindings",
        "/apis/apiextensions.k8s.io/v1/customresourcedefinitions",
        "/apis/storage.k8s.io/v1/storageclasses",
        "/apis/example.com/v1/missing",
    ] {
        requests.push(read(path));
    }
    let named = |name: &str| json!({ "metadata": { "name": name } });
    for (path, body) in [
        ("/api/v1/namespaces?dryRun=All", named("own")),
        (
            "/api/v1/namespaces/default/configmaps?dryRun=All",
            named("own"),
        ),
        (
            "/api/v1/namespaces/default/secrets?dryRun=All",
            named("own"),
        ),
        (
            "/apis/authorization.k8s.io/v1/selfsubjectrulesreviews",
            json!({ "spec": { "namespace": "default" } }),
        ),
        (
            "/apis/rbac.authorization.k8s.io/v1/clusterrolebindings?dryRun=All",
            json!({
                "metadata": { "name": "own" },
                "roleRef": {
                    "apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole",
                    "name": "cluster-admin",
                },
            }),
        ),
    ] {
        requests.push((Method::POST, path.to_owned(), Some(body)));
    }
    let delete = |path: &str| (Method::DELETE, path.to_owned(), None);
    requests.push(delete("/api/v1/nodes/missing"));
    requests.push(delete("/api/v1/namespaces/default/pods/missing"));
    requests
}

#[tokio::test]
async fn direct_requests_have_the_results_of_proxied_requests_while_the_server_is_stopped() {
    let direct = Box::pin(Direct::start()).await;
    let (_, token) = direct.member("ann").await;
    let Direct {
        rig,
        mut api,
        agent,
    } = direct;
    api.wait_for_code("the token in the cluster", &token, SOON, 200)
        .await;
    let requests = requests();
    assert_eq!(requests.len(), 40);
    let mut proxied = Vec::new();
    for (method, path, body) in &requests {
        let path = format!("/k8s/clusters/shop{path}");
        let call = rig
            .server
            .call(method.clone(), &path, Some(&token), body.clone());
        proxied.push(call.await.code.as_u16());
    }
    for code in [200, 201, 403, 404] {
        let found = proxied.contains(&code);
        assert!(found, "no request has the result {code}: {proxied:?}");
    }
    agent.unwrap().terminate().await;
    rig.server.stop().await;
    // The restarted node agent reads the tokens from the cluster.
    drop(api.services);
    tokio::time::sleep(Duration::from_secs(2)).await;
    assert_eq!(
        send(&api.cluster, &token, &Method::GET, "/api/v1/nodes", None).await,
        401
    );
    api.services = start_webhook(&api.cluster, NODE, api.listen).await;
    api.wait_for_code("the restarted node agent", &token, SOON, 200)
        .await;
    for ((method, path, body), expected) in requests.iter().zip(proxied) {
        let code = send(&api.cluster, &token, method, path, body.as_ref()).await;
        assert_eq!(code, expected, "{method} {path}");
    }
}

#[tokio::test]
async fn api_server_accepts_only_the_webhook_with_the_pinned_certificate() {
    let direct = Box::pin(Direct::start()).await;
    let api = direct.api;
    drop(api.services);
    tokio::time::sleep(Duration::from_secs(2)).await;
    let listener = TcpListener::bind(api.listen).await.unwrap();
    let connections = Arc::new(AtomicUsize::new(0));
    let _other = Task(tokio::spawn(impostor(listener, Arc::clone(&connections))));
    let code = send(
        &api.cluster,
        "any-token",
        &Method::GET,
        "/api/v1/nodes",
        None,
    )
    .await;
    assert_eq!(code, 401);
    assert!(connections.load(Ordering::Relaxed) > 0);
}

/// Answers every request on a TLS listener with another certificate: the caller is an administrator.
async fn impostor(listener: TcpListener, connections: Arc<AtomicUsize>) {
    let user = json!({ "username": "admin", "groups": ["system:masters"] });
    let review = json!({
        "apiVersion": "authentication.k8s.io/v1", "kind": "TokenReview",
        "status": { "authenticated": true, "user": user },
    });
    let app = axum::Router::new().fallback(async move || axum::Json(review.clone()));
    let certified = drover_testkit::authority::Authority::new().certify("127.0.0.1");
    let chain = CertificateDer::from_pem_slice(certified.certificate.as_bytes()).unwrap();
    let key = PrivateKeyDer::from_pem_slice(certified.key.as_bytes()).unwrap();
    let config = rustls::ServerConfig::builder().with_no_client_auth();
    let config = config.with_single_cert(vec![chain], key).unwrap();
    let acceptor = tokio_rustls::TlsAcceptor::from(Arc::new(config));
    loop {
        let (stream, _) = listener.accept().await.unwrap();
        connections.fetch_add(1, Ordering::Relaxed);
        let (acceptor, app) = (acceptor.clone(), app.clone());
        tokio::spawn(async move {
            let Ok(stream) = acceptor.accept(stream).await else {
                return;
            };
            let service = hyper_util::service::TowerToHyperService::new(app);
            let builder = auto::Builder::new(TokioExecutor::new());
            let serving = builder.serve_connection(TokioIo::new(stream), service);
            let _ = serving.await;
        });
    }
}

#[tokio::test]
async fn revoked_tokens_and_tokens_of_other_clusters_are_refused_directly() {
    let mut direct = Box::pin(Direct::start()).await;
    let (_, of_disabled) = direct.member("ann").await;
    let (_, deleted) = direct.member("bob").await;
    let (member, without_role) = direct.member("carl").await;
    let (_, valid) = direct.member("dora").await;
    let agent = direct.agent.take().unwrap();
    let (rig, api) = (&direct.rig, &direct.api);
    for token in [&of_disabled, &deleted, &without_role, &valid] {
        api.wait_for_code("the token in the cluster", token, SOON, 200)
            .await;
    }
    rig.create("till").await;
    let tokens = "/v1/tokens";
    for body in [
        json!({ "purpose": "Api", "cluster": "till" }),
        json!({ "purpose": "Api" }),
        json!({ "purpose": "Credential", "cluster": "shop" }),
    ] {
        let created = rig
            .server
            .post(tokens, &rig.admin, body.clone())
            .await
            .expect(201);
        let token = created["token"].as_str().unwrap();
        tokio::time::sleep(Duration::from_secs(3)).await;
        assert_eq!(api.list(token).await, 401, "{body}");
    }

    let disable = Some(json!({ "enabled": false }));
    let disabled = rig
        .server
        .call(Method::PATCH, "/v1/users/ann", Some(&rig.admin), disable);
    disabled.await.expect(200);
    let id = deleted.split('_').nth(1).unwrap();
    let path = format!("{tokens}/{id}");
    rig.server.delete(&path, &rig.admin).await.expect(204);
    take(rig, &rig.admin, &member).await;
    for (what, token) in [
        ("the disabled user's token", &of_disabled),
        ("the deleted token", &deleted),
        ("the token of the user without a role", &without_role),
    ] {
        api.wait_for_code(what, token, REVOKED, 401).await;
    }
    assert_eq!(api.list(&valid).await, 200);

    // Without a tunnel, the cluster does not know new tokens.
    agent.terminate().await;
    let session = rig.server.login("dora", crate::server::PASSWORD).await;
    let new = direct.direct_token(&session).await;
    tokio::time::sleep(Duration::from_secs(3)).await;
    assert_eq!(api.list(&new).await, 401);
    assert_eq!(api.list(&valid).await, 200);
    let _agent = super::rig::start(&api.cluster, "pod-1").await;
    api.wait_for_code("the new token after the reconnection", &new, SOON, 200)
        .await;

    enable(rig, false).await;
    api.wait_for_code("the disabled endpoint", &valid, SOON, 401)
        .await;
    let secrets: kube::Api<Secret> =
        kube::Api::namespaced(api.cluster.client(), "drover-node-agent");
    let listed = secrets
        .list(&kube::api::ListParams::default())
        .await
        .unwrap();
    assert_eq!(listed.items, []);
}
