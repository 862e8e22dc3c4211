//! The execution of a drain in the page.

use std::time::Duration;

use drover_ui_core::action::Change;
use drover_ui_core::backoff::Backoff;
use drover_ui_core::drain::{DrainOptions, DrainPod, DrainProgress, PodState};
use drover_ui_core::kubectl::KubectlObject;
use drover_ui_core::messages::t;
use drover_ui_core::object::Object;
use drover_ui_core::problem::{Problem, ProblemKind};
use drover_ui_kit::notice::BannerKind;
use futures::StreamExt as _;
use futures::stream::iter;
use jiff::{SignedDuration, Timestamp};
use leptos::prelude::*;
use leptos::reactive::owner::WeakOwner;

use crate::clock::{chance, now, sleep};
use crate::reflector::until_cleanup;
use crate::session::Session;

/// The maximum number of pods that leave the node at the same time. The limit leaves capacity for
/// other clients.
const CONCURRENCY: usize = 8;
/// The interval at which the page checks whether a pod has left the node, and whether the user has
/// resumed the drain.
const CHECK_INTERVAL: Duration = Duration::from_secs(1);
/// The time after which the drain gives up on a pod.
const POD_TIMEOUT: SignedDuration = SignedDuration::from_mins(15);

/// The phase of a drain.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Phase {
    /// The user checks the plan.
    Planning,
    /// The drain evicts pods.
    Running,
    /// The drain requests no new evictions.
    Paused,
    /// The user cancelled the drain.
    Cancelled,
    /// The drain has finished.
    Finished,
    /// The node could not be cordoned.
    Failed(String),
}

/// A drain: its options, its phase and its progress.
#[derive(Clone, Copy)]
pub(super) struct DrainRun {
    node: StoredValue<KubectlObject>,
    session: Session,
    /// The owner of the dialog. A strong reference would keep the owner alive.
    owner: StoredValue<Option<WeakOwner>>,
    pub(super) force: RwSignal<bool>,
    pub(super) delete_empty_dir: RwSignal<bool>,
    phase: RwSignal<Phase>,
    progress: RwSignal<DrainProgress>,
}

impl DrainRun {
    pub(super) fn new(node: StoredValue<KubectlObject>) -> Self {
        Self {
            node,
            session: expect_context(),
            owner: StoredValue::new(Owner::current().map(|owner| owner.downgrade())),
            force: RwSignal::new(false),
            delete_empty_dir: RwSignal::new(false),
            phase: RwSignal::new(Phase::Planning),
            progress: RwSignal::new(DrainProgress::default()),
        }
    }

