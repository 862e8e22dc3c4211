//! Sends keepalive pings to a silent agent, and pings on request.

use std::sync::Arc;
use std::time::Duration;

use h2::{Ping, PingPong};
use parking_lot::Mutex;
use tokio::sync::{mpsc, oneshot};
use tokio::time::{Instant, timeout};

use super::error::ClosedReason;
use super::meter::Traffic;
use crate::Keepalive;

/// Sender of the channel that returns the round-trip time of a requested ping.
pub(super) type Probe = oneshot::Sender<Duration>;

/// State of the task that sends pings to the agent: after an interval without received bytes, and
/// on request.
pub(super) struct Prober {
    pub(super) ping_pong: PingPong,
    pub(super) options: Keepalive,
    pub(super) traffic: Arc<Traffic>,
    pub(super) probes: mpsc::Receiver<Probe>,
    pub(super) last_round_trip: Arc<Mutex<Option<Duration>>>,
}

impl Prober {
    /// Runs until a ping remains unanswered or the connection ends.
    pub(super) async fn run(mut self) -> ClosedReason {
        loop {
            let received = self.traffic.bytes_in();
            let asked = timeout(self.options.interval, self.probes.recv()).await;
            let skip = match &asked {
                Ok(probe) => probe.as_ref().is_some_and(oneshot::Sender::is_closed),
                Err(_) => self.traffic.bytes_in() != received,
            };
            if skip {
                continue;
            }
            // A requested ping may follow directly after received bytes. Its timeout includes the
            // interval, so that a request does not shorten the allowed silence.
            let limit = match asked {
                Ok(_) => self.options.interval + self.options.timeout,
                Err(_) => self.options.timeout,
            };
            let started = Instant::now();
            match timeout(limit, self.ping_pong.ping(Ping::opaque())).await {
                Err(_) => return ClosedReason::KeepaliveTimeout,
                Ok(Err(error)) => return ClosedReason::of(error),
                Ok(Ok(_)) => {}
            }
            let round_trip = started.elapsed();
            *self.last_round_trip.lock() = Some(round_trip);
            if let Ok(Some(probe)) = asked {
                // The caller may have stopped waiting.
                let _ = probe.send(round_trip);
            }
        }
    }
}
