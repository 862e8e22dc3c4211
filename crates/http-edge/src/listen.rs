//! The TLS listener: HTTP/1.1 and HTTP/2 with upgrades, and limits for unauthenticated clients.
//!
//! Before authentication, a connection costs at most one file descriptor, a few KiB, and a limited
//! time for the handshake and the headers. A client that does not read a response can also keep a full
//! TLS buffer. Each network (an IPv4 address or an IPv6 /64) and each
//! wider network has a connection limit. The network is derived from the connection's peer address:
//! all clients behind a load balancer that hides addresses share the load balancer's limit.
//!
//! If no slot is free, the listener accepts a connection and closes it immediately. Some slots are
//! reserved for agents.

mod activity;
pub mod address;
pub mod files;
mod keep_alive;
mod preface_timeout;
pub mod proxied;
mod slot;

use std::convert::Infallible;
use std::net::SocketAddr;
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::time::Duration;

use axum::body::Body;
use axum::extract::ConnectInfo;
use axum::response::{IntoResponse as _, Response};
use drover_tunnel::{ReadAhead, TLS_BUFFER};
use hyper::body::Incoming;
use hyper::server::conn::{http1, http2};
use hyper::service::service_fn;
use hyper_util::rt::{TokioExecutor, TokioIo, TokioTimer};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time::{sleep, timeout};
use tokio_rustls::TlsAcceptor;
use tokio_rustls::server::TlsStream;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;
use tower::{Service, ServiceExt as _};

pub use self::activity::IdleTimeouts;
use self::activity::Tracked;
use self::keep_alive::enable_keep_alive;
use self::preface_timeout::PrefaceTimeout;
pub use self::slot::ConnectionSlot;
use self::slot::{ConnectionSlots, Purpose};
use crate::networks::TrustedProxies;
use crate::status::Status;
use drover_entropy::backoff::Backoff;

/// Maximum size of a request's header section, in bytes. client-go sends long tokens and group
/// lists.
pub const HEADER_BYTES: usize = 256 * 1024;
/// Maximum concurrent requests on one HTTP/2 connection.
const MAX_STREAMS: u32 = 250;
/// HTTP/2 flow-control window of one stream, in bytes.
const STREAM_WINDOW: u32 = 256 * 1024;
/// HTTP/2 flow-control window of a connection, in bytes.
const CONNECTION_WINDOW: u32 = 16 * 1024 * 1024;
/// Interval of HTTP/2 pings on an idle connection, and the time limit of the ping's response.
const PING: (Duration, Duration) = (Duration::from_secs(30), Duration::from_secs(20));

/// Maximum number of connections of trusted proxies on which the server still waits for the PROXY
/// header.
const MAX_UNNAMED: usize = 4096;
/// Time limit for a connection to end after the start of a graceful shutdown.
const SHUTDOWN_TIMEOUT: Duration = Duration::from_secs(5);
/// Routes that agents can use on connections reserved for agents.
const AGENT_ROUTES: [&str; 7] = [
    "/v1/agent/register",
    "/v1/agent/node",
    "/v1/agent/challenge",
    "/v1/agent/hub-token",
    "/v1/connect",
    // Kubernetes restarts a server whose probes fail, and a restart closes every tunnel.
    "/livez",
    "/readyz",
];

/// Time limits and maximum numbers of connections.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Time limit of the TLS handshake.
    pub handshake: Duration,
    /// Time limit for the headers of an HTTP/1.1 request, including the wait for its first byte,
    /// and for the preface of an HTTP/2 connection.
    pub headers: Duration,
    /// Maximum number of concurrent connections in general slots, which all clients can use.
    /// Connections of agents that have proved their keys do not count.
    pub connections: usize,
    /// Maximum number of concurrent connections of one network. The listener gives agent-only slots
    /// to further connections.
    pub per_network: usize,
    /// Maximum number of concurrent agent-only connections. Half of these connections are reserved
    /// for networks from which agents have proved their keys. The listener closes further
    /// connections.
    pub agents: usize,
    /// Maximum number of concurrent agent-only connections of one network. Applies separately to
    /// the reserved half and to the general half.
    pub agents_per_network: usize,
    /// Time limit for an agent to prove its key on an agent-only connection.
    pub prove: Duration,
    /// Time limits of connections that have sent no authenticated request.
    pub idle_timeouts: IdleTimeouts,
    /// Time limit of requests in flight when the server shuts down.
    pub drain: Duration,
}

