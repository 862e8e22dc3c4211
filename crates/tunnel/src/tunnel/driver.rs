//! What keeps a tunnel moving, and says how it ended.

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

/// How long requests under way may take to end before the tunnel is renewed. The agent dials
/// again only afterwards, and may be the cluster's only replica.
const DRAIN: Duration = Duration::from_secs(10);
/// How often is looked whether they have.
const DRAIN_LOOK: Duration = Duration::from_millis(100);

/// A tunnel's engine: spawn it. It resolves with the reason when the tunnel is gone.
#[must_use = "a tunnel moves only while its driver is polled"]
pub struct Driver(Pin<Box<dyn Future<Output = ClosedReason> + Send>>);

pub(super) struct Parts<S> {
    pub(super) connection: Connection<S, Bytes>,
    pub(super) prober: Prober,
    pub(super) sweep_every: Duration,
    pub(super) shared: Arc<Shared>,
}

impl Driver {
    pub(super) fn new<S>(parts: Parts<S>) -> Self
    where
        S: AsyncRead + AsyncWrite + Unpin + Send + 'static,
    {
        let guard = Guard(Arc::clone(&parts.shared));
        Self(Box::pin(async move {
            let reason = drive(parts).await;
            guard.close(reason.clone());
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

async fn drive<S>(parts: Parts<S>) -> ClosedReason
where
    S: AsyncRead + AsyncWrite + Unpin + Send + 'static,
{
    let Parts {
        mut connection,
        prober,
        sweep_every,
        shared,
    } = parts;
    let mut close = shared.close.subscribe();
    tokio::select! {
        biased;
        ended = &mut connection => match ended {
            Err(error) => ClosedReason::of(error),
            // The driver's are the only hands left: everyone else let go.
            Ok(()) if Arc::strong_count(&shared) <= 2 => ClosedReason::Dropped,
            Ok(()) => ClosedReason::ByAgent,
        },
        Ok(reason) = close.wait_for(Option::is_some) => {
            reason.clone().map_or(ClosedReason::Dropped, ClosedReason::ByServer)
        }
        () = spent(&shared) => ClosedReason::ByServer(
            "the tunnel has numbered as many requests as it can; the agent dials again".into(),
        ),
        reason = prober.run() => reason,
        () = sweep(&shared, sweep_every) => ClosedReason::Dropped,
    }
}

/// Resolves when the tunnel can number no more requests and those under way have ended, or had
/// [`DRAIN`] to end. Whatever remains then would not end by itself, as watches do not.
async fn spent(shared: &Shared) {
    shared.spent.cancelled().await;
    let ended = async {
        while shared.budget.streams() > 0 {
            tokio::time::sleep(DRAIN_LOOK).await;
        }
    };
    // Over either way.
    let _ = tokio::time::timeout(DRAIN, ended).await;
}

/// Never ends.
async fn sweep(shared: &Shared, every: Duration) {
    let mut ticks = tokio::time::interval(every);
    ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    loop {
        ticks.tick().await;
        shared.registry.sweep(&shared.budget);
    }
}

/// Whatever ends the driver, even being dropped, closes the tunnel for its handles.
struct Guard(Arc<Shared>);

impl Guard {
    fn close(&self, reason: ClosedReason) {
        self.0.closed.send_if_modified(|closed| {
            let first = closed.is_none();
            if first {
                *closed = Some(reason);
            }
            first
        });
    }
}

impl Drop for Guard {
    fn drop(&mut self) {
        self.close(ClosedReason::Dropped);
        self.0.budget.close();
    }
}
