//! A stub of the server, with the REST types, TLS and its own certificate authority. The stub
//! records requests.

use std::collections::VecDeque;
use std::net::SocketAddr;
use std::sync::Arc;

use axum::Router;
use axum::extract::{Request, State};
use axum::response::{IntoResponse, Response};
use axum::serve::Listener;
use http::{Method, StatusCode, header};
use parking_lot::Mutex;
use serde_json::{Value, json};
use tokio::net::{TcpListener, TcpStream};
use tokio_rustls::TlsAcceptor;
use tokio_rustls::server::TlsStream;

pub(crate) const PASSWORD: &str = "correct horse battery";
pub(crate) const SESSION: &str = "drover_sess1_sessionsecret";
pub(crate) const MANIFEST: &str =
    "apiVersion: v1\nkind: Namespace\nmetadata:\n  name: drover-agent\n";

/// A recorded request.
#[derive(Clone, Debug)]
pub(crate) struct Seen {
    pub(crate) method: Method,
    pub(crate) target: String,
    pub(crate) bearer: Option<String>,
    pub(crate) body: Value,
}

/// The state of the stub. A test changes the state between requests.
#[expect(
    clippy::struct_excessive_bools,
    reason = "independent facts that tests set one by one"
)]
#[derive(Debug)]
pub(crate) struct World {
    pub(crate) seen: Vec<Seen>,
    pub(crate) password: String,
    pub(crate) must_change: bool,
    /// Number of polls for the device login. The second poll returns a token.
    polls: u32,
    pub(crate) sessions_end: bool,
    pub(crate) clusters: usize,
    pub(crate) cluster_exists: bool,
    pub(crate) cluster_ready: bool,
    pub(crate) deleted: bool,
    pub(crate) kubeconfig: String,
    /// The messages of a cluster during its deletion, one message per response. After the last
    /// message, the cluster does not exist.
    pub(crate) leaving: Vec<&'static str>,
    /// The responses of a cluster to requests for its ConfigMaps, in order.
    pub(crate) config_maps: VecDeque<(StatusCode, String)>,
    /// The response to all requests; `None` for the usual responses.
    pub(crate) instead: Option<(StatusCode, &'static str, &'static str)>,
}

/// A running stub of the server.
pub(crate) struct Stub {
    pub(crate) url: String,
    pub(crate) authority_pem: String,
    pub(crate) fingerprint: String,
    pub(crate) world: Arc<Mutex<World>>,
    task: tokio::task::JoinHandle<()>,
}

impl Drop for Stub {
    fn drop(&mut self) {
        self.task.abort();
    }
}

struct TlsListener {
    tcp: TcpListener,
    acceptor: TlsAcceptor,
}

impl Listener for TlsListener {
    type Io = TlsStream<TcpStream>;
    type Addr = SocketAddr;

    async fn accept(&mut self) -> (Self::Io, Self::Addr) {
        loop {
            let Ok((tcp, address)) = self.tcp.accept().await else {
                continue;
            };
            // Clients that only read the certificate disconnect during the handshake.
            if let Ok(tls) = self.acceptor.accept(tcp).await {
                return (tls, address);
            }
        }
    }

    fn local_addr(&self) -> std::io::Result<Self::Addr> {
        self.tcp.local_addr()
    }
}