impl Limits {
    /// The default limits of the server.
    pub const SERVER: Self = Self {
        handshake: Duration::from_secs(10),
        headers: Duration::from_secs(30),
        connections: 20_000,
        per_network: 1_000,
        agents: 2_000,
        agents_per_network: 50,
        prove: Duration::from_secs(20),
        idle_timeouts: IdleTimeouts {
            idle: Duration::from_mins(1),
            stalled: Duration::from_mins(15),
        },
        drain: Duration::from_secs(10),
    };
}

/// The proxies that may set the client address of a connection or request. Empty by default.
#[derive(Clone, Debug, Default)]
pub struct Proxies {
    /// Proxies trusted to set the client address in `X-Forwarded-For`.
    pub forwarded_for: TrustedProxies,
    /// Proxies trusted to set the client address with a PROXY protocol header, version 2, at the
    /// beginning of a connection.
    pub proxy_protocol: TrustedProxies,
}

/// The configuration for serving connections. All connections share the configuration.
struct ServeContext<S> {
    acceptor: TlsAcceptor,
    service: S,
    limits: Limits,
    proxies: Proxies,
    slots: ConnectionSlots,
    stop: CancellationToken,
}

/// A service that responds to all requests of the listener, for example a router.
pub trait HttpService:
    Service<http::Request<Body>, Response = Response, Error = Infallible, Future: Send>
    + Clone
    + Send
    + Sync
    + 'static
{
}

impl<S> HttpService for S where
    S: Service<http::Request<Body>, Response = Response, Error = Infallible, Future: Send>
        + Clone
        + Send
        + Sync
        + 'static
{
}

/// Serves `service` on `listener` until `stop`, then drains requests in flight.
///
/// Each request carries its client's address as the extension [`ConnectInfo`]`<`[`SocketAddr`]`>`,
/// and its connection's [`ConnectionSlot`]. The client is the peer, or the address from a trusted
/// proxy. The port is 0 if the address comes from `X-Forwarded-For`.
pub async fn serve(
    listener: TcpListener,
    tls: Arc<rustls::ServerConfig>,
    service: impl HttpService,
    limits: Limits,
    proxies: Proxies,
    stop: CancellationToken,
) {
    let connections = TaskTracker::new();
    let serving = Arc::new(ServeContext {
        acceptor: TlsAcceptor::from(tls),
        service,
        limits,
        proxies,
        slots: ConnectionSlots::new(limits),
        stop: stop.clone(),
    });
    let unnamed = Arc::new(Semaphore::new(MAX_UNNAMED));
    let mut backoff = Backoff::new(Duration::from_millis(50), Duration::from_secs(1));
    let accepting = async {
        loop {
            let (stream, peer) = accept(&listener, &mut backoff).await;
            let serving = Arc::clone(&serving);
            if !serving.proxies.proxy_protocol.contains(peer.ip()) {
                if let Some(slot) = serving.slot(peer) {
                    connections.spawn(async move { serving.serve(stream, peer, slot).await });
                }
            } else if let Ok(waiting) = Arc::clone(&unnamed).try_acquire_owned() {
                connections
                    .spawn(async move { serving.serve_proxied(stream, peer, waiting).await });
            } else {
                tracing::debug!(%peer, "closed a connection: too many connections without a PROXY header");
            }
        }
    };
    stop.run_until_cancelled(accepting).await;
    drop(listener);
    connections.close();
    if timeout(limits.drain, connections.wait()).await.is_err() {
        tracing::info!(
            open = connections.len(),
            "stopped the listener while connections were \
                                                  open"
        );
    }
}

