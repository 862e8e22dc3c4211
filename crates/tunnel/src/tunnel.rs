//! The server's end of a tunnel: an HTTP/2 client on the agent's connection.

mod body;
mod driver;
mod error;
mod keepalive;
mod latch;
mod meter;
mod open;
mod pipe;
mod send;
mod stream;
mod sweep;

pub use body::Body;
pub use driver::Driver;
pub use error::{AbortReason, BodyError, ClosedReason, OpenError, SendError};
pub(crate) use meter::Metered;
pub use meter::Traffic;
pub use open::OpenOptions;
pub use send::{Connected, HeadTimeout};
pub use stream::TunnelStream;

use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use bytes::Bytes;
use http::{Request, Response};
use tokio_util::sync::CancellationToken;

use crate::BoxError;
use crate::budget::TunnelBudget;
use keepalive::Pings;
use latch::Latch;
use sweep::Registry;

/// The state that all clones of a [`Tunnel`], the tunnel's streams and its driver share.
#[derive(Debug)]
struct Shared {
    budget: Arc<TunnelBudget>,
    traffic: Arc<Traffic>,
    registry: Arc<Registry>,
    /// Number of requests after which the server renews the tunnel; see
    /// [`OpenOptions::renew_after`].
    renew_after: u32,
    /// Token that is cancelled after `renew_after` requests. The tunnel then rejects new requests
    /// and closes.
    exhausted: CancellationToken,
    /// Reason why the tunnel closed. The driver sets the reason once.
    closed: Latch<ClosedReason>,
    /// Reason why the server closes the tunnel. The driver reads the reason.
    close: Latch<Arc<str>>,
    pings: Pings,
}

/// The server's handle of an agent's tunnel. Clones share the tunnel. The tunnel closes after all
/// clones are dropped and the last request has ended.
///
/// Implements [`tower::Service`], so that a Kubernetes client can use the handle as its transport.
#[derive(Clone)]
pub struct Tunnel {
    h2: h2::client::SendRequest<Bytes>,
    shared: Arc<Shared>,
}

/// Statistics of a tunnel.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Stats {
    /// Number of running requests.
    pub open_streams: usize,
    /// Number of received bytes that the readers of the streams had not read at the last sweep.
    pub buffered_bytes: usize,
    /// Number of bytes received from the agent, including HTTP/2 frames.
    pub bytes_in: u64,
    /// Number of bytes sent to the agent, including HTTP/2 frames.
    pub bytes_out: u64,
    /// Number of streams that were reset because the user stopped reading.
    pub stalled_streams: u64,
    /// Number of streams that were reset because the tunnel or the server buffered too many bytes.
    pub shed_streams: u64,
    /// Round-trip time of the most recent ping.
    pub round_trip: Option<Duration>,
}

/// State of a tunnel.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum State {
    /// The tunnel accepts requests.
    Open,
    /// The tunnel rejects new requests, because the agent shuts down or the tunnel is renewed.
    /// Running requests continue.
    Draining,
    /// The tunnel is closed.
    Closed(ClosedReason),
}

impl Tunnel {
    /// Returns the state of the tunnel.
    pub fn state(&self) -> State {
        if let Some(reason) = self.shared.closed.get() {
            return State::Closed(reason.clone());
        }
        if self.shared.exhausted.is_cancelled() {
            return State::Draining;
        }
        let mut context = Context::from_waker(std::task::Waker::noop());
        match self.h2.clone().poll_ready(&mut context) {
            Poll::Ready(Err(_)) => State::Draining,
            _ => State::Open,
        }
    }

    /// Resolves with the reason when the tunnel has closed.
    pub async fn closed(&self) -> ClosedReason {
        self.shared.closed.wait().await.clone()
    }

    /// Closes the tunnel and all its streams. The errors of the users' requests contain `reason`.
    pub fn close(&self, reason: impl Into<Arc<str>>) {
        self.shared.close.set(reason.into());
    }

    /// Returns the number of running requests.
    pub fn open_streams(&self) -> usize {
        self.shared.budget.streams()
    }

    /// Returns the statistics of the tunnel since the tunnel opened.
    pub fn stats(&self) -> Stats {
        let shared = &self.shared;
        Stats {
            open_streams: self.open_streams(),
            buffered_bytes: shared.budget.buffered(),
            bytes_in: shared.traffic.bytes_in(),
            bytes_out: shared.traffic.bytes_out(),
            stalled_streams: shared.registry.stalled(),
            shed_streams: shared.registry.shed(),
            round_trip: shared.pings.round_trip(),
        }
    }

    /// Sends a ping to the agent and returns the round-trip time. Returns an error if the tunnel
    /// closes first.
    ///
    /// The duration is limited, because an unanswered ping closes the tunnel after the interval and
    /// timeout of [`Keepalive`](crate::Keepalive). A call during a ping waits for the next ping.
    pub async fn ping(&self) -> Result<Duration, ClosedReason> {
        tokio::select! {
            biased;
            reason = self.shared.closed.wait() => Err(reason.clone()),
            round_trip = self.shared.pings.request() => Ok(round_trip),
        }
    }
}

impl fmt::Debug for Tunnel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Tunnel")
            .field("stats", &self.stats())
            .finish_non_exhaustive()
    }
}

impl<B> tower::Service<Request<B>> for Tunnel
where
    B: http_body::Body + Send + 'static,
    B::Data: Send,
    B::Error: Into<BoxError>,
{
    type Response = Response<Body>;
    type Error = SendError;
    type Future = Pin<Box<dyn Future<Output = Result<Response<Body>, SendError>> + Send>>;

    /// Always returns ready. If the tunnel has reached its limit, the future of the request returns
    /// the error.
    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), SendError>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: Request<B>) -> Self::Future {
        let tunnel = self.clone();
        Box::pin(async move { tunnel.send(request).await })
    }
}
