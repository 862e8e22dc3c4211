//! State that the controllers of a process share: metrics, leadership and shutdown.

use std::hash::Hash;

use tokio::sync::watch;
use tokio_util::sync::CancellationToken;

use crate::controller::{Controller, Reconciler};
use crate::leader::LeaderGate;
use crate::metrics::Metrics;
use crate::options::Options;
use crate::source::on_change;
use crate::trigger::Trigger;

/// Metrics, leadership and shutdown of all controllers of a process. Clones share the state.
#[derive(Clone, Debug)]
pub struct Runtime {
    /// The metrics of all controllers.
    pub metrics: Metrics,
    /// The gate that is open while this process is the leader.
    pub leader: LeaderGate,
    /// Token whose cancellation stops all controllers.
    pub stop: CancellationToken,
}

impl Runtime {
    /// Returns a runtime for controllers of process-local state. These controllers run in every
    /// replica.
    #[must_use]
    pub fn in_every_replica(&self) -> Self {
        Self {
            leader: LeaderGate::always_open(),
            ..self.clone()
        }
    }

    /// Creates the trigger of a new controller.
    pub fn trigger<K: Clone + Eq + Hash>(&self, options: Options) -> Trigger<K> {
        Trigger::new(options, &self.metrics)
    }

    /// Runs a controller until the runtime is stopped.
    pub async fn run<R: Reconciler>(&self, controller: Controller<R>) {
        controller.run(self.leader.clone(), self.stop.clone()).await;
    }

    /// Runs a controller with a single key. The controller calls the reconciler when the process
    /// becomes the leader, and after each change of the channels.
    pub async fn run_single<R: Reconciler<Key = ()>>(
        &self,
        options: Options,
        reconciler: R,
        changes: impl IntoIterator<Item = watch::Receiver<u64>>,
    ) {
        let mut controller = Controller::new(self.trigger(options), reconciler);
        for change in changes {
            controller = controller.on(on_change(change, ()));
        }
        self.run(controller.at_start(|| vec![()])).await;
    }
}
