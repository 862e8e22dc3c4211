//! Task that drives a tunnel and reports why the tunnel closed.

use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use bytes::Bytes;
use h2::client::Connection;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::time::MissedTickBehavior;

use super::Shared;
use super::error::ClosedReason;
use super::keepalive::Prober;

/// Maximum duration for which running requests delay the renewal of a tunnel. The agent can be the
/// only replica of its cluster, and reconnects only after this delay.
const DRAIN: Duration = Duration::from_secs(10);
/// Interval of the checks for running requests during a drain.
const DRAIN_CHECK_INTERVAL: Duration = Duration::from_millis(100);

/// Future that drives a tunnel. Spawn the future as a task. Resolves with the reason when the
/// tunnel closes.
#[must_use = "a tunnel moves only while its driver is polled"]
pub struct Driver(Pin<Box<dyn Future<Output = ClosedReason> + Send>>);

pub(super) struct Parts<S> {
    /// Boxed, because the future of the driver contains several copies of its parts.
    pub(super) connection: Box<Connection<S, Bytes>>,
    pub(super) prober: Prober,
    pub(super) sweep_every: Duration,
    pub(super) shared: Arc<Shared>,
}

impl Driver {
    pub(super) fn new<S>(mut parts: Parts<S>) -> Self
    where
        S: AsyncRead + AsyncWrite + Unpin + Send + 'static,
    {
        let guard = Guard(Arc::clone(&parts.shared));
        Self(Box::pin(async move {
            let reason = drive(&mut parts).await;
            // The connection closes before tasks continue that wait for the end of the tunnel.
            drop(parts);
            guard.0.closed.set(reason.clone());
            reason
        }))
    }
}

impl Future for Driver {
    type Output = ClosedReason;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<ClosedReason> {
        self.0.as_mut().poll(cx)
    }
}

impl std::fmt::Debug for Driver {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Driver")
    }
}

async fn drive<S>(parts: &mut Parts<S>) -> ClosedReason
where
    S: AsyncRead + AsyncWrite + Unpin + Send + 'static,
{
    let Parts {
        connection,
        prober,
        sweep_every,
        shared,
    } = parts;
    tokio::select! {
        biased;
        ended = connection => match ended {
            Err(error) => ClosedReason::of(error),
            // Only the driver still has references: all handles and streams were dropped.
            Ok(()) if Arc::strong_count(shared) <= 2 => ClosedReason::Dropped,
            Ok(()) => ClosedReason::ByAgent,
        },
        reason = shared.close.wait() => ClosedReason::ByServer(Arc::clone(reason)),
        () = exhausted(shared) => ClosedReason::ByServer(
            "the tunnel reached its maximum number of requests; the agent reconnects".into(),
        ),
        reason = prober.run(shared) => reason,
        () = sweep(shared, *sweep_every) => ClosedReason::Dropped,
    }
}

/// Resolves when the tunnel can be renewed: all stream IDs are used, and the running requests have
/// ended or [`DRAIN`] has passed. Long requests, such as watches, do not end by themselves.
async fn exhausted(shared: &Shared) {
    shared.exhausted.cancelled().await;
    let ended = async {
        while shared.budget.streams() > 0 {
            tokio::time::sleep(DRAIN_CHECK_INTERVAL).await;
        }
    };
    // The tunnel closes after the drain with or without running requests.
    let _ = tokio::time::timeout(DRAIN, ended).await;
}

/// Sweeps all streams of the tunnel at a fixed interval, until the future is dropped.
async fn sweep(shared: &Shared, every: Duration) {
    let mut ticks = tokio::time::interval(every);
    ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    loop {
        ticks.tick().await;
        shared.registry.sweep(&shared.budget);
    }
}

/// Marks the tunnel as closed when the driver ends or is dropped.
struct Guard(Arc<Shared>);

impl Drop for Guard {
    fn drop(&mut self) {
        self.0.closed.set(ClosedReason::Dropped);
        self.0.budget.close();
    }
}