/// Creates a certificate authority, and a TLS acceptor with a certificate for 127.0.0.1.
fn tls() -> (rcgen::Certificate, TlsAcceptor) {
    let authority_key = rcgen::KeyPair::generate().unwrap();
    let mut params = rcgen::CertificateParams::new(Vec::new()).unwrap();
    params.is_ca = rcgen::IsCa::Ca(rcgen::BasicConstraints::Unconstrained);
    params
        .distinguished_name
        .push(rcgen::DnType::CommonName, "stub authority");
    let authority = params.self_signed(&authority_key).unwrap();
    let issuer = rcgen::Issuer::new(params, authority_key);
    let key = rcgen::KeyPair::generate().unwrap();
    let leaf = rcgen::CertificateParams::new(vec!["127.0.0.1".to_owned()])
        .unwrap()
        .signed_by(&key, &issuer)
        .unwrap();
    let provider = Arc::new(rustls::crypto::aws_lc_rs::default_provider());
    let config = rustls::ServerConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_no_client_auth()
        .with_single_cert(
            vec![leaf.der().clone(), authority.der().clone()],
            rustls_pki_types::PrivateKeyDer::try_from(key.serialize_der()).unwrap(),
        )
        .unwrap();
    (authority, TlsAcceptor::from(Arc::new(config)))
}

impl Stub {
    pub(crate) async fn start() -> Self {
        Self::start_at("127.0.0.1:0".parse().unwrap()).await
    }

    pub(crate) async fn start_at(address: SocketAddr) -> Self {
        let (authority, acceptor) = tls();
        let tcp = TcpListener::bind(address).await.unwrap();
        let url = format!("https://{}", tcp.local_addr().unwrap());
        let world = Arc::new(Mutex::new(World {
            seen: Vec::new(),
            password: PASSWORD.to_owned(),
            must_change: false,
            polls: 0,
            sessions_end: false,
            clusters: 2,
            cluster_exists: false,
            cluster_ready: false,
            deleted: false,
            kubeconfig: String::new(),
            leaving: Vec::new(),
            config_maps: VecDeque::new(),
            instead: None,
        }));
        let router = Router::new()
            .fallback(answer)
            .with_state(Arc::clone(&world));
        let task = tokio::spawn(async move {
            let _ended = axum::serve(TlsListener { tcp, acceptor }, router).await;
        });
        let digest = aws_lc_rs::digest::digest(&aws_lc_rs::digest::SHA256, authority.der());
        let hex: Vec<_> = digest.as_ref().iter().map(|b| format!("{b:02X}")).collect();
        Self {
            url,
            authority_pem: authority.pem(),
            fingerprint: format!("SHA256:{}", hex.join(":")),
            world,
            task,
        }
    }

    pub(crate) fn authority(&self) -> &str {
        self.url.trim_start_matches("https://")
    }

    /// Returns the recorded requests except version requests.
    pub(crate) fn seen(&self) -> Vec<Seen> {
        let world = self.world.lock();
        let all = world.seen.iter();
        all.filter(|seen| seen.target != "/v1/version")
            .cloned()
            .collect()
    }
}

async fn answer(State(world): State<Arc<Mutex<World>>>, request: Request) -> Response {
    let (head, body) = request.into_parts();
    let bytes = axum::body::to_bytes(body, 1 << 20).await.unwrap();
    let seen = Seen {
        method: head.method,
        target: head.uri.path_and_query().unwrap().to_string(),
        bearer: head
            .headers
            .get(header::AUTHORIZATION)
            .map(|v| v.to_str().unwrap().trim_start_matches("Bearer ").to_owned()),
        body: serde_json::from_slice(&bytes).unwrap_or(Value::Null),
    };
    let mut world = world.lock();
    world.seen.push(seen.clone());
    if let Some((code, header, body)) = world.instead {
        return (code, [(header::LOCATION, header)], body).into_response();
    }
    world.answer(&seen)
}

fn status(code: u16, reason: &str, message: &str) -> Response {
    let body = json!({"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Failure",
        "code": code, "reason": reason, "message": message});
    (StatusCode::from_u16(code).unwrap(), axum::Json(body)).into_response()
}

/// Returns the aggregated discovery of a cluster with ConfigMaps only.
fn discovery() -> Value {
    let verbs = ["get", "list", "watch", "patch"];
    json!({"kind": "APIGroupDiscoveryList", "items": [{"versions": [{"version": "v1", "resources": [
        {"resource": "configmaps", "responseKind": {"kind": "ConfigMap"}, "scope": "Namespaced",
            "singularResource": "configmap", "shortNames": ["cm"], "verbs": verbs}]}]}]})
}

