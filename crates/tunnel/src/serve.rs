//! The agent's end of a tunnel: an HTTP/2 server on the connection to the Drover server.

use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use http::header::RETRY_AFTER;
use http::{HeaderValue, Request, Response, StatusCode};
use http_body::Body;
use hyper::body::Incoming;
use hyper::server::conn::http2;
use hyper::service::{Service, service_fn};
use hyper_util::rt::{TokioExecutor, TokioIo, TokioTimer};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio_util::sync::CancellationToken;

use crate::body::SkipEmpty;
use crate::coalesce::Coalesce;
use crate::response_budget::{Budgeted, ResponseBudget};
use crate::{BoxError, CONNECTION_WINDOW, Keepalive, MAX_FRAME, MAX_HEADER_LIST, STREAM_WINDOW};

/// Options for serving a tunnel.
#[derive(Debug, Clone)]
pub struct ServeOptions {
    /// Keepalive settings for pings to a silent server.
    pub keepalive: Keepalive,
    /// Maximum number of concurrent requests. Default: 10,000.
    pub max_streams: u32,
    /// Limit for buffered response bytes. `None` disables the limit.
    pub responses: Option<Arc<ResponseBudget>>,
    /// Maximum total number of unread bytes in all request bodies.
    pub request_bytes: u32,
    /// Maximum duration for which running requests can continue after a shutdown starts. Default:
    /// 30 s.
    pub drain: Duration,
}

impl Default for ServeOptions {
    fn default() -> Self {
        Self {
            keepalive: Keepalive::default(),
            max_streams: 10_000,
            responses: None,
            request_bytes: CONNECTION_WINDOW,
            drain: Duration::from_secs(30),
        }
    }
}

/// Error that ends a tunnel. A close by the server and a shutdown are not errors.
#[derive(Debug, thiserror::Error)]
pub enum ServeError {
    /// The server did not respond to a keepalive ping.
    #[error("the server did not respond to a keepalive ping before the timeout")]
    KeepaliveTimeout(#[source] hyper::Error),
    /// The connection failed, or the server violated the HTTP/2 or WebSocket protocol.
    #[error("the connection of the tunnel failed")]
    Connection(#[source] hyper::Error),
    /// Requests were still running after the drain timeout.
    #[error("requests were still running {duration:?} after the shutdown started", duration = .0)]
    DrainTimeout(Duration),
}

/// Serves `service` on `stream` until the server closes the stream or `shutdown` is cancelled.
///
/// On shutdown, sends GOAWAY to the server and waits up to [`ServeOptions::drain`] for running
/// requests. Dropping the future closes the tunnel immediately.
///
/// Authenticate the server before calling this function, because the HTTP/2 limits against abusive
/// clients are disabled.
pub async fn serve<S, Svc, B>(
    stream: S,
    service: Svc,
    options: ServeOptions,
    shutdown: CancellationToken,
) -> Result<(), ServeError>
where
    S: AsyncRead + AsyncWrite + Unpin + Send + 'static,
    Svc: Service<Request<Incoming>, Response = Response<B>> + Clone + Send + 'static,
    Svc::Future: Send + 'static,
    Svc::Error: Into<BoxError>,
    B: Body + Unpin + Send + 'static,
    B::Data: Send,
    B::Error: Into<BoxError>,
{
    let budget = options.responses.clone();
    let service = service_fn(move |request| {
        let budget = budget.clone();
        let full = budget.as_ref().is_some_and(|budget| budget.is_full());
        let answer = (!full).then(|| service.call(request));
        async move {
            let Some(answer) = answer else {
                return Ok(unavailable());
            };
            let response = answer.await?;
            Ok::<_, Svc::Error>(response.map(|body| Budgeted::new(SkipEmpty::new(body), budget)))
        }
    });
    let connection =
        builder(&options).serve_connection(TokioIo::new(Coalesce::new(stream)), service);
    let mut connection = pin!(connection);
    tokio::select! {
        ended = connection.as_mut() => return ended.map_err(classify),
        () = shutdown.cancelled() => connection.as_mut().graceful_shutdown(),
    }
    tokio::time::timeout(options.drain, connection)
        .await
        .map_err(|_| ServeError::DrainTimeout(options.drain))?
        .map_err(classify)
}

/// Returns status 503 with `Retry-After` while unread responses fill the budget.
fn unavailable<B>() -> Response<Budgeted<B>> {
    let mut response = Response::new(Budgeted::empty());
    *response.status_mut() = StatusCode::SERVICE_UNAVAILABLE;
    let headers = response.headers_mut();
    headers.insert(RETRY_AFTER, HeaderValue::from_static("1"));
    response
}

fn builder(options: &ServeOptions) -> http2::Builder<TokioExecutor> {
    let mut builder = http2::Builder::new(TokioExecutor::new());
    builder
        .timer(TokioTimer::new())
        .initial_stream_window_size(STREAM_WINDOW)
        .initial_connection_window_size(options.request_bytes.min(CONNECTION_WINDOW))
        .max_frame_size(MAX_FRAME)
        .max_header_list_size(MAX_HEADER_LIST)
        .keep_alive_interval(options.keepalive.interval)
        .keep_alive_timeout(options.keepalive.timeout)
        .enable_connect_protocol()
        .max_concurrent_streams(options.max_streams)
        // Users cancel thousands of requests; cancelled requests are not an attack.
        .max_pending_accept_reset_streams(100_000)
        .max_local_error_reset_streams(None);
    builder
}

fn classify(error: hyper::Error) -> ServeError {
    if error.is_timeout() {
        ServeError::KeepaliveTimeout(error)
    } else {
        ServeError::Connection(error)
    }
}
