//! The task of a simulated cluster: observe, decide, execute, and wait for the next change.

use std::sync::Arc;
use std::time::Duration;

use futures::{FutureExt as _, Stream, StreamExt as _, stream};
use jiff::Timestamp;
use kube::Client;
use parking_lot::Mutex;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use crate::action::{Action, execute};
use crate::annotations::Timing;
use crate::clock::Clock;
use crate::decide::{Decision, decide};
use crate::retry::Retries;
use crate::watch;
use crate::world::World;

/// Maximum number of changes before the next decision.
const MAX_CHANGES: usize = 1000;
/// Actions in parallel; the store commits waiting writes together.
const CONCURRENCY: usize = 16;
/// Timeout of an action.
const ACTION_TIMEOUT: Duration = Duration::from_secs(30);

/// The simulation of a cluster.
pub(crate) struct Simulation {
    pub(crate) client: Client,
    pub(crate) world: Arc<Mutex<World>>,
    pub(crate) timing: Timing,
    pub(crate) clock: Clock,
}

impl Simulation {
    /// Simulates the cluster until `stop`.
    pub(crate) async fn run(self, stop: CancellationToken) {
        // Unfinished actions are lost: the next start decides them again.
        let _ = stop.run_until_cancelled(self.simulate()).await;
    }

    async fn simulate(&self) {
        let mut changes = watch::all(&self.client);
        let mut wake = None;
        let mut retries = Retries::default();
        loop {
            if !self.wait_for_changes(&mut changes, wake).await {
                return;
            }
            for _ in 0..MAX_CHANGES {
                let Some(Some(change)) = changes.next().now_or_never() else {
                    break;
                };
                change(&mut self.world.lock());
            }
            wake = self.step(&mut retries).await;
        }
    }

    /// Applies changes until the next decision is due: after the first change, or at the end of a
    /// pause. A change does not end a pause, because most changes result from the simulation's own
    /// writes. Returns false at the end of the stream.
    async fn wait_for_changes<S>(&self, changes: &mut S, wake: Option<Wake>) -> bool
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
            Some(Wake::After(pause) | Wake::Within(pause, None)) => {
                tokio::time::sleep(pause).await;
            }
            Some(Wake::Within(pause, Some(at))) => tokio::select! {
                () = tokio::time::sleep(pause) => {}
                () = self.clock.until(at) => {}
            },
            None => std::future::pending().await,
        }
    }

    /// Decides and executes the actions. Returns when to decide again without a change.
    async fn step(&self, retries: &mut Retries) -> Option<Wake> {
        let now = self.clock.now();
        let Decision { actions, wake } = {
            let world = self.world.lock();
            if !world.is_complete() {
                return None;
            }
            decide(&world, &self.timing, now)
        };
        let ready = retries.ready(actions, Instant::now());
        if ready.is_empty() {
            return match retries.idle(Instant::now()) {
                Some(pause) => Some(Wake::Within(pause, wake)),
                None => wake.map(Wake::At),
            };
        }
        self.execute_all(ready, now, retries).await;
        Some(Wake::After(retries.throttle()))
    }

    /// Executes the actions and records failures.
    async fn execute_all(&self, actions: Vec<Action>, now: Timestamp, retries: &mut Retries) {
        let doing = stream::iter(actions).map(|one| async move {
            let (name, subject) = (one.name(), one.subject());
            let done = tokio::time::timeout(ACTION_TIMEOUT, execute(&self.client, one, now)).await;
            (name, subject, done)
        });
        let mut doing = doing.buffer_unordered(CONCURRENCY);
        while let Some((name, subject, done)) = doing.next().await {
            match done {
                Ok(Ok(done)) => {
                    done.apply(&mut self.world.lock());
                    retries.succeeded(&subject);
                    continue;
                }
                // The object changed or its namespace is being deleted. A watch reports the new
                // state.
                Ok(Err(kube::Error::Api(error))) if matches!(error.code, 403 | 404 | 409) => {
                    let error = error.message;
                    tracing::debug!(
                        error,
                        action = name,
                        "simulated change conflicts with another change"
                    );
                }
                Ok(Err(error)) => {
                    let error = &error as &dyn std::error::Error;
                    tracing::warn!(error, action = name, "failed to apply a simulated change");
                }
                Err(_) => {
                    tracing::warn!(action = name, "simulated change timed out");
                }
            }
            retries.failed(subject, Instant::now());
        }
    }
}

/// When to decide again.
#[derive(Clone, Copy)]
enum Wake {
    /// At this time of the simulated clock.
    At(Timestamp),
    /// After this pause, regardless of changes.
    After(Duration),
    /// After this pause, at the end of which a failed action is retried, or at this time if it is
    /// earlier; or after a change.
    Within(Duration, Option<Timestamp>),
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::retry::MAX_DELAY;

    /// A stream of this many changes that then stays pending.
    fn changes(count: usize) -> impl Stream<Item = watch::Change> + Unpin {
        let change = || -> watch::Change { Box::new(|_: &mut World| {}) };
        let all: Vec<_> = std::iter::repeat_with(change).take(count).collect();
        stream::iter(all).chain(stream::pending())
    }

    #[tokio::test(start_paused = true)]
    async fn changes_are_applied_during_a_pause_and_do_not_end_it() {
        let service = tower::service_fn(|_| async {
            Ok::<_, std::convert::Infallible>(http::Response::new(kube::client::Body::empty()))
        });
        let simulation = Simulation {
            client: Client::new(service, "default"),
            world: Arc::default(),
            timing: Timing::default(),
            clock: Clock::default(),
        };
        let start = Instant::now();
        let mut some = changes(5);
        let pause = Some(Wake::After(MAX_DELAY));
        assert!(simulation.wait_for_changes(&mut some, pause).await);
        assert_eq!(start.elapsed(), MAX_DELAY);
        assert!(
            some.next().now_or_never().is_none(),
            "all changes were applied"
        );
        let start = Instant::now();
        assert!(simulation.wait_for_changes(&mut changes(5), None).await);
        assert_eq!(start.elapsed(), Duration::ZERO);
        // Only failed actions wait.
        let again = Some(Wake::Within(MAX_DELAY, None));
        assert!(simulation.wait_for_changes(&mut changes(1), again).await);
        assert_eq!(start.elapsed(), Duration::ZERO);
        assert!(simulation.wait_for_changes(&mut changes(0), again).await);
        assert_eq!(start.elapsed(), MAX_DELAY);
        let mut ended = stream::empty::<watch::Change>();
        assert!(!simulation.wait_for_changes(&mut ended, None).await);
    }
}
