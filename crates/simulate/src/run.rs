//! The one task of a simulated cluster: observe, decide, act, and wait for the next thing.

use std::sync::Arc;
use std::time::Duration;

use futures::{FutureExt as _, Stream, StreamExt as _, stream};
use jiff::Timestamp;
use kube::Client;
use parking_lot::Mutex;
use tokio_util::sync::CancellationToken;

use crate::act::{Act, act};
use crate::annotations::Pace;
use crate::clock::Clock;
use crate::decide::{Decision, decide};
use crate::watch;
use crate::world::World;

/// Changes taken in before the next decision.
const MOST_CHANGES: usize = 1000;
/// Things done at the same time; the store commits what waits together.
const AT_ONCE: usize = 16;
/// Longest that one of them may take.
const ACT_TIMEOUT: Duration = Duration::from_secs(30);
/// The first pause after something could not be done; each next is twice as long.
const FIRST_PAUSE: Duration = Duration::from_millis(50);
/// Nothing ends a pause: what people do in the cluster waits for it, too.
const LONGEST_PAUSE: Duration = Duration::from_secs(3);
/// Decisions in a row, each with something to do, after which it is no hurry any more: objects
/// that never become what they should be must not keep a processor busy.
const HURRY: u32 = 500;

/// A cluster's controllers.
pub(crate) struct Simulation {
    pub(crate) client: Client,
    pub(crate) world: Arc<Mutex<World>>,
    pub(crate) pace: Pace,
    pub(crate) clock: Clock,
}

impl Simulation {
    /// Plays its part until `stop`.
    pub(crate) async fn run(self, stop: CancellationToken) {
        // What it does when it is stopped can be left: the next start decides it again.
        let _ = stop.run_until_cancelled(self.play()).await;
    }

    async fn play(&self) {
        let mut changes = watch::all(&self.client);
        let mut wake = None;
        let mut pauses = Pauses::default();
        loop {
            if !self.rest(&mut changes, wake).await {
                return;
            }
            for _ in 0..MOST_CHANGES {
                let Some(Some(change)) = changes.next().now_or_never() else {
                    break;
                };
                change(&mut self.world.lock());
            }
            wake = self.go_on(&mut pauses).await;
        }
    }

    /// Takes changes in until it is time to decide: after the first of them, or, in a pause, when
    /// that is over. Most changes are its own doing: they must not end the pause that slows it
    /// down. False at the end of all changes.
    async fn rest<S>(&self, changes: &mut S, wake: Option<Wake>) -> bool
    where
        S: Stream<Item = watch::Change> + Unpin,
    {
        let over = self.wait(wake);
        tokio::pin!(over);
        loop {
            tokio::select! {
                biased;
                () = &mut over => return true,
                change = changes.next() => match change {
                    Some(change) => change(&mut self.world.lock()),
                    None => return false,
                },
            }
            if !matches!(wake, Some(Wake::After(_))) {
                return true;
            }
        }
    }

    async fn wait(&self, wake: Option<Wake>) {
        match wake {
            Some(Wake::At(at)) => self.clock.until(at).await,
            Some(Wake::After(pause)) => tokio::time::sleep(pause).await,
            None => std::future::pending().await,
        }
    }

    /// Decides and does what is to be done; tells when to look again by oneself.
    async fn go_on(&self, pauses: &mut Pauses) -> Option<Wake> {
        let now = self.clock.now();
        let Decision { acts, wake } = {
            let world = self.world.lock();
            if !world.is_complete() {
                return None;
            }
            decide(&world, &self.pace, now)
        };
        if acts.is_empty() {
            pauses.quiet();
            return wake.map(Wake::At);
        }
        let failed = self.act_all(acts, now).await;
        Some(Wake::After(pauses.next(failed)))
    }

