//! A fake GitHub Enterprise Server for logins: OAuth pages and REST API over TLS, fault injection,
//! and a list of received requests.

pub mod world;

use std::convert::Infallible;
use std::pin::Pin;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard};
use std::task::{Context, Poll};

use http_body_util::BodyExt as _;
use hyper::body::{Body, Bytes, Frame, Incoming};
use hyper::header::{AUTHORIZATION, HeaderName, HeaderValue};
use hyper::service::service_fn;
use hyper::{Request, Response};
use hyper_util::rt::TokioIo;
use rcgen::{CertifiedKey, KeyPair};
use tokio::net::TcpListener;
use tokio_rustls::TlsAcceptor;
use tokio_rustls::rustls::ServerConfig;
use tokio_rustls::rustls::crypto::aws_lc_rs::default_provider;
use tokio_rustls::rustls::pki_types::PrivateKeyDer;

use self::world::{Answer, World};
use url::Url;

/// A fault of the fake server's responses for a path.
#[derive(Clone)]
pub enum Fault {
    /// A replacement response: status, headers, body.
    Response(u16, Vec<(&'static str, String)>, String),
    /// The correct response with an additional or changed header.
    Header(&'static str, String),
    /// The server accepts the request but never responds.
    Silence,
    /// The server sends the correct body but never ends the response.
    Stalls,
    /// A response whose body never ends.
    Endless,
}

/// A received request.
#[derive(Clone, Debug)]
pub struct ReceivedRequest {
    pub method: String,
    pub path: String,
    /// The `Authorization` header, if present.
    pub authorization: Option<String>,
}

/// A server certificate with its key. Several servers can share the certificate.
pub struct Identity(CertifiedKey<KeyPair>);

pub struct Fake {
    inner: Arc<Inner>,
    web: Url,
    api: Url,
    certificate: String,
    serving: tokio::task::JoinHandle<()>,
}

struct Inner {
    world: Mutex<World>,
    faults: Mutex<Vec<(String, Fault)>>,
    asked: Mutex<Vec<ReceivedRequest>>,
    /// Number of body bytes that the server has passed to the connection.
    sent_bytes: AtomicUsize,
}

impl Default for Identity {
    fn default() -> Self {
        Self::new()
    }
}

impl Identity {
    pub fn new() -> Self {
        Self(rcgen::generate_simple_self_signed(vec!["127.0.0.1".to_owned()]).unwrap())
    }

    fn acceptor(&self) -> TlsAcceptor {
        let key = PrivateKeyDer::try_from(self.0.signing_key.serialize_der()).unwrap();
        let config = ServerConfig::builder_with_provider(Arc::new(default_provider()))
            .with_safe_default_protocol_versions()
            .unwrap()
            .with_no_client_auth()
            .with_single_cert(vec![self.0.cert.der().clone()], key)
            .unwrap();
        TlsAcceptor::from(Arc::new(config))
    }
}

impl Fake {
    pub async fn start() -> Self {
        Self::start_as(&Identity::new()).await
    }

    pub async fn start_as(identity: &Identity) -> Self {
        let listener = TcpListener::bind(("127.0.0.1", 0)).await.unwrap();
        let web = format!("https://{}/", listener.local_addr().unwrap());
        let api: Url = format!("{web}api/v3/").parse().unwrap();
        let inner = Arc::new(Inner {
            world: Mutex::new(World::new(api.clone())),
            faults: Mutex::default(),
            asked: Mutex::default(),
            sent_bytes: AtomicUsize::new(0),
        });
        let serving = tokio::spawn(serve(listener, identity.acceptor(), inner.clone()));
        Self {
            inner,
            web: web.parse().unwrap(),
            api,
            certificate: identity.0.cert.pem(),
            serving,
        }
    }

    /// Returns the URL of the GitHub web pages.
    pub fn web(&self) -> Url {
        self.web.clone()
    }

    /// Returns the URL of the REST API.
    pub fn api(&self) -> Url {
        self.api.clone()
    }

    /// Returns the certificate authority as PEM.
    pub fn certificate(&self) -> String {
        self.certificate.clone()
    }

    pub fn world(&self) -> MutexGuard<'_, World> {
        self.inner.world.lock().unwrap()
    }

    /// Injects a fault into all responses below a path.
    pub fn inject_fault(&self, path: &str, fault: Fault) {
        let path = path.to_owned();
        self.inner.faults.lock().unwrap().push((path, fault));
    }

    pub fn clear_faults(&self) {
        self.inner.faults.lock().unwrap().clear();
    }

    /// Returns and clears the received requests.
    pub fn asked(&self) -> Vec<ReceivedRequest> {
        std::mem::take(&mut self.inner.asked.lock().unwrap())
    }

    /// Returns the number of body bytes that the server has passed to the connection.
    pub fn sent_bytes(&self) -> usize {
        self.inner.sent_bytes.load(Ordering::Relaxed)
    }
}

impl Drop for Fake {
    fn drop(&mut self) {
        self.serving.abort();
    }
}

async fn serve(listener: TcpListener, acceptor: TlsAcceptor, inner: Arc<Inner>) {
    loop {
        let (stream, _) = listener.accept().await.unwrap();
        let (acceptor, inner) = (acceptor.clone(), inner.clone());
        tokio::spawn(async move {
            // Clients that do not trust the certificate disconnect.
            let Ok(stream) = acceptor.accept(stream).await else {
                return;
            };
            let service = service_fn(move |request| answer(request, inner.clone()));
            let connection = hyper::server::conn::http1::Builder::new();
            let connection = connection.serve_connection(TokioIo::new(stream), service);
            // Clients disconnect after their timeout.
            let _ = connection.await;
        });
    }
}

async fn answer(
    request: Request<Incoming>,
    inner: Arc<Inner>,
) -> Result<Response<FaultyBody>, Infallible> {
    let (head, body) = request.into_parts();
    let body = body.collect().await.unwrap().to_bytes();
    let path = head.uri.path().to_owned();
    let authorization = head.headers.get(AUTHORIZATION);
    inner.asked.lock().unwrap().push(ReceivedRequest {
        method: head.method.to_string(),
        path: path.clone(),
        authorization: authorization.map(|value| value.to_str().unwrap().to_owned()),
    });
    let faults = inner.faults.lock().unwrap().clone();
    let fault = faults.iter().find(|(at, _)| path.starts_with(at.as_str()));
    // A request with a fault has no effect.
    let correct = || inner.world.lock().unwrap().answer(&head, &body);
    let mut tail = Tail::End;
    let answer = match fault.map(|(_, fault)| fault.clone()) {
        None => correct(),
        Some(Fault::Silence) => std::future::pending().await,
        Some(Fault::Stalls) => {
            tail = Tail::Silence;
            correct()
        }
        Some(Fault::Endless) => {
            tail = Tail::More;
            correct()
        }
        Some(Fault::Header(name, value)) => {
            let mut answer = correct();
            answer.headers.retain(|(old, _)| *old != name);
            answer.headers.push((name, value));
            answer
        }
        Some(Fault::Response(status, headers, body)) => Answer {
            status,
            headers,
            body,
        },
    };
    let first = Some(Bytes::from(answer.body));
    let inner = inner.clone();
    let mut response = Response::new(FaultyBody { first, tail, inner });
    *response.status_mut() = answer.status.try_into().unwrap();
    for (name, value) in answer.headers {
        let value = HeaderValue::from_str(&value).unwrap();
        let name = HeaderName::from_static(name);
        response.headers_mut().append(name, value);
    }
    Ok(response)
}

/// A response body that applies a fault.
struct FaultyBody {
    first: Option<Bytes>,
    tail: Tail,
    inner: Arc<Inner>,
}

/// Bytes that follow the correct body.
enum Tail {
    End,
    Silence,
    More,
}

impl Body for FaultyBody {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        _: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        let bytes = match (self.first.take(), &self.tail) {
            (Some(first), _) => first,
            (None, Tail::End) => return Poll::Ready(None),
            (None, Tail::Silence) => return Poll::Pending,
            (None, Tail::More) => vec![b' '; 16 * 1024].into(),
        };
        let sent = &self.inner.sent_bytes;
        sent.fetch_add(bytes.len(), Ordering::Relaxed);
        Poll::Ready(Some(Ok(Frame::data(bytes))))
    }
}
