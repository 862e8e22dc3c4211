//! A test issuer over TLS with configurable responses.

use std::collections::HashMap;
use std::convert::Infallible;
use std::io;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use axum::Router;
use axum::body::{Body, Bytes};
use axum::extract::{Request, State};
use axum::http::StatusCode;
use axum::response::Response;
use rcgen::{BasicConstraints, CertificateParams, IsCa, KeyPair};
use rustls::ServerConfig;
use rustls::pki_types::{PrivateKeyDer, PrivatePkcs8KeyDer};
use serde_json::{Value, json};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::Notify;
use tokio_rustls::TlsAcceptor;
use tokio_rustls::server::TlsStream;

/// A certificate authority, and a server certificate with its key.
pub(super) struct Certified {
    pub(super) authority: String,
    pub(super) certificate: rcgen::Certificate,
    pub(super) key: KeyPair,
}

/// Creates an authority and a certificate for 127.0.0.1.
pub(super) fn certified() -> Certified {
    let authority_key = KeyPair::generate().unwrap();
    let mut authority = CertificateParams::new(Vec::new()).unwrap();
    authority.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    let own = authority.self_signed(&authority_key).unwrap();
    let signer = rcgen::Issuer::new(authority, authority_key);
    let key = KeyPair::generate().unwrap();
    let server = CertificateParams::new(["127.0.0.1".to_owned()]).unwrap();
    Certified {
        authority: own.pem(),
        certificate: server.signed_by(&key, &signer).unwrap(),
        key,
    }
}

