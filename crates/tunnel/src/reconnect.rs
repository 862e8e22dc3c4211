//! Reconnect backoff of an agent.
//!
//! ```text
//!             ┌─────────────── delay elapsed ──────────────┐
//!             ▼                                            │
//!         Dialing ── attempt fails ──────────────────► Waiting
//!             │                                            ▲
//!             └─ tunnel opens ─► Connected ── closes ──────┘
//! ```
//!
//! The delay is uniformly random between the minimum and a bound that doubles with each failure
//! (full jitter). Agents of a restarted server therefore do not reconnect at the same time. A
//! tunnel that closes soon after its start increases the failure count.

use std::time::Duration;

use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

/// Minimum and maximum of the reconnect delay.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Policy {
    /// Minimum delay. Default: 200 ms.
    pub min: Duration,
    /// Maximum delay. Default: 15 s.
    pub max: Duration,
    /// Duration for which a tunnel must be open to reset the failure count. Default: 30 s.
    pub stable_after: Duration,
}

impl Default for Policy {
    fn default() -> Self {
        Self {
            min: Duration::from_millis(200),
            max: Duration::from_secs(15),
            stable_after: Duration::from_secs(30),
        }
    }
}

impl Policy {
    /// Returns the delay after a number of consecutive failures. `random` is uniformly distributed
    /// in `0.0..1.0`.
    pub fn wait(&self, failures: u32, random: f64) -> Duration {
        let doubled = self
            .min
            .saturating_mul(1_u32.checked_shl(failures).unwrap_or(u32::MAX));
        let bound = doubled.min(self.max);
        self.min + bound.saturating_sub(self.min).mul_f64(random)
    }
}

/// Connection state of an agent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum State {
    /// The agent is connecting.
    Dialing,
    /// The agent has an open tunnel.
    Connected {
        /// Time at which the tunnel opened.
        since: Instant,
    },
    /// The agent waits until the reconnect delay has elapsed.
    Waiting {
        /// Time of the next attempt.
        until: Instant,
    },
}

/// State machine of the reconnect backoff. The functions have no side effects: callers pass the
/// time and the random number.
#[derive(Debug)]
pub struct Reconnect {
    policy: Policy,
    state: State,
    failures: u32,
}

impl Reconnect {
    /// Creates the state machine in the state `Dialing`.
    pub const fn new(policy: Policy) -> Self {
        Self {
            policy,
            state: State::Dialing,
            failures: 0,
        }
    }

    /// Returns the current state.
    pub const fn state(&self) -> State {
        self.state
    }

    /// Returns the number of consecutive failures.
    pub const fn failures(&self) -> u32 {
        self.failures
    }

    /// Records that the tunnel opened.
    pub const fn opened(&mut self, now: Instant) {
        self.state = State::Connected { since: now };
    }

    /// Records a failed attempt or a closed tunnel. Returns the time of the next attempt.
    pub fn lost(&mut self, now: Instant, random: f64) -> Instant {
        if let State::Connected { since } = self.state
            && now.duration_since(since) >= self.policy.stable_after
        {
            self.failures = 0;
        }
        self.failures = self.failures.saturating_add(1);
        let until = now + self.policy.wait(self.failures, random);
        self.state = State::Waiting { until };
        until
    }

    /// Records that the agent starts the next attempt.
    pub const fn dial(&mut self) {
        self.state = State::Dialing;
    }
}

/// The sessions of an agent in sequence, until the agent stops.
///
/// A session connects and serves one tunnel. The caller reports an open tunnel with
/// [`Session::opened`]. The session ends when the attempt fails or the tunnel closes:
///
/// ```ignore
/// while let Some(mut session) = sessions.next(random()).await {
///     dial_and_serve(&mut session).await;
/// }
/// ```
#[derive(Debug)]
pub struct Sessions {
    reconnect: Reconnect,
    stop: CancellationToken,
    started: bool,
}

impl Sessions {
    /// Creates the sequence of sessions. Cancelling `stop` prevents new sessions, but does not end
    /// a running session. The caller drains the running session when `stop` is cancelled.
    pub const fn new(policy: Policy, stop: CancellationToken) -> Self {
        Self {
            reconnect: Reconnect::new(policy),
            stop,
            started: false,
        }
    }

