//! When an agent that lost its tunnel dials again.
//!
//! ```text
//!             ┌─────────────── wait is over ───────────────┐
//!             ▼                                            │
//!         Dialing ── dial fails ─────────────────────► Waiting
//!             │                                            ▲
//!             └─ tunnel opens ─► Connected ── is lost ─────┘
//! ```
//!
//! The wait is drawn evenly between the least and a bound that doubles with each failure
//! (full jitter), so that the agents of a restarted server do not come back as one. A tunnel
//! that was lost soon after it opened counts as one more failure.

use std::time::Duration;

use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

/// Bounds of the waits.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Policy {
    /// The shortest wait.
    pub least: Duration,
    /// The longest wait.
    pub most: Duration,
    /// A tunnel that lived this long makes earlier failures forgotten.
    pub stable_after: Duration,
}

impl Default for Policy {
    fn default() -> Self {
        Self {
            least: Duration::from_millis(200),
            most: Duration::from_secs(15),
            stable_after: Duration::from_secs(30),
        }
    }
}

impl Policy {
    /// The wait after so many failures in a row; `random` is evenly distributed in `0.0..1.0`.
    pub fn wait(&self, failures: u32, random: f64) -> Duration {
        let doubled = self
            .least
            .saturating_mul(1_u32.checked_shl(failures).unwrap_or(u32::MAX));
        let bound = doubled.clamp(self.least, self.most);
        self.least
            + bound
                .saturating_sub(self.least)
                .mul_f64(random.clamp(0.0, 1.0))
    }
}

/// What an agent is doing about its tunnel.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum State {
    /// A connection is being made.
    Dialing,
    /// The tunnel is open.
    Connected {
        /// Since when.
        since: Instant,
    },
    /// The next dial's time has not come.
    Waiting {
        /// When it comes.
        until: Instant,
    },
}

/// The state and how it came to be. Pure: time and chance are given.
#[derive(Debug)]
pub struct Reconnect {
    policy: Policy,
    state: State,
    failures: u32,
}

impl Reconnect {
    /// Starts by dialing.
    pub const fn new(policy: Policy) -> Self {
        Self {
            policy,
            state: State::Dialing,
            failures: 0,
        }
    }

    /// What the agent is doing.
    pub const fn state(&self) -> State {
        self.state
    }

    /// Failures in a row.
    pub const fn failures(&self) -> u32 {
        self.failures
    }

    /// The dial succeeded.
    pub const fn opened(&mut self, now: Instant) {
        self.state = State::Connected { since: now };
    }

    /// The dial failed, or the tunnel was lost. Returns when to dial again.
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

    /// The wait is over.
    pub const fn dial(&mut self) {
        self.state = State::Dialing;
    }
}

/// The sessions of an agent that stays connected until it is stopped.
///
/// A session dials and serves one tunnel; it calls [`Session::opened`] once the tunnel is open, and
/// ends when dialing failed or the tunnel was lost:
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
    begun: bool,
}

impl Sessions {
    /// None has begun yet. `stop` ends no session: whoever serves sees the same token and drains.
    pub const fn new(policy: Policy, stop: CancellationToken) -> Self {
        Self {
            reconnect: Reconnect::new(policy),
            stop,
            begun: false,
        }
    }

    /// Call when the last session has ended: waits as the policy says, and begins the next. `None`
    /// after the stop. `random` is evenly distributed in `0.0..1.0`.
    pub async fn next(&mut self, random: f64) -> Option<Session<'_>> {
        if self.begun {
            let until = self.reconnect.lost(Instant::now(), random);
            tokio::select! {
                () = tokio::time::sleep_until(until) => self.reconnect.dial(),
                () = self.stop.cancelled() => {}
            }
        }
        self.begun = true;
        (!self.stop.is_cancelled()).then_some(Session(&mut self.reconnect))
    }
}

/// A session's way to say that its tunnel is open.
#[derive(Debug)]
pub struct Session<'a>(&'a mut Reconnect);

impl Session<'_> {
    /// The tunnel is open.
    pub fn opened(&mut self) {
        self.0.opened(Instant::now());
    }

    /// Failures in a row before this session.
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
    fn waits_double_from_the_least_to_the_most() {
        let seen: Vec<_> = [1, 2, 3, 6, 7, 31, 32, u32::MAX]
            .into_iter()
            .map(bounds)
            .collect();
        let tops = [400, 800, 1600, 12_800, 15_000, 15_000, 15_000, 15_000];
        assert_eq!(seen, tops.map(|top| (200, top)));
    }

    #[test]
    fn wait_is_drawn_evenly_between_its_bounds() {
        let policy = Policy::default();
        assert_eq!(policy.wait(2, 0.5), Duration::from_millis(500));
        assert_eq!(policy.wait(9, 0.25), Duration::from_millis(3_900));
    }

    #[test]
    fn tunnel_that_flaps_backs_off_and_a_stable_one_starts_anew() {
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
    async fn sessions_follow_each_other_after_their_waits_until_the_stop() {
        let start = Instant::now();
        let stop = CancellationToken::new();
        let (told, mut dials) = tokio::sync::mpsc::unbounded_channel();
        let mut sessions = Sessions::new(Policy::default(), stop.clone());
        let running = tokio::spawn(async move {
            while let Some(mut session) = sessions.next(1.0).await {
                told.send((start.elapsed().as_millis(), session.failures()))
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
