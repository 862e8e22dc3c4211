//! A tunnel in memory: both ends, joined by a pipe instead of a network.

use std::pin::pin;
use std::sync::Arc;

use bytes::Bytes;
use drover_tunnel::serve::{ServeError, ServeOptions, serve};
use drover_tunnel::tunnel::{Driver, OpenOptions, Tunnel};
use drover_tunnel::ws::{ByteStream, Role};
use drover_tunnel::{BoxError, ClosedReason, Limits, ServerBudget};
use http::{Request, Response};
use hyper::body::Incoming;
use hyper::service::Service;
use tokio::io::{AsyncRead, AsyncWrite, DuplexStream, duplex};
use tokio::sync::watch;
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;

/// How many bytes the pipe between the ends holds.
const PIPE: usize = 256 * 1024;

/// Both ends of an open tunnel.
pub struct TunnelPair {
    /// The server's end.
    pub tunnel: Tunnel,
    /// Ends with the reason when the tunnel is gone.
    pub driver: JoinHandle<ClosedReason>,
    /// The agent's end; ends when serving does.
    pub agent: JoinHandle<Result<(), ServeError>>,
    /// Makes the agent drain and stop.
    pub shutdown: CancellationToken,
    /// While true, nothing comes from the agent, as if the network were cut.
    pub frozen: watch::Sender<bool>,
}

/// The two ends of an in-memory WebSocket: the agent's, then the server's.
pub fn websocket_pair() -> (ByteStream<DuplexStream>, ByteStream<DuplexStream>) {
    let (agent, server) = duplex(PIPE);
    (
        ByteStream::new(agent, Role::Client),
        ByteStream::new(server, Role::Server),
    )
}

/// Options with a budget of their own.
pub fn open_options() -> OpenOptions {
    OpenOptions::new(ServerBudget::new(Limits::SERVER))
}

impl TunnelPair {
    /// Joins a server's end to an agent that answers with `service`.
    ///
    /// # Panics
    /// If the tunnel does not open.
    pub async fn open<Svc, B>(service: Svc) -> Self
    where
        Svc: Service<Request<Incoming>, Response = Response<B>> + Clone + Send + 'static,
        Svc::Future: Send + 'static,
        Svc::Error: Into<BoxError>,
        B: http_body::Body<Data = Bytes> + Send + 'static,
        B::Error: Into<BoxError>,
    {
        Self::open_with(service, open_options(), ServeOptions::default()).await
    }

    /// As [`Self::open`], with options.
    ///
    /// # Panics
    /// If the tunnel does not open.
    pub async fn open_with<Svc, B>(service: Svc, open: OpenOptions, options: ServeOptions) -> Self
    where
        Svc: Service<Request<Incoming>, Response = Response<B>> + Clone + Send + 'static,
        Svc::Future: Send + 'static,
        Svc::Error: Into<BoxError>,
        B: http_body::Body<Data = Bytes> + Send + 'static,
        B::Error: Into<BoxError>,
    {
        let (agent, server) = websocket_pair();
        let shutdown = CancellationToken::new();
        let frozen = watch::Sender::new(false);
        let serving = serve(agent, service, options, shutdown.clone());
        let agent = tokio::spawn(unless_frozen(frozen.subscribe(), serving));
        let (tunnel, driver) = open_end(server, open).await;
        Self {
            tunnel,
            driver,
            agent,
            shutdown,
            frozen,
        }
    }
}

/// Polls `serving` only while it is not frozen.
async fn unless_frozen<T>(
    mut frozen: watch::Receiver<bool>,
    serving: impl Future<Output = T>,
) -> T {
    let mut serving = pin!(serving);
    loop {
        tokio::select! {
            biased;
            Ok(_) = frozen.wait_for(|frozen| *frozen) => {}
            end = &mut serving => return end,
        }
        // Without anybody left who could thaw it, it goes on.
        let _ = frozen.wait_for(|frozen| !*frozen).await;
    }
}

/// Opens the server's end on any stream and spawns its driver.
///
/// # Panics
/// If the tunnel does not open.
pub async fn open_end<S>(stream: S, options: OpenOptions) -> (Tunnel, JoinHandle<ClosedReason>)
where
    S: AsyncRead + AsyncWrite + Unpin + Send + 'static,
{
    let (tunnel, driver): (Tunnel, Driver) = Tunnel::open(stream, options)
        .await
        .expect("the agent serves the other end");
    (tunnel, tokio::spawn(driver))
}

/// A budget that several tunnels of one test share.
pub fn shared_budget(limits: Limits) -> Arc<ServerBudget> {
    ServerBudget::new(limits)
}
