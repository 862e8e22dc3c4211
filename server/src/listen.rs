//! The TLS listener: HTTP/1.1 and HTTP/2 with upgrades, and limits on what strangers can cost.
//!
//! Before anybody has said who they are, a connection may cost one file, some KiB, and
//! bounded time: for the handshake, and for the headers. One network (an IPv4 address or an IPv6
//! /64) gets a part of the connections only. The network is the connection's own: who stands
//! behind a balancer that hides addresses shares the balancer's part.

mod absence;
pub mod address;
pub mod files;
mod place;
mod prompt;
pub mod tls;

use std::net::SocketAddr;
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::body::Body;
use axum::extract::ConnectInfo;
use drover_tunnel::ReadAhead;
use hyper::body::Incoming;
use hyper::server::conn::{http1, http2};
use hyper::service::service_fn;
use hyper_util::rt::{TokioExecutor, TokioIo, TokioTimer};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::Semaphore;
use tokio::time::{sleep, timeout};
use tokio_rustls::TlsAcceptor;
use tokio_rustls::server::TlsStream;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;
use tower::ServiceExt as _;

use self::absence::notice_absence;
pub use self::place::Place;
use self::prompt::Prompt;
use crate::backoff::Backoff;
use crate::networks::Shares;

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

/// What connections may cost.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Longest TLS handshake.
    pub handshake: Duration,
    /// Longest time for the headers of an HTTP/1.1 request, waiting for its first byte included,
    /// and for the preface of an HTTP/2 connection.
    pub headers: Duration,
    /// Connections at once; further ones wait in the system's queue.
    pub connections: usize,
    /// Connections at once from one network; further ones are closed. Agents that have proved
    /// themselves do not count.
    pub per_network: usize,
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
        drain: Duration::from_secs(10),
    };
}

/// Serves `router` on `listener` until `stop`, then lets what is under way end.
///
/// Each request carries its peer's address as the extension [`ConnectInfo`]`<`[`SocketAddr`]`>`,
/// and its connection's [`Place`].
pub async fn serve(
    listener: TcpListener,
    tls: Arc<rustls::ServerConfig>,
    router: Router,
    limits: Limits,
    stop: CancellationToken,
) {
    let connections = TaskTracker::new();
    let places = Arc::new(Semaphore::new(limits.connections));
    let shares = Shares::new(limits.connections, limits.per_network);
    let acceptor = TlsAcceptor::from(tls);
    let mut backoff = Backoff::new(Duration::from_millis(50), Duration::from_secs(1));
    let accepting = async {
        // The semaphore is never closed, so this ends only with the future.
        while let Ok(of_all) = Arc::clone(&places).acquire_owned().await {
            let (stream, peer) = accept(&listener, &mut backoff).await;
            let Some(share) = shares.take(peer.ip()) else {
                tracing::debug!(%peer, "closed: too many connections from this network");
                continue;
            };
            let place = Place::new(share);
            let (acceptor, router, stop) = (acceptor.clone(), router.clone(), stop.clone());
            connections.spawn(async move {
                if let Some(stream) = shake_hands(&acceptor, stream, peer, limits).await {
                    converse(stream, (peer, &place), router, limits, &stop).await;
                }
                place.release();
                drop(of_all);
            });
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

/// The version is what TLS agreed on: hyper-util's guess from the first bytes waits for them
/// without a limit.
async fn converse(
    stream: TlsStream<ReadAhead<TcpStream>>,
    (peer, place): (SocketAddr, &Place),
    router: Router,
    limits: Limits,
    stop: &CancellationToken,
) {
    let service = service_fn(move |mut request: http::Request<Incoming>| {
        request.extensions_mut().insert(ConnectInfo(peer));
        request.extensions_mut().insert(place.clone());
        router.clone().oneshot(request.map(Body::new))
    });
    let is_http2 = stream.get_ref().1.alpn_protocol() == Some(b"h2");
    let result = if is_http2 {
        let stream = TokioIo::new(Prompt::new(stream, limits.headers));
        let connection = pin!(http2().serve_connection(stream, service));
        until(connection, http2::Connection::graceful_shutdown, stop).await
    } else {
        let connection = http1(limits).serve_connection(TokioIo::new(stream), service);
        let connection = pin!(connection.with_upgrades());
        until(
            connection,
            http1::UpgradeableConnection::graceful_shutdown,
            stop,
        )
        .await
    };
    if let Err(error) = result {
        tracing::debug!(%peer, error = &error as &dyn std::error::Error, "connection ended");
    }
}

/// Drives a connection to its end, which it is asked to come to at `stop`.
async fn until<C: Future>(
    mut connection: Pin<&mut C>,
    shut_down: impl Fn(Pin<&mut C>),
    stop: &CancellationToken,
) -> C::Output {
    tokio::select! {
        result = connection.as_mut() => result,
        () = stop.cancelled() => {
            shut_down(connection.as_mut());
            connection.await
        }
    }
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
