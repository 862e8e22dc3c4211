//! The HTTPS server of the webhook.

use std::collections::VecDeque;
use std::convert::Infallible;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use drover_access::endpoint::token_review::{MAX_BYTES, TokenReview};
use drover_api::endpoint::WEBHOOK_PATH;
use drover_api::kinds::WebhookState;
use http::header::CONTENT_TYPE;
use http::{HeaderValue, Method, Request, Response, StatusCode};
use http_body_util::{BodyExt as _, Full, Limited};
use hyper::body::{Bytes, Incoming};
use hyper::service::service_fn;
use hyper_util::rt::{TokioExecutor, TokioIo, TokioTimer};
use hyper_util::server::conn::auto;
use jiff::Timestamp;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;
use tokio::task::{AbortHandle, JoinSet};
use tokio_rustls::TlsAcceptor;
use tracing::{debug, info, warn};

use super::WebhookStates;
use super::check::Probe;
use super::directory::Snapshot;

/// Maximum number of concurrent connections. An API server needs one, and opens a few more under load.
const MAX_CONNECTIONS: usize = 64;
/// Timeout of the TLS handshake, of reading a request's head, and of reading its body.
const TIMEOUT: Duration = Duration::from_secs(10);
/// Interval of HTTP/2 pings, which detect connections whose client has ended.
const KEEP_ALIVE: Duration = Duration::from_secs(30);
/// Interval between two attempts to listen on the port.
const LISTEN_INTERVAL: Duration = Duration::from_secs(10);
/// Pause after the operating system could not accept a connection.
const ACCEPT_PAUSE: Duration = Duration::from_millis(100);

/// Listens while the endpoint is enabled.
pub(super) async fn serve(
    address: SocketAddr,
    mut snapshots: watch::Receiver<Snapshot>,
    probe: Arc<Probe>,
    states: WebhookStates,
) {
    // The sender lives as long as this future.
    while snapshots.wait_for(|now| now.tls.is_some()).await.is_ok() {
        match TcpListener::bind(address).await {
            Ok(listener) => {
                info!(%address, "serving the authorized endpoint's webhook");
                states.send_replace(WebhookState::Unchecked);
                let mut disabled = snapshots.clone();
                tokio::select! {
                    () = accept(&listener, &snapshots, &probe) => {}
                    _ = disabled.wait_for(|now| now.tls.is_none()) => {}
                }
                states.send_replace(WebhookState::Disabled);
            }
            Err(error) => {
                warn!(%address, %error, "cannot listen for the authorized endpoint's webhook; trying again");
                states.send_replace(WebhookState::PortUnavailable);
                tokio::time::sleep(LISTEN_INTERVAL).await;
            }
        }
    }
}

/// Accepts connections until the future is dropped, which also closes the connections.
///
/// A connection above the limit replaces the oldest connection. Every process on the host network can
/// open connections, and must not block the API server. The API server opens a new connection when its
/// connection is closed.
async fn accept(listener: &TcpListener, snapshots: &watch::Receiver<Snapshot>, probe: &Arc<Probe>) {
    let mut connections = JoinSet::new();
    let mut oldest: VecDeque<AbortHandle> = VecDeque::new();
    loop {
        while connections.try_join_next().is_some() {}
        oldest.retain(|handle| !handle.is_finished());
        match listener.accept().await {
            Ok((stream, _)) => {
                if oldest.len() >= MAX_CONNECTIONS
                    && let Some(first) = oldest.pop_front()
                {
                    first.abort();
                }
                let serving = connection(stream, snapshots.clone(), Arc::clone(probe));
                oldest.push_back(connections.spawn(serving));
            }
            Err(error) => {
                debug!(%error, "cannot accept a connection");
                tokio::time::sleep(ACCEPT_PAUSE).await;
            }
        }
    }
}

async fn connection(stream: TcpStream, snapshots: watch::Receiver<Snapshot>, probe: Arc<Probe>) {
    let Some(tls) = snapshots.borrow().tls.clone() else {
        return;
    };
    let handshake = TlsAcceptor::from(tls).accept(stream);
    // The API server logs the reason of a failed handshake.
    let Ok(Ok(stream)) = tokio::time::timeout(TIMEOUT, handshake).await else {
        return;
    };
    let service = service_fn(move |request| {
        let (snapshots, probe) = (snapshots.clone(), Arc::clone(&probe));
        async move { Ok::<_, Infallible>(answer(request, &snapshots, &probe).await) }
    });
    let mut builder = auto::Builder::new(TokioExecutor::new());
    builder
        .http1()
        .timer(TokioTimer::new())
        .header_read_timeout(TIMEOUT);
    builder
        .http2()
        .timer(TokioTimer::new())
        .keep_alive_interval(KEEP_ALIVE)
        .keep_alive_timeout(TIMEOUT);
    // The API server repeats a failed request.
    let _ = builder
        .serve_connection(TokioIo::new(stream), service)
        .await;
}

async fn answer(
    request: Request<Incoming>,
    snapshots: &watch::Receiver<Snapshot>,
    probe: &Probe,
) -> Response<Full<Bytes>> {
    if request.uri().path() != WEBHOOK_PATH {
        return text(StatusCode::NOT_FOUND, "not found");
    }
    if request.method() != Method::POST {
        return text(StatusCode::METHOD_NOT_ALLOWED, "use POST");
    }
    let body = Limited::new(request.into_body(), MAX_BYTES).collect();
    let body = match tokio::time::timeout(TIMEOUT, body).await {
        Ok(Ok(body)) => body.to_bytes(),
        Ok(Err(_)) => return text(StatusCode::PAYLOAD_TOO_LARGE, "the token is too long"),
        Err(_) => return text(StatusCode::REQUEST_TIMEOUT, "the request took too long"),
    };
    let Some(review) = TokenReview::parse(&body) else {
        let message = "the body must be a TokenReview of authentication.k8s.io/v1 or v1beta1";
        return text(StatusCode::BAD_REQUEST, message);
    };
    probe.observe(review.token());
    let directory = snapshots.borrow().directory.clone();
    let (code, document) = review.answer(directory.as_deref(), Timestamp::now());
    let mut response = text(code, document.to_string());
    let json = HeaderValue::from_static("application/json");
    response.headers_mut().insert(CONTENT_TYPE, json);
    response
}

fn text(code: StatusCode, text: impl Into<Bytes>) -> Response<Full<Bytes>> {
    let mut response = Response::new(Full::new(text.into()));
    *response.status_mut() = code;
    response
}
