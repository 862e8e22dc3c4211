//! The connection to the container: a WebSocket to the proxy of this server, in memory.
//!
//! The request contains the caller's own credentials. The permit, the impersonation, the audit
//! records and the revocation are therefore the same as for `kubectl exec`.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use axum::body::Body;
use axum::extract::ConnectInfo;
use bytes::Bytes;
use drover_proxy::{AbortObserver, Proxy};
use http::header::{
    AUTHORIZATION, CONNECTION, COOKIE, HOST, HeaderName, HeaderValue, ORIGIN, SEC_WEBSOCKET_ACCEPT,
    SEC_WEBSOCKET_KEY, SEC_WEBSOCKET_PROTOCOL, SEC_WEBSOCKET_VERSION, UPGRADE, USER_AGENT,
};
use http::{HeaderMap, Request, StatusCode, request};
use http_body_util::{BodyExt as _, Empty, Limited};
use hyper::service::service_fn;
use hyper::upgrade::Upgraded;
use hyper_util::rt::TokioIo;
use thiserror::Error;
use tokio::io::DuplexStream;
use tokio_tungstenite::WebSocketStream;
use tokio_tungstenite::tungstenite::handshake::client::generate_key;
use tokio_tungstenite::tungstenite::handshake::derive_accept_key;
use tokio_tungstenite::tungstenite::protocol::{Role, WebSocketConfig};

use crate::channel::PROTOCOLS;

/// Timeout of the connection to the container.
const TIMEOUT: Duration = Duration::from_secs(30);
/// Number of bytes between the proxy and the terminal.
const PIPE: usize = 64 * 1024;
/// Maximum size of a message from the cluster. The API server sends at most 64 KiB.
const MAX_MESSAGE: usize = 128 * 1024;
/// Maximum size of the cluster's error response.
const MAX_REFUSAL: usize = 16 * 1024;
/// Headers of the caller's request that authenticate the caller. The proxy repeats all checks.
const CREDENTIALS: [HeaderName; 5] = [
    AUTHORIZATION,
    COOKIE,
    ORIGIN,
    USER_AGENT,
    HeaderName::from_static("sec-fetch-site"),
];

/// The error of a connection to a container.
#[derive(Debug, Error)]
pub(crate) enum ConnectError {
    /// The proxy or the cluster refused the request.
    #[error("the cluster responded with {0}")]
    Refused(StatusCode, Bytes),
    /// The cluster did not respond in time.
    #[error("the cluster did not open the terminal within {TIMEOUT:?}")]
    Timeout,
    /// The response is not a WebSocket handshake.
    #[error("the response of the cluster is not a WebSocket handshake")]
    NotWebSocket,
    /// The request cannot be built.
    #[error("cannot build the request for the terminal")]
    Request(#[from] http::Error),
    /// The exchange in memory failed.
    #[error("cannot send the request for the terminal")]
    Exchange(#[from] hyper::Error),
}

/// The caller's credentials and address.
#[derive(Clone, Debug)]
pub(crate) struct Credentials {
    headers: HeaderMap,
    source: Option<ConnectInfo<SocketAddr>>,
}

impl Credentials {
    /// Copies the credentials and the address from the caller's request.
    pub(crate) fn of(head: &request::Parts) -> Self {
        let mut headers = HeaderMap::new();
        for name in &CREDENTIALS {
            for value in head.headers.get_all(name) {
                headers.append(name, value.clone());
            }
        }
        let authority = head.uri.authority().map(http::uri::Authority::as_str);
        let host = authority.and_then(|host| HeaderValue::from_str(host).ok());
        if let Some(host) = host.or_else(|| head.headers.get(HOST).cloned()) {
            headers.insert(HOST, host);
        }
        Self {
            headers,
            source: head.extensions.get::<ConnectInfo<SocketAddr>>().copied(),
        }
    }
}

/// A WebSocket to a container.
pub(crate) struct Upstream<S = TokioIo<Upgraded>> {
    pub(crate) socket: WebSocketStream<S>,
    /// Contains the reason if the proxy aborts the stream.
    pub(crate) observer: AbortObserver,
}

/// Opens a WebSocket to a container through the proxy.
pub(crate) async fn connect(
    proxy: Arc<Proxy>,
    path: &str,
    credentials: Credentials,
) -> Result<Upstream, ConnectError> {
    let opening = open(proxy, path, credentials);
    let opened = tokio::time::timeout(TIMEOUT, opening).await;
    opened.unwrap_or(Err(ConnectError::Timeout))
}

async fn open(
    proxy: Arc<Proxy>,
    path: &str,
    credentials: Credentials,
) -> Result<Upstream, ConnectError> {
    let observer = AbortObserver::default();
    let (near, far) = tokio::io::duplex(PIPE);
    tokio::spawn(serve(proxy, far, credentials.source, observer.clone()));
    let (mut sender, connection) =
        hyper::client::conn::http1::handshake(TokioIo::new(near)).await?;
    // The task ends with the upgrade, or when `sender` is dropped.
    tokio::spawn(connection.with_upgrades());
    let key = generate_key();
    let mut request = Request::get(path)
        .header(CONNECTION, "Upgrade")
        .header(UPGRADE, "websocket")
        .header(SEC_WEBSOCKET_VERSION, "13")
        .header(SEC_WEBSOCKET_KEY, &key)
        .header(SEC_WEBSOCKET_PROTOCOL, PROTOCOLS)
        .body(Empty::<Bytes>::new())?;
    request.headers_mut().extend(credentials.headers);
    let response = sender.send_request(request).await?;
    if response.status() != StatusCode::SWITCHING_PROTOCOLS {
        let status = response.status();
        let body = Limited::new(response.into_body(), MAX_REFUSAL)
            .collect()
            .await;
        let body = body.map(http_body_util::Collected::to_bytes);
        return Err(ConnectError::Refused(status, body.unwrap_or_default()));
    }
    let accepted = response.headers().get(SEC_WEBSOCKET_ACCEPT);
    if accepted.is_none_or(|accepted| *accepted != derive_accept_key(key.as_bytes())) {
        return Err(ConnectError::NotWebSocket);
    }
    let upgraded = TokioIo::new(hyper::upgrade::on(response).await?);
    let socket = WebSocketStream::from_raw_socket(upgraded, Role::Client, Some(config())).await;
    Ok(Upstream { socket, observer })
}

/// Returns the limits of the messages from the cluster.
pub(crate) fn config() -> WebSocketConfig {
    WebSocketConfig::default()
        .read_buffer_size(16 * 1024)
        .write_buffer_size(0)
        .max_message_size(Some(MAX_MESSAGE))
        .max_frame_size(Some(MAX_MESSAGE))
}

/// Serves one connection in memory with the proxy.
async fn serve(
    proxy: Arc<Proxy>,
    stream: DuplexStream,
    source: Option<ConnectInfo<SocketAddr>>,
    observer: AbortObserver,
) {
    let service = service_fn(move |request: Request<hyper::body::Incoming>| {
        let proxy = Arc::clone(&proxy);
        let mut request = request.map(Body::new);
        if let Some(source) = source {
            request.extensions_mut().insert(source);
        }
        request.extensions_mut().insert(observer.clone());
        async move { Ok::<_, std::convert::Infallible>(proxy.serve(request).await) }
    });
    let connection = hyper::server::conn::http1::Builder::new()
        .serve_connection(TokioIo::new(stream), service)
        .with_upgrades();
    if let Err(error) = connection.await {
        tracing::debug!(%error, "the connection of a terminal to the proxy ended");
    }
}
