//! The progress of a drain.

use super::DrainPod;
use crate::messages::t;

/// The state of a pod during a drain.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PodState {
    /// The eviction has not been requested.
    Waiting,
    /// A PodDisruptionBudget rejects the eviction. The drain retries after a backoff.
    Blocked(String),
    /// The cluster accepted the eviction. The pod terminates.
    Terminating,
    /// The pod has left the node.
    Gone,
    /// The eviction failed.
    Failed(String),
}

impl PodState {
    /// Returns the text of the state.
    pub fn words(&self) -> String {
        match self {
            Self::Waiting => t().drain.waiting().to_owned(),
            Self::Blocked(reason) => t().drain.blocked(reason),
            Self::Terminating => t().drain.terminating().to_owned(),
            Self::Gone => t().drain.gone().to_owned(),
            Self::Failed(reason) => t().drain.failed(reason),
        }
    }

    /// Reports whether the drain has finished with the pod.
    pub const fn is_final(&self) -> bool {
        matches!(self, Self::Gone | Self::Failed(_))
    }
}

/// A pod with its state.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PodProgress {
    /// The pod.
    pub pod: DrainPod,
    /// The state of the pod.
    pub state: PodState,
}

/// The progress of a drain.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct DrainProgress {
    /// The pods that leave the node.
    pub pods: Vec<PodProgress>,
}

impl DrainProgress {
    /// Creates the progress at the start of the drain.
    pub fn of(pods: Vec<DrainPod>) -> Self {
        let state = PodState::Waiting;
        let pods = pods.into_iter().map(|pod| PodProgress {
            pod,
            state: state.clone(),
        });
        Self {
            pods: pods.collect(),
        }
    }

    /// Sets the state of a pod.
    pub fn set(&mut self, uid: &str, state: PodState) {
        if let Some(one) = self.pods.iter_mut().find(|it| it.pod.uid == uid) {
            one.state = state;
        }
    }

    /// Returns the number of pods with which the drain has finished.
    pub fn finished(&self) -> usize {
        self.pods.iter().filter(|it| it.state.is_final()).count()
    }

    /// Reports whether an eviction failed.
    pub fn has_failed(&self) -> bool {
        let failed = |it: &PodProgress| matches!(it.state, PodState::Failed(_));
        self.pods.iter().any(failed)
    }

    /// Returns the fraction of pods with which the drain has finished.
    #[expect(
        clippy::cast_precision_loss,
        reason = "the number of pods of a node is small"
    )]
    pub fn part(&self) -> f64 {
        match self.pods.len() {
            0 => 1.0,
            count => self.finished() as f64 / count as f64,
        }
    }
}
