//! Sends keepalive pings to a silent agent, and pings on request.

use std::sync::Arc;
use std::time::Duration;

use h2::{Ping, PingPong};
use parking_lot::Mutex;
use tokio::sync::Notify;
use tokio::time::{Instant, timeout};

use super::Shared;
use super::error::ClosedReason;
use crate::Keepalive;

/// The requests for pings, and the most recent round trip. A ping answers all requests from before
/// the ping.
#[derive(Debug, Default)]
pub(super) struct Pings {
    state: Mutex<State>,
    requested: Notify,
    answered: Notify,
}

#[derive(Debug, Default)]
struct State {
    /// Number of requests.
    requested: u64,
    /// Number of requests that have been answered.
    answered: u64,
    round_trip: Option<Duration>,
}

impl Pings {
    /// Returns the round-trip time of the most recent ping.
    pub(super) fn round_trip(&self) -> Option<Duration> {
        self.state.lock().round_trip
    }

    /// Requests a ping, and waits for its round-trip time.
    pub(super) async fn request(&self) -> Duration {
        let request = {
            let mut state = self.state.lock();
            state.requested += 1;
            state.requested
        };
        self.requested.notify_one();
        loop {
            // A notification after this line is not lost.
            let answered = self.answered.notified();
            if let Some(round_trip) = self.state.lock().answer(request) {
                return round_trip;
            }
            answered.await;
        }
    }

    /// Records the answer to a ping that was sent after `requests` requests.
    fn answer(&self, requests: u64, round_trip: Duration) {
        {
            let mut state = self.state.lock();
            state.answered = requests;
            state.round_trip = Some(round_trip);
        }
        self.answered.notify_waiters();
    }
}

impl State {
    fn answer(&self, request: u64) -> Option<Duration> {
        self.round_trip.filter(|_| self.answered >= request)
    }
}

/// State of the task that sends pings to the agent: after an interval without received bytes, and
/// on request.
pub(super) struct Prober {
    pub(super) ping_pong: PingPong,
    pub(super) options: Keepalive,
}

impl Prober {
    /// Runs until a ping remains unanswered or the connection ends.
    pub(super) async fn run(&mut self, shared: &Arc<Shared>) -> ClosedReason {
        let (pings, traffic) = (&shared.pings, &shared.traffic);
        loop {
            let received = traffic.bytes_in();
            let asked = timeout(self.options.interval, pings.requested.notified()).await;
            if asked.is_err() && traffic.bytes_in() != received {
                continue;
            }
            // A requested ping may follow directly after received bytes. Its timeout includes the
            // interval, so that a request does not shorten the allowed silence.
            let limit = match asked {
                Ok(()) => self.options.interval + self.options.timeout,
                Err(_) => self.options.timeout,
            };
            let requests = pings.state.lock().requested;
            let started = Instant::now();
            match timeout(limit, self.ping_pong.ping(Ping::opaque())).await {
                Err(_) => return ClosedReason::KeepaliveTimeout,
                Ok(Err(error)) => return ClosedReason::of(error),
                Ok(Ok(_)) => pings.answer(requests, started.elapsed()),
            }
        }
    }
}
