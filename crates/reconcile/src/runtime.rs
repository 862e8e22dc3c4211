//! What the controllers of a process share.

use std::hash::Hash;

use tokio::sync::watch;
use tokio_util::sync::CancellationToken;

use crate::controller::{Controller, Reconciler};
use crate::leader::LeaderGate;
use crate::metrics::Metrics;
use crate::options::Options;
use crate::source::on_change;
use crate::trigger::Trigger;

/// Metrics, leadership and shutdown of controllers; cheap to clone.
#[derive(Clone, Debug)]
pub struct Runtime {
    /// All controllers count here.
    pub metrics: Metrics,
    /// Whether they may act.
    pub leader: LeaderGate,
    /// Ends them.
    pub stop: CancellationToken,
}

impl Runtime {
    /// The same for controllers of what each process has for itself: they run in every replica.
    #[must_use]
    pub fn in_every_replica(&self) -> Self {
        Self {
            leader: LeaderGate::always_open(),
            ..self.clone()
        }
    }

    /// The way into a new controller.
    pub fn trigger<K: Clone + Eq + Hash>(&self, options: Options) -> Trigger<K> {
        Trigger::new(options, &self.metrics)
    }

    /// Runs a controller until the runtime is stopped.
    pub async fn run<R: Reconciler>(&self, controller: Controller<R>) {
        controller.run(self.leader.clone(), self.stop.clone()).await;
    }

    /// Runs a controller with a single key: it reconciles when it starts to lead, and after each
    /// change of the channels.
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
