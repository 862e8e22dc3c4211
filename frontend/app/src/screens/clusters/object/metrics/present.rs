//! The samples of the current usage (`metrics.k8s.io`).

use std::time::Duration;

use drover_ui_core::kubectl::KubectlObject;
use drover_ui_core::metrics::{History, UsageSource};
use drover_ui_core::object::Object;
use drover_ui_core::problem::{Problem, ProblemKind};
use leptos::prelude::*;
use leptos::task::spawn_local;

use crate::clock::{now, sleep};
use crate::fetch::Request;
use crate::session::Session;

/// The interval of the samples. metrics-server measures every 15 s.
const INTERVAL: Duration = Duration::from_secs(15);

/// The state of the samples before the first sample.
#[derive(Clone, PartialEq)]
pub(super) enum PresentState {
    /// No response has arrived.
    Waiting,
    /// The cluster has no usage of the object.
    Missing,
    /// The request failed.
    Failed(Problem),
}

/// The samples of an object.
#[derive(Clone, Copy)]
pub(super) struct Present {
    state: RwSignal<PresentState>,
}

impl Present {
    /// Adds a sample to the history every 15 s, until the tab closes.
    pub(super) fn follow(
        named: KubectlObject,
        object: Signal<Object>,
        history: RwSignal<History>,
    ) -> Self {
        let session = expect_context::<Session>();
        let state = RwSignal::new(PresentState::Waiting);
        spawn_local(async move {
            loop {
                let Some(object) = object.try_get_untracked() else {
                    return;
                };
                let source = UsageSource::of(&named, &object);
                let answer = match &source {
                    Some(source) => sample(source).await,
                    None => Ok(None),
                };
                // The tab has closed.
                if state.try_get_untracked().is_none() {
                    return;
                }
                if let Err(problem) = &answer {
                    session.handle(problem);
                }
                let next = match answer {
                    Ok(Some(used)) => {
                        history.try_update(|history| history.add(now(), used));
                        None
                    }
                    Ok(None) => Some(PresentState::Missing),
                    Err(problem) => Some(PresentState::Failed(problem)),
                };
                if let Some(next) = next {
                    state.try_set(next);
                }
                sleep(INTERVAL).await;
            }
        });
        Self { state }
    }

    /// Returns the state before the first sample.
    pub(super) fn state(self) -> PresentState {
        self.state.get()
    }
}

/// Requests the current usage. Returns `None` if the cluster has no usage of the object.
async fn sample(source: &UsageSource) -> Result<Option<drover_rows::Amounts>, Problem> {
    match Request::get(&source.url).bytes().await {
        Ok(body) => source.amounts(&body).map(Some),
        Err(problem) if problem.kind == ProblemKind::NotFound => Ok(None),
        Err(problem) => Err(problem),
    }
}