/// Response that the test issuer returns for one path.
#[derive(Clone)]
pub(super) enum ScriptedResponse {
    Json(u16, Value),
    /// Response with a status, a media type and a body.
    Raw(u16, &'static str, Vec<u8>),
    /// Redirect to a different path of the issuer.
    Redirect(&'static str),
    /// Response that stalls after the headers: the body never arrives.
    Stalled,
    /// Response whose body never ends.
    Endless,
}

/// A received request.
#[derive(Clone, Debug)]
pub(super) struct ReceivedRequest {
    pub(super) path: String,
    pub(super) authorization: Option<String>,
    pub(super) body: String,
}

#[derive(Default)]
struct Script {
    stalled: Arc<Notify>,
    answers: HashMap<String, ScriptedResponse>,
    asked: Vec<ReceivedRequest>,
}

/// A running test issuer, which stops when it is dropped.
pub(super) struct Issuer {
    pub(super) url: String,
    pub(super) authority: String,
    script: Arc<Mutex<Script>>,
    serving: tokio::task::JoinHandle<()>,
}

impl Drop for Issuer {
    fn drop(&mut self) {
        self.serving.abort();
    }
}

impl Issuer {
    /// Starts an issuer with only a discovery document.
    pub(super) async fn start() -> Self {
        let certified = certified();
        let _ = rustls::crypto::aws_lc_rs::default_provider().install_default();
        let key = PrivatePkcs8KeyDer::from(certified.key.serialize_der());
        let config = ServerConfig::builder()
            .with_no_client_auth()
            .with_single_cert(
                vec![certified.certificate.der().clone()],
                PrivateKeyDer::Pkcs8(key),
            );
        let tcp = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("https://{}", tcp.local_addr().unwrap());
        let listener = Listener {
            tcp,
            tls: Arc::new(config.unwrap()).into(),
        };
        let script = Arc::<Mutex<Script>>::default();
        let router = Router::new().fallback(answer).with_state(script.clone());
        let serving = tokio::spawn(async { axum::serve(listener, router).await.unwrap() });
        let issuer = Self {
            url,
            authority: certified.authority,
            script,
            serving,
        };
        issuer.says(DISCOVERY, ScriptedResponse::Json(200, issuer.document()));
        issuer
    }

    /// Returns a valid discovery document.
    pub(super) fn document(&self) -> Value {
        let at = |path: &str| format!("{}{path}", self.url);
        json!({
            "issuer": self.url,
            "authorization_endpoint": at("/authorize"),
            "token_endpoint": at("/token"),
            "jwks_uri": at("/keys"),
            "userinfo_endpoint": at("/me"),
            "end_session_endpoint": at("/bye"),
            "response_types_supported": ["code", "id_token"],
            "id_token_signing_alg_values_supported": ["RS256", "ES256", "HS256", "none"],
            "code_challenge_methods_supported": ["plain", "S256"],
        })
    }

    /// Sets the response to requests for a path.
    pub(super) fn says(&self, path: &str, answer: ScriptedResponse) {
        let mut script = self.script.lock().unwrap();
        script.answers.insert(path.to_owned(), answer);
    }

    /// Changes members of the discovery document.
    pub(super) fn changes_document(&self, change: &Value) {
        let mut document = self.document();
        for (name, value) in change.as_object().unwrap() {
            document[name] = value.clone();
        }
        self.says(DISCOVERY, ScriptedResponse::Json(200, document));
    }

    /// Waits until the issuer has sent the headers of a stalled response.
    pub(super) async fn stalls(&self) {
        let stalled = self.script.lock().unwrap().stalled.clone();
        stalled.notified().await;
    }

    /// Returns the requests that the issuer has received for a path.
    pub(super) fn asked(&self, path: &str) -> Vec<ReceivedRequest> {
        let script = self.script.lock().unwrap();
        let requested = script
            .asked
            .iter()
            .filter(|requested| requested.path == path);
        requested.cloned().collect()
    }
}

pub(super) const DISCOVERY: &str = "/.well-known/openid-configuration";

async fn answer(State(script): State<Arc<Mutex<Script>>>, request: Request) -> Response {
    let path = request.uri().path().to_owned();
    let authorization = request.headers().get("authorization");
    let authorization = authorization.map(|value| value.to_str().unwrap().to_owned());
    let body = axum::body::to_bytes(request.into_body(), 1 << 20).await;
    let body = String::from_utf8(body.unwrap().to_vec()).unwrap();
    let answer = {
        let mut script = script.lock().unwrap();
        script.asked.push(ReceivedRequest {
            path: path.clone(),
            authorization,
            body,
        });
        script.answers.get(&path).cloned()
    };
    let response = |status: u16, media: &str, body: Body| {
        Response::builder()
            .status(status)
            .header("content-type", media)
            .body(body)
            .unwrap()
    };
    match answer {
        None => response(404, "text/plain", "not found".into()),
        Some(ScriptedResponse::Json(status, body)) => response(
            status,
            "application/json; charset=utf-8",
            body.to_string().into(),
        ),
        Some(ScriptedResponse::Raw(status, media, body)) => response(status, media, body.into()),
        Some(ScriptedResponse::Redirect(to)) => Response::builder()
            .status(StatusCode::TEMPORARY_REDIRECT)
            .header("location", to)
            .body(Body::empty())
            .unwrap(),
        Some(ScriptedResponse::Stalled) => {
            script.lock().unwrap().stalled.notify_one();
            let nothing = futures::stream::pending::<Result<Bytes, Infallible>>();
            response(200, "application/json", Body::from_stream(nothing))
        }
        Some(ScriptedResponse::Endless) => {
            let spaces = || Ok::<_, Infallible>(Bytes::from_static(&[b' '; 16 * 1024]));
            let endless = futures::stream::iter(std::iter::repeat_with(spaces));
            response(200, "application/json", Body::from_stream(endless))
        }
    }
}

struct Listener {
    tcp: TcpListener,
    tls: TlsAcceptor,
}

impl axum::serve::Listener for Listener {
    type Io = TlsStream<TcpStream>;
    type Addr = SocketAddr;

    async fn accept(&mut self) -> (Self::Io, Self::Addr) {
        loop {
            let (stream, address) = self.tcp.accept().await.unwrap();
            let handshake = self.tls.accept(stream);
            // Clients that do not trust the certificate disconnect.
            let handshake = tokio::time::timeout(Duration::from_secs(10), handshake).await;
            if let Ok(Ok(stream)) = handshake {
                return (stream, address);
            }
        }
    }

    fn local_addr(&self) -> io::Result<Self::Addr> {
        self.tcp.local_addr()
    }
}
