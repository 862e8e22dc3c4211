//! A fake server with a hub, and an enrollment in memory.

use std::collections::BTreeMap;
use std::convert::Infallible;
use std::sync::Arc;

use bytes::Bytes;
use drover_access::proof::{PublicKey, hub_token_message};
use drover_api::gitops::{HubToken, HubTokenRequest};
use drover_api::ids::ClusterUid;
use drover_api::rest::Secret;
use drover_testkit::authority::Authority;
use futures::StreamExt as _;
use http::header::AUTHORIZATION;
use http::{Request, Response, StatusCode};
use http_body::Frame;
use http_body_util::combinators::BoxBody;
use http_body_util::{BodyExt as _, Full, StreamBody};
use hyper::body::Incoming;
use hyper::service::service_fn;
use hyper_util::rt::{TokioExecutor, TokioIo};
use hyper_util::server::conn::auto;
use jiff::{SignedDuration, Timestamp};
use parking_lot::Mutex;
use rustls::ServerConfig;
use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use serde_json::json;
use tokio::net::TcpListener;
use tokio::sync::Notify;
use tokio_rustls::TlsAcceptor;
use tokio_util::sync::CancellationToken;

use crate::binding::{ServerBinding, data};
use crate::enrollment::Enrollment;
use crate::hub::HubAccess;
use crate::key::AgentKey;
use crate::program::install_crypto;
use crate::registration::{Membership, ReadBindingError, RegistrationError, StoreError};
use crate::server::Server;

#[derive(Default)]
struct Observed {
    bound: Option<PublicKey>,
    refusal: Option<StatusCode>,
    rejects_all: bool,
    connections: usize,
    attempts: usize,
    issued: usize,
    /// Number of the oldest token that is valid.
    valid_from: usize,
    rejected: usize,
    last_used: Option<usize>,
}

/// A server that issues tokens to the bound key, and whose hub accepts these tokens.
pub(super) struct FakeServer {
    binding: ServerBinding,
    observed: Arc<Mutex<Observed>>,
    event: Arc<Notify>,
    stop: CancellationToken,
    listening: tokio::task::JoinHandle<()>,
}

impl Drop for FakeServer {
    fn drop(&mut self) {
        self.stop.cancel();
    }
}

type Body = BoxBody<Bytes, Infallible>;

impl FakeServer {
    pub(super) async fn start(http2: bool) -> Self {
        install_crypto();
        let authority = Authority::new();
        let certified = authority.certify("127.0.0.1");
        let chain = vec![CertificateDer::from_pem_slice(certified.certificate.as_bytes()).unwrap()];
        let key = PrivateKeyDer::from_pem_slice(certified.key.as_bytes()).unwrap();
        let mut tls = ServerConfig::builder()
            .with_no_client_auth()
            .with_single_cert(chain, key)
            .unwrap();
        tls.alpn_protocols = vec![b"http/1.1".to_vec()];
        if http2 {
            tls.alpn_protocols.insert(0, b"h2".to_vec());
        }
        let listener = TcpListener::bind(("127.0.0.1", 0)).await.unwrap();
        let port = listener.local_addr().unwrap().port();
        let binding = ServerBinding::read(&BTreeMap::from([
            (
                data::SERVER_URL.to_owned(),
                format!("https://127.0.0.1:{port}"),
            ),
            (data::SERVER_CA.to_owned(), authority.pem()),
            (data::CLUSTER_UID.to_owned(), "uid".to_owned()),
        ]));
        let (observed, event) = (Arc::<Mutex<Observed>>::default(), Arc::new(Notify::new()));
        let stop = CancellationToken::new();
        let hub = Hub {
            port,
            observed: Arc::clone(&observed),
            event: Arc::clone(&event),
        };
        let listening = listen(listener, Arc::new(tls).into(), hub, stop.clone());
        Self {
            binding: binding.unwrap(),
            observed,
            event,
            stop: stop.clone(),
            listening: tokio::spawn(listening),
        }
    }

    /// Closes the listener and all connections.
    pub(super) async fn stop(mut self) {
        self.stop.cancel();
        (&mut self.listening).await.unwrap();
    }

    pub(super) fn bind(&self, key: &AgentKey) {
        self.observed.lock().bound = Some(key.public().clone());
    }