/// Accepts the next connection. Retries after errors such as too many open files.
async fn accept(listener: &TcpListener, backoff: &mut Backoff) -> (TcpStream, SocketAddr) {
    loop {
        match listener.accept().await {
            Ok(accepted) => {
                backoff.reset();
                return accepted;
            }
            Err(error) => {
                tracing::warn!(
                    error = &error as &dyn std::error::Error,
                    "failed to accept a connection"
                );
                sleep(backoff.next_delay()).await;
            }
        }
    }
}

impl<S: HttpService> ServeContext<S> {
    fn slot(&self, client: SocketAddr) -> Option<ConnectionSlot> {
        let is_proxy = self.proxies.forwarded_for.contains(client.ip());
        let slot = self.slots.take(client.ip(), is_proxy);
        if slot.is_none() {
            tracing::debug!(%client, "closed a connection: too many connections");
        }
        slot
    }

    /// Serves a connection of a trusted proxy. The connection begins with a PROXY header.
    async fn serve_proxied(
        &self,
        mut stream: TcpStream,
        peer: SocketAddr,
        waiting: OwnedSemaphorePermit,
    ) {
        let named = timeout(self.limits.handshake, proxied::client(&mut stream)).await;
        drop(waiting);
        match named {
            Ok(Ok(client)) => {
                let client = client.unwrap_or(peer);
                if let Some(slot) = self.slot(client) {
                    self.serve(stream, client, slot).await;
                }
            }
            Ok(Err(error)) => {
                tracing::debug!(%peer, error = &error as &dyn std::error::Error, "failed to read the PROXY header");
            }
            Err(_) => tracing::debug!(%peer, "timeout while reading the PROXY header"),
        }
    }

    async fn serve(&self, stream: TcpStream, client: SocketAddr, slot: ConnectionSlot) {
        if let Some(stream) = shake_hands(&self.acceptor, stream, client, self.limits).await {
            self.serve_protocol(stream, client, &slot).await;
        }
        slot.release();
    }
}

async fn shake_hands(
    acceptor: &TlsAcceptor,
    stream: TcpStream,
    peer: SocketAddr,
    limits: Limits,
) -> Option<TlsStream<ReadAhead<TcpStream>>> {
    // Nagle's algorithm would delay interactive streams and small responses.
    if let Err(error) = stream.set_nodelay(true) {
        tracing::debug!(%peer, error = &error as &dyn std::error::Error, "failed to set TCP_NODELAY");
    }
    if let Err(error) = enable_keep_alive(&stream) {
        tracing::debug!(%peer, error = &error as &dyn std::error::Error, "failed to enable TCP keep-alive");
    }
    let accepting = acceptor.accept_with(ReadAhead::new(stream), |connection| {
        connection.set_buffer_limit(Some(TLS_BUFFER));
    });
    match timeout(limits.handshake, accepting).await {
        Ok(Ok(stream)) => Some(stream),
        Ok(Err(error)) => {
            tracing::debug!(%peer, error = &error as &dyn std::error::Error, "TLS handshake failed");
            None
        }
        Err(_) => {
            tracing::debug!(%peer, "timeout in the TLS handshake");
            None
        }
    }
}

impl<S: HttpService> ServeContext<S> {
    /// Serves the protocol that the TLS handshake negotiated (ALPN): HTTP/1.1 or HTTP/2. hyper-util
    /// can detect the protocol from the first bytes of a connection, but without a time limit.
    async fn serve_protocol(
        &self,
        stream: TlsStream<ReadAhead<TcpStream>>,
        peer: SocketAddr,
        slot: &ConnectionSlot,
    ) {
        let (limits, stop) = (self.limits, &self.stop);
        let service = service_fn(move |mut request: http::Request<Incoming>| {
            let client = self.client(peer, request.headers());
            request.extensions_mut().insert(ConnectInfo(client));
            request.extensions_mut().insert(slot.clone());
            answer(self.service.clone(), request.map(body), slot.clone())
        });
        let is_http2 = stream.get_ref().1.alpn_protocol() == Some(b"h2");
        let abandoned = abandoned(slot, limits);
        let result = if is_http2 {
            let stream = TokioIo::new(PrefaceTimeout::new(stream, limits.headers));
            let connection = pin!(http2().serve_connection(stream, service));
            let shut_down = http2::Connection::graceful_shutdown;
            until(connection, shut_down, stop, abandoned).await
        } else {
            let connection = http1(limits).serve_connection(TokioIo::new(stream), service);
            let connection = pin!(connection.with_upgrades());
            let shut_down = http1::UpgradeableConnection::graceful_shutdown;
            until(connection, shut_down, stop, abandoned).await
        };
        match result {
            Some(Ok(())) => {}
            Some(Err(error)) => {
                tracing::debug!(%peer, error = &error as &dyn std::error::Error, "connection ended");
            }
            None => {
                tracing::debug!(%peer, "closed an idle connection without an authenticated request");
            }
        }
    }