fn token(id: &str, purpose: &str, cluster: &Value) -> Value {
    let scope = match cluster {
        Value::String(name) => json!({"name": name, "uid": "uid-1"}),
        _ => Value::Null,
    };
    json!({"id": id, "username": "alice", "purpose": purpose, "cluster": scope,
        "createdAt": "2026-11-20T12:00:00Z", "expiresAt": "2099-01-01T00:00:00Z"})
}

fn issued(secret: &str, purpose: &str, cluster: &Value) -> Response {
    axum::Json(issued_body(secret, purpose, cluster)).into_response()
}

fn issued_body(secret: &str, purpose: &str, cluster: &Value) -> Value {
    let id = secret.split('_').nth(1).unwrap();
    json!({"token": secret, "metadata": token(id, purpose, cluster)})
}

impl World {
    fn answer(&mut self, seen: &Seen) -> Response {
        let path = seen.target.split('?').next().unwrap();
        match (seen.method.as_str(), path) {
            ("GET", "/v1/version") => {
                axum::Json(json!({"version": "9.9.9", "commit": "unknown", "protocols": [1]}))
                    .into_response()
            }
            ("POST", "/v1/login") => self.login(&seen.body),
            ("GET", "/v1/providers") => axum::Json(json!({ "items": [
                { "name": "corp", "displayName": "The corp", "way": "Redirect" },
                { "name": "ldap", "displayName": "The directory", "way": "Password" },
            ] }))
            .into_response(),
            ("POST", "/v1/providers/ldap/sign-in") => {
                let typed =
                    json!({ "username": seen.body["login"], "password": seen.body["password"] });
                self.login(&typed)
            }
            ("POST", "/v1/device") => axum::Json(json!({
                "deviceCode": "BCDF-GHJK.devicesecret", "userCode": "BCDF-GHJK",
                "verificationUrl": "https://drover.example/device",
                "expiresInSeconds": 60, "intervalSeconds": 1,
            }))
            .into_response(),
            ("POST", "/v1/device/token") => self.device(&seen.body),
            ("POST", "/v1/me/password") if seen.bearer.as_deref() == Some("drover_chg_once") => {
                self.must_change = false;
                self.password = seen.body["new"].as_str().unwrap().to_owned();
                StatusCode::NO_CONTENT.into_response()
            }
            _ if self.sessions_end || seen.bearer.as_deref() != Some(SESSION) => {
                status(401, "Unauthorized", "the token is not valid")
            }
            (method, path) => self.as_alice(method, path, seen),
        }
    }

    /// Returns a response without a token at the first poll, and a token at later polls.
    fn device(&mut self, body: &Value) -> Response {
        if body["deviceCode"] != "BCDF-GHJK.devicesecret" {
            return status(404, "NotFound", "no log-in with this code waits");
        }
        self.polls += 1;
        match self.polls {
            1 => axum::Json(json!({})).into_response(),
            _ => axum::Json(json!({ "issued": issued_body(SESSION, "Session", &Value::Null) }))
                .into_response(),
        }
    }

    fn login(&self, body: &Value) -> Response {
        if body["username"] != "alice" || body["password"] != self.password.as_str() {
            return status(
                401,
                "Unauthorized",
                "the user name or the password is wrong",
            );
        }
        if self.must_change {
            issued("drover_chg_once", "PasswordChange", &Value::Null)
        } else {
            issued(SESSION, "Session", &Value::Null)
        }
    }