    pub(super) fn refuse_tokens(&self, code: Option<StatusCode>) {
        self.observed.lock().refusal = code;
    }

    pub(super) fn revoke_tokens(&self) {
        let mut observed = self.observed.lock();
        observed.valid_from = observed.issued + 1;
    }

    pub(super) fn reject_all(&self, rejects: bool) {
        self.observed.lock().rejects_all = rejects;
    }

    pub(super) fn send_event(&self) {
        self.event.notify_one();
    }

    pub(super) fn connections(&self) -> usize {
        self.observed.lock().connections
    }

    pub(super) fn attempts(&self) -> usize {
        self.observed.lock().attempts
    }

    pub(super) fn issued(&self) -> usize {
        self.observed.lock().issued
    }

    /// Returns the number of requests with a token that the hub rejected.
    pub(super) fn rejected(&self) -> usize {
        self.observed.lock().rejected
    }

    /// Returns the number of the last valid token that a request contained.
    pub(super) fn last_used(&self) -> Option<usize> {
        self.observed.lock().last_used
    }
}

#[derive(Clone)]
struct Hub {
    /// Part of the tokens, so that tokens of two servers differ.
    port: u16,
    observed: Arc<Mutex<Observed>>,
    event: Arc<Notify>,
}

async fn listen(listener: TcpListener, tls: TlsAcceptor, hub: Hub, stop: CancellationToken) {
    loop {
        let accepted = tokio::select! {
            accepted = listener.accept() => accepted,
            () = stop.cancelled() => return,
        };
        let (tls, hub, stop) = (tls.clone(), hub.clone(), stop.clone());
        hub.observed.lock().connections += 1;
        tokio::spawn(async move {
            let stream = tls.accept(accepted.unwrap().0).await.unwrap();
            let service = service_fn(|request| {
                let hub = hub.clone();
                async move { Ok::<_, Infallible>(hub.answer(request).await) }
            });
            let builder = auto::Builder::new(TokioExecutor::new());
            tokio::select! {
                _ = builder.serve_connection(TokioIo::new(stream), service) => {}
                () = stop.cancelled() => {}
            }
        });
    }
}

impl Hub {
    async fn answer(&self, request: Request<Incoming>) -> Response<Body> {
        match request.uri().path().to_owned().as_str() {
            "/v1/agent/challenge" => json(StatusCode::OK, &json!({ "nonce": "nonce" })),
            "/v1/agent/hub-token" => {
                let body = request.into_body().collect().await.unwrap().to_bytes();
                self.token(&serde_json::from_slice(&body).unwrap())
            }
            path => match path.strip_prefix("/k8s/clusters/local") {
                Some(path) if self.accepts(&request) => self.object(path),
                Some(_) => status(StatusCode::UNAUTHORIZED, "Unauthorized"),
                None => status(StatusCode::NOT_FOUND, "NotFound"),
            },
        }
    }

    fn token(&self, request: &HubTokenRequest) -> Response<Body> {
        let mut observed = self.observed.lock();
        observed.attempts += 1;
        if let Some(code) = observed.refusal {
            return status(code, "ServiceUnavailable");
        }
        let message = hub_token_message(&request.cluster_uid, &request.nonce);
        let bound = observed.bound.as_ref().unwrap();
        if bound.verify(&message, &request.signature).is_err() {
            return status(StatusCode::UNAUTHORIZED, "KeyReplaced");
        }
        observed.issued += 1;
        let token = HubToken {
            token: Secret::new(format!("hub-token-{}-{}", self.port, observed.issued)),
            expires_at: Timestamp::now() + SignedDuration::from_hours(1),
            cluster_namespace: "fleet-default".to_owned(),
            cluster_name: "shop".to_owned(),
            namespace: "cluster-fleet-default-shop".to_owned(),
            check_in: None,
        };
        json(StatusCode::OK, &json!(token))
    }

    fn accepts(&self, request: &Request<Incoming>) -> bool {
        let prefix = format!("Bearer hub-token-{}-", self.port);
        let authorization = request.headers()[AUTHORIZATION].to_str().unwrap();
        let number = authorization.strip_prefix(&prefix);
        let number = number.and_then(|number| number.parse::<usize>().ok());
        let mut observed = self.observed.lock();
        let valid = number.is_some_and(|number| number >= observed.valid_from);
        if valid && !observed.rejects_all {
            observed.last_used = number;
            true
        } else {
            observed.rejected += 1;
            false
        }
    }