    /// Waits for the reconnect delay and starts the next session. Returns `None` after `stop` is
    /// cancelled. `random` is uniformly distributed in `0.0..1.0`.
    ///
    /// Call this function after the previous session has ended.
    pub async fn next(&mut self, random: f64) -> Option<Session<'_>> {
        if self.started {
            let until = self.reconnect.lost(Instant::now(), random);
            tokio::select! {
                () = tokio::time::sleep_until(until) => self.reconnect.dial(),
                () = self.stop.cancelled() => {}
            }
        }
        self.started = true;
        (!self.stop.is_cancelled()).then_some(Session(&mut self.reconnect))
    }
}

/// Handle of one session. The caller reports with this handle that the tunnel is open.
#[derive(Debug)]
pub struct Session<'a>(&'a mut Reconnect);

impl Session<'_> {
    /// Records that the tunnel is open.
    pub fn opened(&mut self) {
        self.0.opened(Instant::now());
    }

    /// Returns the number of consecutive failures before the session.
    pub const fn failures(&self) -> u32 {
        self.0.failures()
    }
}

#[cfg(test)]
mod tests {
    use super::{Policy, Reconnect, Sessions, State};
    use std::time::Duration;
    use tokio::time::Instant;
    use tokio_util::sync::CancellationToken;

    fn bounds(failures: u32) -> (u128, u128) {
        let policy = Policy::default();
        (
            policy.wait(failures, 0.0).as_millis(),
            policy.wait(failures, 1.0).as_millis(),
        )
    }

    #[test]
    fn maximum_reconnect_delay_doubles_up_to_the_limit() {
        let delays: Vec<_> = [1, 2, 3, 6, 7, 31, 32, u32::MAX]
            .into_iter()
            .map(bounds)
            .collect();
        let tops = [400, 800, 1600, 12_800, 15_000, 15_000, 15_000, 15_000];
        assert_eq!(delays, tops.map(|top| (200, top)));
    }

    #[test]
    fn reconnect_delay_is_uniformly_distributed_between_its_bounds() {
        let policy = Policy::default();
        assert_eq!(policy.wait(2, 0.5), Duration::from_millis(500));
        assert_eq!(policy.wait(9, 0.25), Duration::from_millis(3_900));
    }

    #[test]
    fn flapping_tunnel_backs_off_and_stable_tunnel_resets_failures() {
        let mut now = Instant::now();
        let mut reconnect = Reconnect::new(Policy::default());
        for failures in 1..=5 {
            reconnect.dial();
            reconnect.opened(now);
            now += Duration::from_secs(29);
            let until = reconnect.lost(now, 0.999);
            assert_eq!(reconnect.failures(), failures);
            assert_eq!(reconnect.state(), State::Waiting { until });
            now = until;
        }
        reconnect.dial();
        reconnect.opened(now);
        assert_eq!(reconnect.state(), State::Connected { since: now });
        reconnect.lost(now + Duration::from_secs(30), 0.0);
        assert_eq!(reconnect.failures(), 1);
    }

    #[tokio::test(start_paused = true)]
    async fn agent_reconnects_after_each_delay_until_it_is_stopped() {
        let start = Instant::now();
        let stop = CancellationToken::new();
        let (sender, mut dials) = tokio::sync::mpsc::unbounded_channel();
        let mut sessions = Sessions::new(Policy::default(), stop.clone());
        let running = tokio::spawn(async move {
            while let Some(mut session) = sessions.next(1.0).await {
                sender
                    .send((start.elapsed().as_millis(), session.failures()))
                    .unwrap();
                if session.failures() == 2 {
                    session.opened();
                    sessions.stop.cancelled().await;
                }
            }
        });
        for expected in [(0, 0), (400, 1), (1200, 2)] {
            assert_eq!(dials.recv().await, Some(expected));
        }
        stop.cancel();
        running.await.unwrap();
        assert_eq!(dials.recv().await, None);
    }
}