    /// Does all of it; tells whether something could not be done.
    async fn act_all(&self, acts: Vec<Act>, now: Timestamp) -> bool {
        let doing = stream::iter(acts).map(|one| async move {
            let name = one.name();
            let done = tokio::time::timeout(ACT_TIMEOUT, act(&self.client, one, now)).await;
            (name, done)
        });
        let mut doing = doing.buffer_unordered(AT_ONCE);
        let mut failed = false;
        while let Some((name, done)) = doing.next().await {
            match done {
                Ok(Ok(done)) => done.take(&mut self.world.lock()),
                // Somebody else was faster, or its namespace is about to go; a watch tells what is
                // so now.
                Ok(Err(kube::Error::Api(error))) if matches!(error.code, 403 | 404 | 409) => {
                    tracing::debug!(%error, act = name, "a simulated change came too late");
                    failed = true;
                }
                Ok(Err(error)) => {
                    let error = &error as &dyn std::error::Error;
                    tracing::warn!(error, act = name, "a simulated change was refused");
                    failed = true;
                }
                Err(_) => {
                    tracing::warn!(act = name, "a simulated change took too long");
                    failed = true;
                }
            }
        }
        failed
    }
}

/// When to look again.
#[derive(Clone, Copy)]
enum Wake {
    /// At this time of the simulation.
    At(Timestamp),
    /// After this pause.
    After(Duration),
}

/// How long to wait although there is something to do.
#[derive(Default)]
struct Pauses {
    failures: u32,
    busy: u32,
}

impl Pauses {
    fn quiet(&mut self) {
        *self = Self::default();
    }

    fn next(&mut self, failed: bool) -> Duration {
        self.busy = self.busy.saturating_add(1);
        self.failures = if failed {
            self.failures.saturating_add(1)
        } else {
            0
        };
        let beyond = self.busy.saturating_sub(HURRY);
        match self.failures.max(beyond) {
            0 => Duration::ZERO,
            times => FIRST_PAUSE
                .saturating_mul(2_u32.saturating_pow(times.min(16) - 1))
                .min(LONGEST_PAUSE),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// So many changes at once, and then no more.
    fn changes(count: usize) -> impl Stream<Item = watch::Change> + Unpin {
        let change = || -> watch::Change { Box::new(|_: &mut World| {}) };
        let all: Vec<_> = std::iter::repeat_with(change).take(count).collect();
        stream::iter(all).chain(stream::pending())
    }

    #[tokio::test(start_paused = true)]
    async fn changes_do_not_end_a_pause_but_are_taken_in_meanwhile() {
        let service = tower::service_fn(|_| async {
            Ok::<_, std::convert::Infallible>(http::Response::new(kube::client::Body::empty()))
        });
        let simulation = Simulation {
            client: Client::new(service, "default"),
            world: Arc::default(),
            pace: Pace::default(),
            clock: Clock::default(),
        };
        let start = tokio::time::Instant::now();
        let mut some = changes(5);
        let pause = Some(Wake::After(LONGEST_PAUSE));
        assert!(simulation.rest(&mut some, pause).await);
        assert_eq!(start.elapsed(), LONGEST_PAUSE);
        assert!(some.next().now_or_never().is_none(), "all were taken in");
        let start = tokio::time::Instant::now();
        assert!(simulation.rest(&mut changes(5), None).await);
        assert_eq!(start.elapsed(), Duration::ZERO);
        let mut ended = stream::empty::<watch::Change>();
        assert!(!simulation.rest(&mut ended, None).await);
    }

    #[test]
    fn failures_and_endless_work_slow_it_down_and_quiet_forgets_them() {
        let mut pauses = Pauses::default();
        assert_eq!(pauses.next(false), Duration::ZERO);
        assert_eq!(pauses.next(true), FIRST_PAUSE);
        assert_eq!(pauses.next(true), FIRST_PAUSE * 2);
        for _ in 0..HURRY + 20 {
            pauses.next(false);
        }
        assert_eq!(
            pauses.next(false),
            LONGEST_PAUSE.min(FIRST_PAUSE * (1 << 15))
        );
        pauses.quiet();
        assert_eq!(pauses.next(false), Duration::ZERO);
    }
}