    fn as_alice(&mut self, method: &str, path: &str, seen: &Seen) -> Response {
        match (method, path) {
            ("GET", "/v1/clusters/berlin") if self.deleted => match self.leaving.pop() {
                Some(message) => axum::Json(self.left(message)).into_response(),
                None => status(404, "NotFound", "there is nothing of that name"),
            },
            ("DELETE", "/v1/clusters/berlin") => {
                self.deleted = true;
                StatusCode::NO_CONTENT.into_response()
            }
            ("POST", "/v1/logout") | ("DELETE", "/v1/sessions") => StatusCode::NO_CONTENT.into_response(),
            ("GET", "/v1/me") => axum::Json(json!({"username": "alice",
                "kubernetesUser": "drover:user:u1", "administrator": true,
                "mustChangePassword": false, "token": token("sess1", "Session", &Value::Null)}))
            .into_response(),
            ("POST", "/v1/tokens") => issued(
                "drover_new1_newsecret",
                seen.body["purpose"].as_str().unwrap(),
                &seen.body["cluster"],
            ),
            ("GET", "/v1/clusters") => self.page(&seen.target),
            ("POST", "/v1/clusters") if self.cluster_exists => {
                status(409, "AlreadyExists", "the cluster is there already")
            }
            ("POST", "/v1/clusters") => {
                self.cluster_exists = true;
                (StatusCode::CREATED, axum::Json(self.cluster("berlin"))).into_response()
            }
            ("POST", "/v1/clusters/berlin/import") => axum::Json(json!({
                "registrationToken": "droverimport_r1_once", "expiresAt": "2099-01-01T00:00:00Z",
                "manifest": MANIFEST,
                "curl": "curl -H \"Authorization: Bearer $DROVER_IMPORT_TOKEN\" https://x | kubectl apply -f -"}))
            .into_response(),
            ("GET", "/v1/clusters/berlin") => axum::Json(self.cluster("berlin")).into_response(),
            ("POST", "/v1/kubeconfig") => {
                axum::Json(json!({"kubeconfig": self.kubeconfig})).into_response()
            }
            ("GET", "/k8s/clusters/berlin/api") => axum::Json(discovery()).into_response(),
            ("GET", "/k8s/clusters/berlin/apis") => axum::Json(json!({ "items": [] })).into_response(),
            ("GET", "/k8s/clusters/berlin/api/v1/namespaces/default/configmaps") => {
                match self.config_maps.pop_front() {
                    Some((code, body)) => (code, body).into_response(),
                    None => status(403, "Forbidden", "no more responses"),
                }
            }
            ("POST", "/v1/users") => status(403, "Forbidden", "only administrators make users"),
            _ => status(404, "NotFound", "there is nothing of that name"),
        }
    }

    fn cluster(&self, name: &str) -> Value {
        let condition = |kind: &str, so: bool| {
            json!({"type": kind, "status": if so { "True" } else { "False" },
                "reason": if so { "Ready" } else { "AgentNotConnected" }, "message": "",
                "lastTransitionTime": "2026-11-20T12:00:00Z"})
        };
        json!({"name": name, "uid": "uid-1", "createdAt": "2026-11-20T12:00:00Z",
            "conditions": [condition("Registered", true), condition("Ready", self.cluster_ready)]})
    }

    fn left(&self, message: &str) -> Value {
        let mut cluster = self.cluster("berlin");
        cluster["deleting"] = true.into();
        cluster["conditions"][0] = json!({"type": "CleanedUp", "status": "False",
            "reason": "AgentGone", "message": message,
            "lastTransitionTime": "2026-11-20T12:00:00Z"});
        cluster
    }

    fn page(&self, target: &str) -> Response {
        let value = |key: &str| {
            target
                .split(['?', '&'])
                .find_map(|pair| pair.strip_prefix(key)?.strip_prefix('='))
                .map(|value| value.parse::<usize>().unwrap())
        };
        let (limit, start) = (value("limit").unwrap(), value("continue").unwrap_or(0));
        let end = self.clusters.min(start + limit);
        let items: Vec<_> = (start..end)
            .map(|i| self.cluster(&format!("c{i:05}")))
            .collect();
        let mut page = json!({ "items": items });
        if end < self.clusters {
            page["continue"] = end.to_string().into();
        }
        axum::Json(page).into_response()
    }
}
