//! The TLS listener: HTTP/1.1 and HTTP/2 with upgrades, and limits on what strangers can cost.
//!
//! Before anybody has said who they are, a connection may cost one file, some KiB, and
//! bounded time: for the handshake, and for the headers. One network (an IPv4 address or an IPv6
//! /64) gets a part of the connections only, and so do wider networks. The network is the
//! connection's own: who stands behind a balancer that hides addresses shares the balancer's part.
//!
//! The listener accepts for ever: a connection that gets no place is closed at once. Some places are
//! for agents only.

mod absence;
mod activity;
pub mod address;
pub mod files;
mod place;
mod prompt;
pub mod proxied;

use std::convert::Infallible;
use std::net::SocketAddr;
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::body::Body;
use axum::extract::ConnectInfo;
use axum::response::{IntoResponse as _, Response};
use drover_tunnel::ReadAhead;
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
use tower::ServiceExt as _;

use self::absence::notice_absence;
pub use self::activity::Patience;
use self::activity::Tracked;
pub use self::place::Place;
use self::place::{Places, Purpose};
use self::prompt::Prompt;
use crate::networks::TrustedProxies;
use crate::status::Status;
use drover_entropy::backoff::Backoff;

/// Largest header section of a request; client-go sends long tokens and group lists.
pub const HEADER_BYTES: usize = 256 * 1024;
/// Requests at once on one HTTP/2 connection.
const STREAMS: u32 = 250;
/// What a client may send on one HTTP/2 stream before somebody reads it.
const STREAM_WINDOW: u32 = 256 * 1024;
/// The same for all streams of a connection.
const CONNECTION_WINDOW: u32 = 16 * 1024 * 1024;
/// How often a silent HTTP/2 connection is asked whether it lives, and how long it may think.
const PING: (Duration, Duration) = (Duration::from_secs(30), Duration::from_secs(20));

/// Connections at once of trusted proxies that have not named their clients yet.
const UNNAMED: usize = 4096;
/// Time for a connection to end after it was asked to.
const GOODBYE: Duration = Duration::from_secs(5);
/// Routes of the connections that are reserved for agents.
const OF_AGENTS: [&str; 5] = [
    "/v1/agent/register",
    "/v1/agent/challenge",
    "/v1/connect",
    // Kubernetes restarts a server whose probes fail, which would end every tunnel.
    "/livez",
    "/readyz",
];

/// What connections may cost.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Longest TLS handshake.
    pub handshake: Duration,
    /// Longest time for the headers of an HTTP/1.1 request, waiting for its first byte included,
    /// and for the preface of an HTTP/2 connection.
    pub headers: Duration,
    /// Connections at once; further ones are for agents only. Agents that have proved themselves do
    /// not count.
    pub connections: usize,
    /// Connections at once from one network; further ones are for agents only.
    pub per_network: usize,
    /// Connections at once that are for agents only, half of them for networks from which agents
    /// have proved themselves; further ones are closed.
    pub agents: usize,
    /// The same from one network, of either half.
    pub agents_per_network: usize,
    /// How long an agent may take to prove itself on such a connection.
    pub prove: Duration,
    /// How long connections on which nobody is signed in may stay open.
    pub patience: Patience,
    /// How long requests in flight may go on when the server ends.
    pub drain: Duration,
}

impl Limits {
    /// Those of the server.
    pub const SERVER: Self = Self {
        handshake: Duration::from_secs(10),
        headers: Duration::from_secs(30),
        connections: 20_000,
        per_network: 1_000,
        agents: 2_000,
        agents_per_network: 50,
        prove: Duration::from_secs(20),
        patience: Patience {
            idle: Duration::from_mins(1),
            stalled: Duration::from_mins(15),
        },
        drain: Duration::from_secs(10),
    };
}

/// Who may name the client that they speak for; nobody by default.
#[derive(Clone, Debug, Default)]
pub struct Proxies {
    /// By `X-Forwarded-For` in a request.
    pub forwarded_for: TrustedProxies,
    /// By a header of the PROXY protocol, version 2, at the beginning of a connection.
    pub proxy_protocol: TrustedProxies,
}

/// What each connection is served with.
struct Serving {
    acceptor: TlsAcceptor,
    router: Router,
    limits: Limits,
    proxies: Proxies,
    places: Places,
    stop: CancellationToken,
}

/// Serves `router` on `listener` until `stop`, then lets what is under way end.
///
/// Each request carries its client's address as the extension [`ConnectInfo`]`<`[`SocketAddr`]`>`,
/// and its connection's [`Place`]. The client is the peer, or whom a trusted proxy names; the port is
/// 0 where `X-Forwarded-For` names the client.
pub async fn serve(
    listener: TcpListener,
    tls: Arc<rustls::ServerConfig>,
    router: Router,
    limits: Limits,
    proxies: Proxies,
    stop: CancellationToken,
) {
    let connections = TaskTracker::new();
    let serving = Arc::new(Serving {
        acceptor: TlsAcceptor::from(tls),
        router,
        limits,
        proxies,
        places: Places::new(limits),
        stop: stop.clone(),
    });
    let unnamed = Arc::new(Semaphore::new(UNNAMED));
    let mut backoff = Backoff::new(Duration::from_millis(50), Duration::from_secs(1));
    let accepting = async {
        loop {
            let (stream, peer) = accept(&listener, &mut backoff).await;
            let serving = Arc::clone(&serving);
            if !serving.proxies.proxy_protocol.contains(peer.ip()) {
                if let Some(place) = serving.place(peer) {
                    connections.spawn(async move { serving.serve(stream, peer, place).await });
                }
            } else if let Ok(waiting) = Arc::clone(&unnamed).try_acquire_owned() {
                connections
                    .spawn(async move { serving.serve_proxied(stream, peer, waiting).await });
            } else {
                tracing::debug!(%peer, "closed: too many connections without a PROXY header");
            }
        }
    };
    stop.run_until_cancelled(accepting).await;
    drop(listener);
    connections.close();
    if timeout(limits.drain, connections.wait()).await.is_err() {
        tracing::info!(
            open = connections.len(),
            "ending with connections still open"
        );
    }
}

