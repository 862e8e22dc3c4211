//! Signs of life: pings after silence and on demand.

use std::sync::Arc;
use std::time::Duration;

use h2::{Ping, PingPong};
use parking_lot::Mutex;
use tokio::sync::{mpsc, oneshot};
use tokio::time::{Instant, timeout};

use super::error::ClosedReason;
use super::meter::Traffic;
use crate::Keepalive;

/// Who asks for a ping gets its time there and back.
pub(super) type Probe = oneshot::Sender<Duration>;

/// Pings an agent that was silent for an interval, and whenever someone asks.
pub(super) struct Prober {
    pub(super) ping_pong: PingPong,
    pub(super) options: Keepalive,
    pub(super) traffic: Arc<Traffic>,
    pub(super) probes: mpsc::Receiver<Probe>,
    pub(super) last_round_trip: Arc<Mutex<Option<Duration>>>,
}

impl Prober {
    /// Runs until the agent stays silent or the connection ends.
    pub(super) async fn run(mut self) -> ClosedReason {
        loop {
            let heard = self.traffic.bytes_in();
            let asked = timeout(self.options.interval, self.probes.recv()).await;
            let in_vain = match &asked {
                Ok(probe) => probe.as_ref().is_some_and(oneshot::Sender::is_closed),
                Err(_) => self.traffic.bytes_in() != heard,
            };
            if in_vain {
                continue;
            }
            // One that was asked for may come right after the last sign of life: it does not
            // shorten the silence that a tunnel survives.
            let patience = match asked {
                Ok(_) => self.options.interval + self.options.timeout,
                Err(_) => self.options.timeout,
            };
            let started = Instant::now();
            match timeout(patience, self.ping_pong.ping(Ping::opaque())).await {
                Err(_) => return ClosedReason::KeepaliveTimeout,
                Ok(Err(error)) => return ClosedReason::of(error),
                Ok(Ok(_)) => {}
            }
            let round_trip = started.elapsed();
            *self.last_round_trip.lock() = Some(round_trip);
            if let Ok(Some(probe)) = asked {
                // Nobody waiting any more is fine.
                let _ = probe.send(round_trip);
            }
        }
    }
}
