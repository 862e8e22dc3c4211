//! Requests of components of this server to clusters, in memory, with the credentials of a caller.
//!
//! The proxy repeats all checks. The permit, the impersonation, the audit records and the revocation
//! are therefore the same as for a request of the caller, for example `kubectl exec`.

use std::convert::Infallible;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use axum::body::Body;
use axum::extract::{ConnectInfo, FromRequestParts};
use axum::response::{IntoResponse, Response};
use bytes::Bytes;
use drover_http_edge::status::Status;
use http::header::{
    ACCEPT, AUTHORIZATION, CACHE_CONTROL, CONNECTION, CONTENT_TYPE, COOKIE, HOST, HeaderName,
    HeaderValue, ORIGIN, SEC_WEBSOCKET_ACCEPT, SEC_WEBSOCKET_KEY, SEC_WEBSOCKET_PROTOCOL,
    SEC_WEBSOCKET_VERSION, UPGRADE, USER_AGENT,
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

use super::{AbortObserver, Proxy};

/// Timeout of a request, and of the handshake of a WebSocket.
const TIMEOUT: Duration = Duration::from_secs(30);
/// Number of bytes between the proxy and the component.
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

/// The error of a request to a cluster.
#[derive(Debug, Error)]
pub enum ConnectError {
    /// The proxy or the cluster refused the request.
    #[error("the cluster responded with {0}")]
    Refused(StatusCode, Bytes),
    /// The cluster did not respond in time.
    #[error("the cluster did not respond within {TIMEOUT:?}")]
    Timeout,
    /// The body of the response is too large, or the response ended early.
    #[error("the response of the cluster is incomplete or larger than {limit} bytes")]
    Body {
        /// Maximum number of bytes.
        limit: usize,
    },
    /// The response is not a WebSocket handshake.
    #[error("the response of the cluster is not a WebSocket handshake")]
    NotWebSocket,
    /// The request cannot be built.
    #[error("cannot build the request to the cluster")]
    Request(#[from] http::Error),
    /// The exchange in memory failed.
    #[error("cannot send the request to the cluster")]
    Exchange(#[from] hyper::Error),
}

impl ConnectError {
    /// Returns the error as a sentence. The sentence contains the message of the cluster.
    pub fn message(&self) -> String {
        match self {
            Self::Refused(status, body) => {
                let body: serde_json::Value = serde_json::from_slice(body).unwrap_or_default();
                let message = body["message"].as_str().filter(|text| !text.is_empty());
                message.map_or_else(
                    || format!("the cluster responded with {status}"),
                    str::to_owned,
                )
            }
            error => error.to_string(),
        }
    }
}

impl IntoResponse for ConnectError {
    /// Returns the error response of the proxy or of the cluster, which is a `metav1.Status`.
    fn into_response(self) -> Response {
        match self {
            Self::Refused(status, body) => refused(status, body),
            error @ Self::Timeout => Status::timeout(error.to_string()).into_response(),
            error => Status::internal(error.to_string()).into_response(),
        }
    }
}

fn refused(status: StatusCode, body: Bytes) -> Response {
    let is_error = status.is_client_error() || status.is_server_error();
    let is_status = serde_json::from_slice::<serde_json::Value>(&body)
        .is_ok_and(|body| body["kind"] == "Status");
    if !is_error || !is_status {
        let text = format!("the cluster responded with {status} without the reason");
        return Status::new(StatusCode::BAD_GATEWAY, "BadGateway", text).into_response();
    }
    let mut response = Response::new(Body::from(body));
    *response.status_mut() = status;
    let headers = response.headers_mut();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
    headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
    response
}

/// The caller's credentials and address.
#[derive(Clone)]
pub struct Credentials {
    headers: HeaderMap,
    source: Option<ConnectInfo<SocketAddr>>,
}

impl Credentials {
    /// Copies the credentials and the address from the caller's request.
    pub fn of(head: &request::Parts) -> Self {
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

    /// Returns the host of the caller's request, with the port.
    pub fn host(&self) -> Option<&str> {
        self.headers.get(HOST)?.to_str().ok()
    }
}

impl<S: Sync> FromRequestParts<S> for Credentials {
    type Rejection = Infallible;

    async fn from_request_parts(head: &mut request::Parts, _: &S) -> Result<Self, Infallible> {
        Ok(Self::of(head))
    }
}

/// A WebSocket to a cluster.
pub struct Upstream<S = TokioIo<Upgraded>> {
    /// The WebSocket.
    pub socket: WebSocketStream<S>,
    /// Contains the reason if the proxy aborts the stream.
    pub observer: AbortObserver,
}

/// Sends a `GET` request through the proxy. Returns the body of a response with status 200. The
/// body has at most `limit` bytes.
pub async fn get(
    proxy: &Proxy,
    path: &str,
    credentials: &Credentials,
    limit: usize,
) -> Result<Bytes, ConnectError> {
    let mut request = Request::get(path).body(Body::empty())?;
    request.headers_mut().extend(credentials.headers.clone());
    request
        .headers_mut()
        .insert(ACCEPT, HeaderValue::from_static("application/json"));
    if let Some(source) = credentials.source {
        request.extensions_mut().insert(source);
    }
    let exchange = async {
        let response = proxy.serve(request).await;
        let status = response.status();
        if status != StatusCode::OK {
            return Err(ConnectError::Refused(
                status,
                refusal(response.into_body()).await,
            ));
        }
        let body = Limited::new(response.into_body(), limit).collect().await;
        let body = body.map_err(|_| ConnectError::Body { limit })?;
        Ok(body.to_bytes())
    };
    let done = tokio::time::timeout(TIMEOUT, exchange).await;
    done.unwrap_or(Err(ConnectError::Timeout))
}

/// Opens a WebSocket to a cluster through the proxy. `protocols` is the value of
/// `Sec-WebSocket-Protocol`.
pub async fn open_websocket(
    proxy: Arc<Proxy>,
    path: &str,
    protocols: &'static str,
    credentials: Credentials,
) -> Result<Upstream, ConnectError> {
    let opening = open(proxy, path, protocols, credentials);
    let opened = tokio::time::timeout(TIMEOUT, opening).await;
    opened.unwrap_or(Err(ConnectError::Timeout))
}

async fn open(
    proxy: Arc<Proxy>,
    path: &str,
    protocols: &'static str,
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
        .header(SEC_WEBSOCKET_PROTOCOL, protocols)
        .body(Empty::<Bytes>::new())?;
    request.headers_mut().extend(credentials.headers);
    let response = sender.send_request(request).await?;
    if response.status() != StatusCode::SWITCHING_PROTOCOLS {
        let status = response.status();
        return Err(ConnectError::Refused(
            status,
            refusal(response.into_body()).await,
        ));
    }
    let accepted = response.headers().get(SEC_WEBSOCKET_ACCEPT);
    if accepted.is_none_or(|accepted| *accepted != derive_accept_key(key.as_bytes())) {
        return Err(ConnectError::NotWebSocket);
    }
    let upgraded = TokioIo::new(hyper::upgrade::on(response).await?);
    let config = Some(websocket_config());
    let socket = WebSocketStream::from_raw_socket(upgraded, Role::Client, config).await;
    Ok(Upstream { socket, observer })
}

/// Returns the first bytes of an error response.
async fn refusal<B>(body: B) -> Bytes
where
    B: http_body::Body<Data = Bytes, Error: Into<Box<dyn std::error::Error + Send + Sync>>>,
{
    let body = Limited::new(body, MAX_REFUSAL).collect().await;
    body.map_or_else(|_| Bytes::new(), http_body_util::Collected::to_bytes)
}

/// Returns the limits of the messages from the cluster.
pub fn websocket_config() -> WebSocketConfig {
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
        async move { Ok::<_, Infallible>(proxy.serve(request).await) }
    });
    let connection = hyper::server::conn::http1::Builder::new()
        .serve_connection(TokioIo::new(stream), service)
        .with_upgrades();
    if let Err(error) = connection.await {
        tracing::debug!(%error, "a connection in memory to the proxy ended");
    }
}
