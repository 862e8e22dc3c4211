//! An action on several objects, with limited concurrency, progress, and a list of failures.

use drover_ui_core::messages::t;
use drover_ui_core::problem::Problem;
use drover_ui_core::progress::{Outcome, Progress};
use drover_ui_kit::button::Button;
use drover_ui_kit::notice::{Banner, BannerKind};
use futures::StreamExt as _;
use futures::stream::iter;
use leptos::prelude::*;

/// The maximum number of concurrent requests. The limit leaves capacity for other clients.
pub(crate) const CONCURRENCY: usize = 6;

/// The state of an action on several objects.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Batch {
    progress: RwSignal<Option<Progress>>,
    /// True if the remaining objects are omitted.
    cancelled: RwSignal<bool>,
}

impl Batch {
    /// Creates the initial state, without progress.
    pub(crate) fn new() -> Self {
        Self {
            progress: RwSignal::new(None),
            cancelled: RwSignal::new(false),
        }
    }

    /// Resets the state, so that the previous progress is hidden.
    pub(crate) fn forget(self) {
        self.progress.set(None);
    }

    /// Reports whether the action is running.
    pub(crate) fn is_running(self) -> bool {
        self.progress
            .with(|it| it.as_ref().is_some_and(|it| !it.is_finished()))
    }

    /// Reports whether the action has started.
    pub(crate) fn is_begun(self) -> bool {
        self.progress.with(Option::is_some)
    }

    /// Reports whether the next run must include the object: the action has not started, has failed
    /// or was cancelled for the object.
    pub(crate) fn wants(self, name: &str) -> bool {
        self.progress.with_untracked(|progress| match progress {
            None => true,
            Some(progress) => {
                let outcome = progress.outcome(name);
                matches!(outcome, Some(Outcome::Failed | Outcome::Cancelled))
            }
        })
    }

    /// Returns the result for an object; `None` before the result.
    pub(crate) fn outcome(self, name: &str) -> Option<Outcome> {
        self.progress
            .with(|progress| progress.as_ref()?.outcome(name))
    }

    /// Omits the objects for which the action has not started. Pending requests continue.
    pub(crate) fn cancel(self) {
        self.cancelled.set(true);
    }

    /// Runs the action for all objects. Returns true if the action succeeded for all objects.
    pub(crate) async fn run<T>(
        self,
        things: Vec<T>,
        name: impl Fn(&T) -> String,
        action: impl AsyncFn(T) -> Result<(), Problem>,
    ) -> bool {
        let _ = self.cancelled.try_set(false);
        let _ = self.progress.try_update(|progress| {
            let retried = progress.take().map(Progress::retried);
            *progress = Some(retried.unwrap_or_else(|| Progress::of(things.len())));
        });
        let one = async |thing: T| {
            let name = name(&thing);
            if self.cancelled.try_get_untracked() == Some(true) {
                return (name, None);
            }
            (name, Some(action(thing).await))
        };
        let mut results = iter(things).map(one).buffer_unordered(CONCURRENCY);
        let mut good = true;
        while let Some((name, result)) = results.next().await {
            good &= matches!(result, Some(Ok(())));
            // The screen can be disposed during the action. The action continues.
            let _ = self
                .progress
                .try_update(|progress| match (progress, result) {
                    (Some(progress), Some(result)) => {
                        progress.note(&name, result.map_err(|problem| problem.message));
                    }
                    (Some(progress), None) => progress.cancel(&name),
                    (None, _) => {}
                });
        }
        good
    }
}

/// Shows the progress and the failures of the action, and a button that runs the action again for
/// the remaining objects.
#[component]
pub(crate) fn BatchProgress(
    /// The state of the action.
    batch: Batch,
    /// Runs the action again for the failed and cancelled objects.
    #[prop(into)]
    on_retry: Callback<()>,
) -> impl IntoView {
    let words = Signal::derive(move || {
        let words = |progress: &Progress| progress.words();
        batch
            .progress
            .with(|it| it.as_ref().map(words))
            .unwrap_or_default()
    });
    let part = move || {
        batch
            .progress
            .with(|it| it.as_ref().map_or(0.0, Progress::part))
    };
    let failures = move || {
        let failures = |progress: &Progress| progress.failures().to_vec();
        batch
            .progress
            .with(|it| it.as_ref().map(failures))
            .unwrap_or_default()
    };
    let failed = Memo::new(move |_| failures());
    let has_rest = Memo::new(move |_| {
        batch
            .progress
            .with(|it| it.as_ref().is_some_and(Progress::has_rest))
    });
    let list = move || {
        let rows = failed.get().into_iter().map(|failure| {
            view! { <li><b>{failure.name}</b>" "{failure.why}</li> }
        });
        rows.collect_view()
    };
    view! {
        <Show when=move || batch.is_begun()>
            <div class="stack" aria-live="polite">
                <div class="meter-row batch"><span>{words}</span><progress max="1" prop:value=part aria-label=t().batch.progress_label()></progress></div>
                <Show when=move || failed.with(|it| !it.is_empty())>
                    <Banner mood=BannerKind::Error><ul class="failures">{list}</ul></Banner>
                </Show>
                <Show when=move || has_rest.get() && !batch.is_running()>
                    <span class="row">
                        <Button on_press=move |()| on_retry.run(())>{t().batch.retry()}</Button>
                    </span>
                </Show>
            </div>
        </Show>
    }
}