    /// Returns the client address of a request. An address from `X-Forwarded-For` has port 0.
    fn client(&self, peer: SocketAddr, headers: &http::HeaderMap) -> SocketAddr {
        let client = self.proxies.forwarded_for.client(peer.ip(), headers);
        let port = if client == peer.ip().to_canonical() {
            peer.port()
        } else {
            0
        };
        SocketAddr::new(client, port)
    }
}

/// Converts the body of a request. An empty body needs no allocation.
fn body(body: Incoming) -> Body {
    if http_body::Body::is_end_stream(&body) {
        Body::empty()
    } else {
        Body::new(body)
    }
}

/// Serves a request. The request is in flight until its response is sent.
async fn answer(
    service: impl HttpService,
    request: http::Request<Body>,
    slot: ConnectionSlot,
) -> Result<http::Response<Tracked>, Infallible> {
    let request_in_flight = slot.activity().begin();
    let serves = slot.purpose() == Purpose::All || AGENT_ROUTES.contains(&request.uri().path());
    let response = if serves {
        service.oneshot(request).await?
    } else {
        let full = "too many connections; the server accepts only agents now";
        Status::unavailable(full, 5).into_response()
    };
    Ok(response.map(|body| Tracked::new(body, request_in_flight)))
}

/// Waits until the connection must be closed: the client is idle, or the agent did not prove its
/// key before the deadline.
async fn abandoned(slot: &ConnectionSlot, limits: Limits) {
    match slot.purpose() {
        Purpose::All => slot.activity().abandoned(limits.idle_timeouts).await,
        Purpose::Agents => sleep(limits.prove).await,
    }
}

/// Serves a connection until its end. Starts a graceful shutdown at `stop` and when the connection
/// is `abandoned`. Returns `None` if an abandoned connection does not end before the deadline.
async fn until<C: Future>(
    mut connection: Pin<&mut C>,
    shut_down: impl Fn(Pin<&mut C>),
    stop: &CancellationToken,
    abandoned: impl Future<Output = ()>,
) -> Option<C::Output> {
    tokio::select! {
        result = connection.as_mut() => return Some(result),
        () = stop.cancelled() => {
            shut_down(connection.as_mut());
            return Some(connection.await);
        }
        () = abandoned => shut_down(connection.as_mut()),
    }
    timeout(SHUTDOWN_TIMEOUT, connection).await.ok()
}

fn http1(limits: Limits) -> http1::Builder {
    let mut builder = http1::Builder::new();
    builder
        .timer(TokioTimer::new())
        .header_read_timeout(limits.headers)
        .max_buf_size(HEADER_BYTES)
        .max_header_size(HEADER_BYTES);
    builder
}

fn http2() -> http2::Builder<TokioExecutor> {
    let mut builder = http2::Builder::new(TokioExecutor::new());
    builder
        .timer(TokioTimer::new())
        .max_concurrent_streams(MAX_STREAMS)
        .initial_stream_window_size(STREAM_WINDOW)
        .initial_connection_window_size(CONNECTION_WINDOW)
        .max_header_list_size(u32::try_from(HEADER_BYTES).unwrap_or(u32::MAX))
        .keep_alive_interval(PING.0)
        .keep_alive_timeout(PING.1)
        .enable_connect_protocol();
    builder
}

#[cfg(test)]
mod tests;