    pub(super) fn options(self) -> impl Fn() -> DrainOptions + Copy + Send + Sync + 'static {
        move || DrainOptions {
            force: self.force.get(),
            delete_empty_dir: self.delete_empty_dir.get(),
        }
    }

    pub(super) fn phase(self) -> Phase {
        self.phase.get()
    }

    pub(super) fn progress(self) -> Signal<DrainProgress> {
        self.progress.into()
    }

    /// Reports whether leaving the page would interrupt the drain.
    pub(super) fn is_running(self) -> bool {
        matches!(self.phase.get(), Phase::Running | Phase::Paused)
    }

    pub(super) fn pause(self, pauses: bool) {
        self.phase.set(if pauses {
            Phase::Paused
        } else {
            Phase::Running
        });
    }

    pub(super) fn stop(self) {
        self.phase.set(Phase::Cancelled);
    }

    /// Returns the result of the drain.
    pub(super) fn result(self) -> Option<(BannerKind, String)> {
        match self.phase.get() {
            Phase::Planning | Phase::Running | Phase::Paused => None,
            Phase::Cancelled => Some((BannerKind::Warning, t().drain.cancelled().to_owned())),
            Phase::Failed(reason) => Some((BannerKind::Error, reason)),
            Phase::Finished if self.progress.with(DrainProgress::has_failed) => {
                Some((BannerKind::Error, t().drain.incomplete().to_owned()))
            }
            Phase::Finished => {
                let words = self.node.with_value(|node| t().drain.complete(&node.name));
                Some((BannerKind::Info, words))
            }
        }
    }

    /// Cordons the node and evicts the pods until the dialog is disposed.
    pub(super) fn start(self, pods: Vec<DrainPod>) {
        self.progress.set(DrainProgress::of(pods.clone()));
        self.phase.set(Phase::Running);
        // The view of the plan is disposed now, so the task belongs to the dialog.
        if let Some(owner) = self.owner.get_value().and_then(|owner| owner.upgrade()) {
            owner.with(|| until_cleanup(self.drain(pods)));
        }
    }

    async fn drain(self, pods: Vec<DrainPod>) {
        let node = self.node.get_value();
        let cordon = Change::Cordoned(true).request(&node, &Object::from(serde_json::Value::Null));
        if let Err(problem) = self.session.change(&cordon).await {
            let _ = self.phase.try_set(Phase::Failed(problem.message));
            return;
        }
        let cluster = node.cluster.as_str();
        let one = async |pod: DrainPod| {
            let state = self.evict(cluster, &pod).await;
            if let Some(state) = state {
                self.report(&pod, state);
            }
        };
        iter(pods)
            .map(one)
            .buffer_unordered(CONCURRENCY)
            .collect::<()>()
            .await;
        let was = self.phase.try_get_untracked();
        if was != Some(Phase::Cancelled) {
            let _ = self.phase.try_set(Phase::Finished);
        }
    }

    fn report(self, pod: &DrainPod, state: PodState) {
        // The screen can be disposed.
        let _ = self
            .progress
            .try_update(|progress| progress.set(&pod.uid, state));
    }

    /// Evicts a pod and waits until the pod has left the node. Returns `None` if the user cancels
    /// the drain.
    async fn evict(self, cluster: &str, pod: &DrainPod) -> Option<PodState> {
        let deadline = now().checked_add(POD_TIMEOUT).ok()?;
        let request = pod.eviction(cluster);
        let mut backoff = Backoff::default();
        loop {
            self.wait_while_paused().await?;
            match self.session.change(&request).await {
                Ok(_) => break,
                Err(problem) if problem.kind == ProblemKind::NotFound => {
                    return Some(PodState::Gone);
                }
                // A conflict means that another pod has the name now.
                Err(problem) if problem.kind == ProblemKind::Conflict => {
                    return Some(PodState::Gone);
                }
                Err(problem) if is_temporary(&problem) && now() < deadline => {
                    self.report(pod, PodState::Blocked(problem.message));
                    sleep(backoff.after_failure(chance())).await;
                }
                Err(problem) => return Some(PodState::Failed(problem.message)),
            }
        }
        self.report(pod, PodState::Terminating);
        self.wait_until_gone(cluster, pod, deadline).await
    }

    async fn wait_until_gone(
        self,
        cluster: &str,
        pod: &DrainPod,
        deadline: Timestamp,
    ) -> Option<PodState> {
        let path = pod.target(cluster).api_path();
        while now() < deadline {
            sleep(CHECK_INTERVAL).await;
            self.wait_while_paused().await?;
            match self.session.get::<Object>(&path).await {
                Ok(found) if found.uid() != pod.uid => return Some(PodState::Gone),
                Err(problem) if problem.kind == ProblemKind::NotFound => {
                    return Some(PodState::Gone);
                }
                Ok(_) | Err(_) => {}
            }
        }
        Some(PodState::Failed(t().drain.timeout().to_owned()))
    }

    /// Waits until the user resumes the drain. Returns `None` if the user cancels the drain.
    async fn wait_while_paused(self) -> Option<()> {
        loop {
            match self.phase.try_get_untracked()? {
                Phase::Paused => sleep(CHECK_INTERVAL).await,
                Phase::Running => return Some(()),
                _ => return None,
            }
        }
    }
}

/// Reports whether the drain retries an eviction: a PodDisruptionBudget rejects the eviction, or
/// the cluster does not respond.
const fn is_temporary(problem: &Problem) -> bool {
    matches!(problem.kind, ProblemKind::Later | ProblemKind::Offline)
}
