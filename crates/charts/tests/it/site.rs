//! An HTTPS server with fixed responses.

use std::collections::BTreeMap;
use std::convert::Infallible;
use std::sync::{Arc, Mutex};

use http_body_util::Full;
use hyper::body::{Bytes, Incoming};
use hyper::service::service_fn;
use hyper::{Request, Response};
use hyper_util::rt::TokioIo;
use tokio::net::TcpListener;
use tokio_rustls::TlsAcceptor;

/// A response, and the condition for it.
#[derive(Clone, Default)]
pub(crate) struct Reply {
    pub(crate) status: u16,
    pub(crate) headers: Vec<(&'static str, String)>,
    pub(crate) body: Bytes,
    /// The required header `Authorization`. Without it, the response has the status 401 and `challenge`.
    pub(crate) authorization: Option<String>,
    pub(crate) challenge: String,
    /// The server never answers.
    pub(crate) hangs: bool,
}

impl Reply {
    pub(crate) fn ok(body: impl Into<Bytes>) -> Self {
        Self {
            status: 200,
            body: body.into(),
            ..Self::default()
        }
    }

    pub(crate) fn redirect(location: impl Into<String>) -> Self {
        Self {
            status: 302,
            headers: vec![("location", location.into())],
            ..Self::default()
        }
    }
}

/// A request that the server has received: the path, and the header `Authorization`.
pub(crate) type Seen = (String, Option<String>);

#[derive(Default)]
struct State {
    replies: BTreeMap<String, Reply>,
    seen: Vec<Seen>,
}

/// A running server. Dropping the value stops the server.
pub(crate) struct Site {
    pub(crate) url: String,
    /// The certificate of the server, in PEM.
    pub(crate) certificate: String,
    state: Arc<Mutex<State>>,
    task: tokio::task::JoinHandle<()>,
}

impl Drop for Site {
    fn drop(&mut self) {
        self.task.abort();
    }
}

impl Site {
    /// Starts a server with TLS.
    pub(crate) async fn start() -> Self {
        let key = rcgen::generate_simple_self_signed(vec!["localhost".to_owned()]).unwrap();
        let provider = Arc::new(rustls::crypto::aws_lc_rs::default_provider());
        let config = rustls::ServerConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .unwrap()
            .with_no_client_auth()
            .with_single_cert(
                vec![key.cert.der().clone()],
                rustls_pki_types::PrivateKeyDer::Pkcs8(key.signing_key.serialize_der().into()),
            )
            .unwrap();
        let acceptor = TlsAcceptor::from(Arc::new(config));
        Self::listen(Some(acceptor), key.cert.pem()).await
    }

    /// Starts a server without TLS.
    pub(crate) async fn start_plain() -> Self {
        Self::listen(None, String::new()).await
    }

    async fn listen(tls: Option<TlsAcceptor>, certificate: String) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let scheme = if tls.is_some() { "https" } else { "http" };
        let port = listener.local_addr().unwrap().port();
        let state = Arc::new(Mutex::new(State::default()));
        let shared = Arc::clone(&state);
        let task = tokio::spawn(async move {
            loop {
                let (stream, _) = listener.accept().await.unwrap();
                let state = Arc::clone(&shared);
                let service = service_fn(move |request| answer(Arc::clone(&state), request));
                let http = hyper::server::conn::http1::Builder::new();
                let tls = tls.clone();
                tokio::spawn(async move {
                    match tls {
                        None => drop(http.serve_connection(TokioIo::new(stream), service).await),
                        Some(tls) => {
                            if let Ok(stream) = tls.accept(stream).await {
                                drop(http.serve_connection(TokioIo::new(stream), service).await);
                            }
                        }
                    }
                });
            }
        });
        Self {
            url: format!("{scheme}://localhost:{port}"),
            certificate,
            state,
            task,
        }
    }

    /// Sets the response for a path.
    pub(crate) fn set(&self, path: &str, reply: Reply) {
        let mut state = self.state.lock().unwrap();
        state.replies.insert(path.to_owned(), reply);
    }

    /// Returns the requests since the last call.
    pub(crate) fn seen(&self) -> Vec<Seen> {
        std::mem::take(&mut self.state.lock().unwrap().seen)
    }
}

async fn answer(
    state: Arc<Mutex<State>>,
    request: Request<Incoming>,
) -> Result<Response<Full<Bytes>>, Infallible> {
    let path = request.uri().path().to_owned();
    let authorization = request.headers().get("authorization");
    let authorization = authorization.map(|value| value.to_str().unwrap().to_owned());
    let reply = {
        let mut state = state.lock().unwrap();
        state.seen.push((path.clone(), authorization.clone()));
        state.replies.get(&path).cloned()
    };
    let reply = reply.unwrap_or(Reply {
        status: 404,
        ..Reply::default()
    });
    if reply.hangs {
        std::future::pending::<()>().await;
    }
    let mut response = Response::builder();
    if reply.authorization.is_some() && reply.authorization != authorization {
        let response = response.status(401);
        let response = response.header("www-authenticate", &reply.challenge);
        return Ok(response.body(Full::default()).unwrap());
    }
    for (name, value) in &reply.headers {
        response = response.header(*name, value);
    }
    let response = response.status(reply.status);
    Ok(response.body(Full::new(reply.body)).unwrap())
}