    fn object(&self, path: &str) -> Response<Body> {
        if path != "/watch" {
            assert_eq!(
                path,
                "/api/v1/namespaces/cluster-fleet-default-shop/configmaps/settings"
            );
            let metadata = json!({ "name": "settings" });
            return json(StatusCode::OK, &json!({ "metadata": metadata }));
        }
        let event = Arc::clone(&self.event);
        let first = futures::stream::iter([Bytes::from_static(b"first\n")]);
        let next = futures::stream::once(async move {
            event.notified().await;
            Bytes::from_static(b"next\n")
        });
        let events = first.chain(next).chain(futures::stream::pending());
        let frames = events.map(|chunk| Ok(Frame::data(chunk)));
        Response::new(BoxBody::new(StreamBody::new(frames)))
    }
}

fn json(code: StatusCode, value: &serde_json::Value) -> Response<Body> {
    let mut response = Response::new(Full::from(value.to_string()).boxed());
    *response.status_mut() = code;
    response
}

fn status(code: StatusCode, reason: &str) -> Response<Body> {
    let body = json!({
        "kind": "Status", "apiVersion": "v1", "status": "Failure",
        "reason": reason, "message": "refused", "code": code.as_u16(),
    });
    json(code, &body)
}

struct Enrolled {
    binding: ServerBinding,
    current: Arc<AgentKey>,
    others: Vec<Arc<AgentKey>>,
}

/// The keys and the binding of an agent. Clones share the keys.
#[derive(Clone)]
pub(super) struct Keys(Arc<Mutex<Enrolled>>);

impl std::fmt::Debug for Keys {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Keys")
    }
}

fn key() -> Arc<AgentKey> {
    Arc::new(AgentKey::from_pkcs8(&AgentKey::generate().unwrap()).unwrap())
}

impl Keys {
    /// Creates a key that is bound on the server.
    pub(super) fn bound_to(server: &FakeServer) -> Self {
        let current = key();
        server.bind(&current);
        Self(Arc::new(Mutex::new(Enrolled {
            binding: server.binding.clone(),
            current,
            others: Vec::new(),
        })))
    }

    pub(super) fn current(&self) -> Arc<AgentKey> {
        Arc::clone(&self.0.lock().current)
    }

    /// Stores the key that replaces the current key.
    pub(super) fn add_next(&self) -> Arc<AgentKey> {
        let next = key();
        self.0.lock().others.push(Arc::clone(&next));
        next
    }

    pub(super) fn set_binding(&self, server: &FakeServer) {
        self.0.lock().binding = server.binding.clone();
    }
}

impl Enrollment for Keys {
    async fn binding(&self) -> Result<ServerBinding, ReadBindingError> {
        Ok(self.0.lock().binding.clone())
    }

    async fn enroll(
        &self,
        binding: &ServerBinding,
        _: &Server,
        _: bool,
    ) -> Result<Membership, RegistrationError> {
        let enrolled = self.0.lock();
        Ok(Membership {
            cluster_name: "shop".to_owned(),
            cluster_uid: ClusterUid::new(binding.cluster_uid.as_str()),
            node: None,
            key: Arc::clone(&enrolled.current),
            other_keys: enrolled.others.clone(),
        })
    }

    async fn next_key(&self) -> Result<AgentKey, RegistrationError> {
        unimplemented!("the access to the hub does not replace keys")
    }

    async fn use_key(&self, public: &PublicKey) -> Result<(), RegistrationError> {
        let mut enrolled = self.0.lock();
        let found = enrolled
            .others
            .iter()
            .position(|key| key.public() == public);
        let next = enrolled.others.remove(found.unwrap());
        let previous = std::mem::replace(&mut enrolled.current, next);
        enrolled.others.push(previous);
        Ok(())
    }

    async fn clean_up(&self) -> Result<(), StoreError> {
        Ok(())
    }
}

pub(super) fn access(server: &FakeServer, keys: &Keys) -> HubAccess<Keys> {
    assert_eq!(keys.0.lock().binding, server.binding);
    HubAccess::new(keys.clone(), None, None)
}