/// The next connection; errors such as too many open files pass with time.
async fn accept(listener: &TcpListener, backoff: &mut Backoff) -> (TcpStream, SocketAddr) {
    loop {
        match listener.accept().await {
            Ok(accepted) => {
                backoff.reset();
                return accepted;
            }
            Err(error) => {
                tracing::warn!(error = &error as &dyn std::error::Error, "cannot accept");
                sleep(backoff.next_delay()).await;
            }
        }
    }
}

impl Serving {
    fn place(&self, client: SocketAddr) -> Option<Place> {
        let is_proxy = self.proxies.forwarded_for.contains(client.ip());
        let place = self.places.take(client.ip(), is_proxy);
        if place.is_none() {
            tracing::debug!(%client, "closed: too many connections");
        }
        place
    }

    /// A connection of a trusted proxy, which names its client first.
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
                if let Some(place) = self.place(client) {
                    self.serve(stream, client, place).await;
                }
            }
            Ok(Err(error)) => {
                tracing::debug!(%peer, error = &error as &dyn std::error::Error, "PROXY header");
            }
            Err(_) => tracing::debug!(%peer, "the PROXY header took too long"),
        }
    }

    async fn serve(&self, stream: TcpStream, client: SocketAddr, place: Place) {
        if let Some(stream) = shake_hands(&self.acceptor, stream, client, self.limits).await {
            self.converse(stream, client, &place).await;
        }
        place.release();
    }
}

async fn shake_hands(
    acceptor: &TlsAcceptor,
    stream: TcpStream,
    peer: SocketAddr,
    limits: Limits,
) -> Option<TlsStream<ReadAhead<TcpStream>>> {
    // Interactive streams and small answers must not wait for more bytes.
    if let Err(error) = stream.set_nodelay(true) {
        tracing::debug!(%peer, error = &error as &dyn std::error::Error, "no TCP_NODELAY");
    }
    if let Err(error) = notice_absence(&stream) {
        tracing::debug!(%peer, error = &error as &dyn std::error::Error, "no TCP keepalive");
    }
    match timeout(limits.handshake, acceptor.accept(ReadAhead::new(stream))).await {
        Ok(Ok(stream)) => Some(stream),
        Ok(Err(error)) => {
            tracing::debug!(%peer, error = &error as &dyn std::error::Error, "TLS handshake");
            None
        }
        Err(_) => {
            tracing::debug!(%peer, "the TLS handshake took too long");
            None
        }
    }
}

impl Serving {
    /// The version is what TLS agreed on: hyper-util's guess from the first bytes waits for them
    /// without a limit.
    async fn converse(
        &self,
        stream: TlsStream<ReadAhead<TcpStream>>,
        peer: SocketAddr,
        place: &Place,
    ) {
        let (limits, stop) = (self.limits, &self.stop);
        let service = service_fn(move |mut request: http::Request<Incoming>| {
            let client = self.client(peer, request.headers());
            request.extensions_mut().insert(ConnectInfo(client));
            request.extensions_mut().insert(place.clone());
            answer(self.router.clone(), request.map(Body::new), place.clone())
        });
        let is_http2 = stream.get_ref().1.alpn_protocol() == Some(b"h2");
        let abandoned = abandoned(place, limits);
        let result = if is_http2 {
            let stream = TokioIo::new(Prompt::new(stream, limits.headers));
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
            None => tracing::debug!(%peer, "connection closed: nobody is signed in on it"),
        }
    }

    /// The client of a request; a proxy names it without a port.
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

/// Answers a request, which is in flight until its answer is sent.
async fn answer(
    router: Router,
    request: http::Request<Body>,
    place: Place,
) -> Result<Response, Infallible> {
    let request_in_flight = place.activity().begin();
    let serves = place.purpose() == Purpose::All || OF_AGENTS.contains(&request.uri().path());
    let response = if serves {
        router.oneshot(request).await?
    } else {
        let full = "the server serves connected agents and users only: too many connections";
        Status::unavailable(full, 5).into_response()
    };
    Ok(response.map(|body| Body::new(Tracked::new(body, request_in_flight))))
}

/// Returns when a connection is to be closed because of what its client does not do.
async fn abandoned(place: &Place, limits: Limits) {
    match place.purpose() {
        Purpose::All => place.activity().abandoned(limits.patience).await,
        Purpose::Agents => sleep(limits.prove).await,
    }
}

/// Drives a connection to its end, which it is asked to come to at `stop` and when it is `abandoned`;
/// `None` if an abandoned connection does not end in time.
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
    timeout(GOODBYE, connection).await.ok()
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
        .max_concurrent_streams(STREAMS)
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
