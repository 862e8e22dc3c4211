//! An in-memory tunnel. A pipe connects the agent's end and the server's end.

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

/// Capacity of the in-memory pipe, in bytes.
const PIPE_CAPACITY: usize = 256 * 1024;

/// Both ends of an open tunnel.
pub struct TunnelPair {
    /// The server's end of the tunnel.
    pub tunnel: Tunnel,
    /// Completes with the reason when the tunnel is closed.
    pub driver: JoinHandle<ClosedReason>,
    /// Task that serves the agent's end of the tunnel.
    pub agent: JoinHandle<Result<(), ServeError>>,
    /// Token whose cancellation drains and stops the agent.
    pub shutdown: CancellationToken,
    /// While the value is true, the agent sends no data. Simulates a network failure.
    pub frozen: watch::Sender<bool>,
}

/// Returns both ends of an in-memory WebSocket: first the agent's end, then the server's end.
pub fn websocket_pair() -> (ByteStream<DuplexStream>, ByteStream<DuplexStream>) {
    let (agent, server) = duplex(PIPE_CAPACITY);
    (
        ByteStream::new(agent, Role::Client),
        ByteStream::new(server, Role::Server),
    )
}

/// Returns default options with a budget that no other tunnel shares.
pub fn open_options() -> OpenOptions {
    OpenOptions::new(ServerBudget::new(Limits::SERVER))
}

impl TunnelPair {
    /// Connects a server's end to an agent that serves requests with `service`.
    ///
    /// # Panics
    /// Panics if the tunnel does not open.
    pub async fn open<Svc, B>(service: Svc) -> Self
    where
        Svc: Service<Request<Incoming>, Response = Response<B>> + Clone + Send + 'static,
        Svc::Future: Send + 'static,
        Svc::Error: Into<BoxError>,
        B: http_body::Body<Data = Bytes> + Unpin + Send + 'static,
        B::Error: Into<BoxError>,
    {
        Self::open_with(service, open_options(), ServeOptions::default()).await
    }

    /// Connects a server's end to an agent like [`Self::open`], with these options.
    ///
    /// # Panics
    /// Panics if the tunnel does not open.
    pub async fn open_with<Svc, B>(service: Svc, open: OpenOptions, options: ServeOptions) -> Self
    where
        Svc: Service<Request<Incoming>, Response = Response<B>> + Clone + Send + 'static,
        Svc::Future: Send + 'static,
        Svc::Error: Into<BoxError>,
        B: http_body::Body<Data = Bytes> + Unpin + Send + 'static,
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

/// Polls `serving` only while `frozen` is false.
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
        // Without a sender the state cannot change: continue.
        if frozen.wait_for(|frozen| !*frozen).await.is_err() {
            return serving.await;
        }
    }
}

/// Opens the server's end on any stream and spawns its driver.
///
/// # Panics
/// Panics if the tunnel does not open.
pub async fn open_end<S>(stream: S, options: OpenOptions) -> (Tunnel, JoinHandle<ClosedReason>)
where
    S: AsyncRead + AsyncWrite + Unpin + Send + 'static,
{
    let (tunnel, driver): (Tunnel, Driver) = Tunnel::open(stream, options)
        .await
        .expect("the agent serves the other end");
    (tunnel, tokio::spawn(driver))
}

/// Returns a budget for several tunnels of a test.
pub fn shared_budget(limits: Limits) -> Arc<ServerBudget> {
    ServerBudget::new(limits)
}
