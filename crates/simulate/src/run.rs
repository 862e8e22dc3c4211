//! The control loop of a simulated cluster: observes changes, decides, and executes actions.

use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;

use drover_reconcile::{Attempt, Controller, LeaderGate, Metrics, Options, Reconciler, Trigger};
use futures::{Stream, StreamExt as _, stream};
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

/// Maximum number of observed changes that are applied before the next decision.
const MAX_CHANGES: usize = 1000;
/// Maximum number of concurrent actions. Concurrent writes are faster, because the store commits
/// concurrent writes together.
const CONCURRENCY: usize = 16;
/// Ratio of the time after a decision without actions to the time of the decision. A decision evaluates the
/// complete cluster, so without a pause, each change of a large cluster would need a CPU.
const PAUSE_RATIO: u32 = 4;
/// Maximum time after a decision without actions.
const MAX_PAUSE: Duration = Duration::from_secs(2);
/// Timeout of one action.
const ACTION_TIMEOUT: Duration = Duration::from_secs(30);

/// The state of a running simulation.
pub(crate) struct Simulation {
    pub(crate) client: Client,
    pub(crate) world: Arc<Mutex<World>>,
    pub(crate) timing: Timing,
    pub(crate) clock: Clock,
    pub(crate) retries: Mutex<Retries>,
}

impl Simulation {
    /// Simulates the cluster until `stop` is cancelled. Cancels actions in progress. The next start
    /// decides on these actions again.
    pub(crate) async fn run(self, stop: CancellationToken) {
        let changes = watch::all(&self.client);
        self.run_on(changes, stop).await;
    }

    async fn run_on(
        self,
        changes: impl Stream<Item = watch::Change> + Send + 'static,
        stop: CancellationToken,
    ) {
        let options = Options {
            // Actions have a separate timeout.
            timeout: None,
            ..Options::new("simulation")
        };
        let world = Arc::clone(&self.world);
        let changes = changes.ready_chunks(MAX_CHANGES).map(move |changes| {
            let mut world = world.lock();
            for change in changes {
                change(&mut world);
            }
        });
        let trigger = Trigger::new(options, &Metrics::default());
        let advances = self.clock.advances();
        Controller::new(trigger, self)
            .on(changes.boxed())
            .on(advances)
            .run(LeaderGate::always_open(), stop)
            .await;
    }

    /// Decides the next actions, and executes the actions.
    async fn step(&self) -> drover_reconcile::Action {
        let (now, began) = (self.clock.now(), Instant::now());
        let Decision { actions, wake } = {
            let world = self.world.lock();
            if !world.is_complete() {
                return drover_reconcile::Action::await_change();
            }
            decide(&world, &self.timing, now)
        };
        let pause = (PAUSE_RATIO * began.elapsed()).min(MAX_PAUSE);
        let ready = self.retries.lock().ready(actions, Instant::now());
        if ready.is_empty() {
            tokio::time::sleep(pause).await;
            let retry = self.retries.lock().idle(Instant::now());
            let wake = wake.and_then(|at| self.clock.left(at));
            return match retry.into_iter().chain(wake).min() {
                Some(wait) => drover_reconcile::Action::requeue(wait),
                None => drover_reconcile::Action::await_change(),
            };
        }
        self.execute_all(ready, now).await;
        // A change does not end this delay, because most changes result from the simulation's own
        // writes.
        let pause = self.retries.lock().throttle();
        tokio::time::sleep(pause).await;
        drover_reconcile::Action::requeue(Duration::ZERO)
    }

    /// Executes the actions and records their failures.
    async fn execute_all(&self, actions: Vec<Action>, now: Timestamp) {
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
                    self.retries.lock().succeeded(&subject);
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
            self.retries.lock().failed(subject, Instant::now());
        }
    }
}

impl Reconciler for Simulation {
    /// The controller reconciles the complete cluster at once, so only one key exists.
    type Key = ();
    type Error = Infallible;

    async fn reconcile(
        &self,
        (): &(),
        _: &Attempt,
    ) -> Result<drover_reconcile::Action, Infallible> {
        Ok(self.step().await)
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};

    use super::*;
    use crate::plan::Plan;
    use crate::retry::MAX_DELAY;

    /// Returns a world in which all lists are complete and one node requires actions.
    fn complete_world() -> World {
        let mut world = World::default();
        for plan in Plan::empty(1).nodes {
            world
                .nodes
                .observe(serde_json::from_value(plan.node()).unwrap());
        }
        world.nodes.finish_list();
        world.pods.finish_list();
        world.services.finish_list();
        world.daemon_sets.finish_list();
        world.deployments.finish_list();
        world.replica_sets.finish_list();
        world.stateful_sets.finish_list();
        world.jobs.finish_list();
        world.endpoint_slices.finish_list();
        world
    }

    #[tokio::test(start_paused = true)]
    async fn changes_during_a_throttle_delay_are_recorded_without_ending_the_delay() {
        let requests = Arc::new(AtomicUsize::new(0));
        let counted = Arc::clone(&requests);
        let service = tower::service_fn(move |_| {
            counted.fetch_add(1, Ordering::SeqCst);
            async { Ok::<_, Infallible>(http::Response::new(kube::client::Body::empty())) }
        });
        let mut retries = Retries::default();
        while retries.throttle() < MAX_DELAY {}
        let simulation = Simulation {
            client: Client::new(service, "default"),
            world: Arc::new(Mutex::new(complete_world())),
            timing: Timing::default(),
            clock: Clock::default(),
            retries: Mutex::new(retries),
        };
        let applied = Arc::new(AtomicUsize::new(0));
        let seen_by_stream = Arc::clone(&applied);
        let changes = stream::unfold((), |()| async {
            tokio::time::sleep(MAX_DELAY / 10).await;
            Some(((), ()))
        });
        let changes = changes.map(move |()| -> watch::Change {
            let changes_seen = Arc::clone(&seen_by_stream);
            Box::new(move |_: &mut World| {
                changes_seen.fetch_add(1, Ordering::SeqCst);
            })
        });
        let stop = CancellationToken::new();
        tokio::spawn(simulation.run_on(changes, stop.clone()));
        tokio::time::sleep(MAX_DELAY / 5).await;
        let first = requests.load(Ordering::SeqCst);
        assert!(first > 0, "the first change leads to actions");
        tokio::time::sleep(MAX_DELAY * 4 / 5).await;
        assert_eq!(requests.load(Ordering::SeqCst), first, "the pause holds");
        assert!(applied.load(Ordering::SeqCst) >= 8, "changes are applied");
        tokio::time::sleep(MAX_DELAY / 2).await;
        assert!(requests.load(Ordering::SeqCst) > first, "the pause is over");
        stop.cancel();
    }
}
