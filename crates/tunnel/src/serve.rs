//! The agent's end: HTTP/2 served on the connection the agent dialled.

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
use crate::waiting::{Budgeted, ResponseBudget};
use crate::{BoxError, CONNECTION_WINDOW, Keepalive, MAX_FRAME, MAX_HEADER_LIST, STREAM_WINDOW};

/// How an agent serves a tunnel.
#[derive(Debug, Clone)]
pub struct ServeOptions {
    /// When a silent server is pinged and given up.
    pub keepalive: Keepalive,
    /// Most requests at once.
    pub max_streams: u32,
    /// What responses may hold; no limit if absent.
    pub responses: Option<Arc<ResponseBudget>>,
    /// Most bytes of requests' bodies that were not read yet, of all requests together.
    pub request_bytes: u32,
    /// How long requests that are under way may take to end after a shutdown began.
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

/// Why serving a tunnel ended, other than by the server closing it or by a shutdown.
#[derive(Debug, thiserror::Error)]
pub enum ServeError {
    /// The server was silent for too long: the network between has a hole.
    #[error("the server gave no sign of life in time")]
    KeepaliveTimeout(#[source] hyper::Error),
    /// The connection broke, or the server broke HTTP/2's or the WebSocket's rules.
    #[error("the tunnel's connection broke")]
    Connection(#[source] hyper::Error),
    /// Requests were still under way when the time to drain was over.
    #[error("requests were still under way {0:?} after the shutdown began")]
    DrainTimeout(Duration),
}

/// Serves `service` on `stream` until the server closes it or `shutdown` is cancelled.
///
/// On shutdown the server is told to send nothing more (GOAWAY) and requests under way are
/// given [`ServeOptions::drain`] to end. Dropping the future closes the tunnel at once.
///
/// The limits that HTTP/2 has against abusive clients are off: the server must have proved
/// who it is before.
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
    B: Body + Send + 'static,
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
                return Ok(refusal());
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

/// Asks for patience while responses that nobody reads fill the budget.
fn refusal<B>() -> Response<Budgeted<B>> {
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
        // Users cancel by the thousand; a cancelled request is no attack.
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
