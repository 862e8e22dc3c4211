//! The server's end: requests go out on the connection the agent opened.

mod body;
mod driver;
mod error;
mod keepalive;
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
use parking_lot::Mutex;
use tokio::sync::{mpsc, oneshot, watch};
use tokio_util::sync::CancellationToken;

use crate::BoxError;
use crate::budget::TunnelBudget;
use sweep::Registry;

/// What all clones of a [`Tunnel`], its streams and its driver share.
#[derive(Debug)]
struct Shared {
    budget: Arc<TunnelBudget>,
    traffic: Arc<Traffic>,
    registry: Arc<Registry>,
    /// [`OpenOptions::renew_after`].
    renew_after: u32,
    /// Cancelled once so many requests were sent: no more are taken, and the tunnel closes soon.
    spent: CancellationToken,
    /// Set once, by the driver, when the tunnel is gone.
    closed: watch::Sender<Option<ClosedReason>>,
    /// Why the server wants the tunnel closed; read by the driver.
    close: watch::Sender<Option<Arc<str>>>,
    /// Requests for a ping, answered by the driver with the round trip's time.
    probes: mpsc::Sender<oneshot::Sender<Duration>>,
    last_round_trip: Arc<Mutex<Option<Duration>>>,
}

/// The server's handle of one agent's tunnel. Clones share the tunnel; once all clones are
/// gone and the last request has ended, the tunnel closes.
///
/// It is a [`tower::Service`], so a Kubernetes client can run on it.
#[derive(Clone)]
pub struct Tunnel {
    h2: h2::client::SendRequest<Bytes>,
    shared: Arc<Shared>,
}

/// What a tunnel is doing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Stats {
    /// Requests under way.
    pub open_streams: usize,
    /// Bytes received and not yet read by users, as of the last sweep.
    pub buffered_bytes: usize,
    /// Bytes received from the agent, HTTP/2 frames included.
    pub bytes_in: u64,
    /// Bytes sent to the agent, HTTP/2 frames included.
    pub bytes_out: u64,
    /// Streams reset because their user did not read for too long.
    pub stalled_streams: u64,
    /// Streams reset because the tunnel or the server held too many bytes.
    pub shed_streams: u64,
    /// The last ping's time there and back.
    pub round_trip: Option<Duration>,
}

/// Whether a tunnel takes requests.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum State {
    /// Requests may be sent.
    Open,
    /// No more requests are taken, because the agent asked for that or the tunnel is to be
    /// renewed; those under way run on.
    Draining,
    /// The tunnel is gone.
    Closed(ClosedReason),
}

impl Tunnel {
    /// Whether requests may be sent.
    pub fn state(&self) -> State {
        if let Some(reason) = &*self.shared.closed.borrow() {
            return State::Closed(reason.clone());
        }
        if self.shared.spent.is_cancelled() {
            return State::Draining;
        }
        let mut context = Context::from_waker(std::task::Waker::noop());
        match self.h2.clone().poll_ready(&mut context) {
            Poll::Ready(Err(_)) => State::Draining,
            _ => State::Open,
        }
    }

    /// Resolves with the reason once the tunnel is gone.
    pub async fn closed(&self) -> ClosedReason {
        self.shared.closed_reason().await
    }

    /// Closes the tunnel and everything on it, for `reason`, which its users will read.
    pub fn close(&self, reason: impl Into<Arc<str>>) {
        self.shared.close.send_if_modified(|current| {
            let first = current.is_none();
            if first {
                *current = Some(reason.into());
            }
            first
        });
    }

    /// Counts since the tunnel opened.
    pub fn stats(&self) -> Stats {
        let shared = &self.shared;
        Stats {
            open_streams: shared.budget.streams(),
            buffered_bytes: shared.budget.buffered(),
            bytes_in: shared.traffic.bytes_in(),
            bytes_out: shared.traffic.bytes_out(),
            stalled_streams: shared.registry.stalled(),
            shed_streams: shared.registry.shed(),
            round_trip: *shared.last_round_trip.lock(),
        }
    }

    /// Asks the agent's end for a sign of life and returns the time there and back.
    ///
    /// Fails when the tunnel closes first. A lost ping closes the tunnel after
    /// [`Keepalive`](crate::Keepalive)'s interval and timeout, so this never waits longer.
    pub async fn ping(&self) -> Result<Duration, ClosedReason> {
        let (answer, answered) = oneshot::channel();
        if self.shared.probes.send(answer).await.is_ok()
            && let Ok(round_trip) = answered.await
        {
            return Ok(round_trip);
        }
        Err(self.closed().await)
    }
}

impl Shared {
    async fn closed_reason(&self) -> ClosedReason {
        let mut closed = self.closed.subscribe();
        let reason = closed.wait_for(Option::is_some).await;
        reason
            .ok()
            .and_then(|reason| reason.clone())
            .unwrap_or(ClosedReason::Dropped)
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

    /// Always ready: a tunnel that can take no more refuses in the future's answer.
    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), SendError>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: Request<B>) -> Self::Future {
        let tunnel = self.clone();
        Box::pin(async move { tunnel.send(request).await })
    }
}
