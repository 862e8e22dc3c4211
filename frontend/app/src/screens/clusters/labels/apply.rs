//! The plan of a label change, and the execution of the plan.

use std::sync::Arc;

use drover_api::rest::ClusterView;
use drover_ui_core::hub::CLUSTERS;
use drover_ui_core::label::plan::{Change, Patch, Plan};
use drover_ui_core::messages::t;
use drover_ui_core::url::segment;
use drover_ui_kit::button::{Button, Role, Weight};
use drover_ui_kit::code::Code;
use drover_ui_kit::rich::rich;
use drover_ui_kit::toast::Toasts;
use leptos::prelude::*;
use leptos::task::spawn_local;

use crate::screens::batch::{Batch, BatchProgress};
use crate::session::Session;

/// The execution of a plan.
#[derive(Clone, Copy, Debug)]
pub(super) struct Applying {
    batch: Batch,
    /// The plan at the start of the execution. The plan must not change during the execution.
    plan: RwSignal<Option<Arc<Plan>>>,
}

impl Applying {
    /// Creates the initial state, before the label change.
    pub(super) fn new() -> Self {
        Self {
            batch: Batch::new(),
            plan: RwSignal::new(None),
        }
    }

    /// Reports whether the label change is running.
    pub(super) fn is_running(self) -> bool {
        self.batch.is_running()
    }

    /// Resets the state when the dialog opens.
    pub(super) fn forget(self) {
        self.plan.set(None);
        self.batch.forget();
    }

    /// Sends the remaining patches. Returns true if all patches succeeded.
    async fn go(self, session: Session) -> bool {
        let (batch, plan) = (self.batch, self.plan.get_untracked());
        let patches = plan.map(|plan| plan.patches.clone()).unwrap_or_default();
        let remaining: Vec<Patch> = patches
            .into_iter()
            .filter(|patch| batch.wants(&patch.name))
            .collect();
        let send = async |patch: Patch| {
            let path = format!("{CLUSTERS}/{}", segment(&patch.name));
            session.patch(&path, &patch.body).await
        };
        batch.run(remaining, |patch| patch.name.clone(), send).await
    }
}

/// Shows plan, command and buttons of the form.
#[component]
pub(super) fn Apply(
    open: RwSignal<bool>,
    clusters: Signal<Vec<Arc<ClusterView>>>,
    change: Signal<Result<Change, String>>,
    applying: Applying,
    children: Children,
) -> impl IntoView {
    let (session, toasts) = (expect_context::<Session>(), expect_context::<Toasts>());
    let plan = Memo::new(move |_| {
        if let Some(begun) = applying.plan.get() {
            return begun;
        }
        let change = change.get().unwrap_or_default();
        let plan = clusters.with(|clusters| Plan::of(&change, clusters.iter().map(AsRef::as_ref)));
        Arc::new(plan)
    });
    let idle = Signal::derive(move || plan.with(|plan| plan.patches.is_empty()));
    let begun = Signal::derive(move || applying.batch.is_begun());
    let running = Signal::derive(move || applying.is_running());
    let go = move |()| {
        if untrack(move || change.get().is_err() || idle.get() || running.get()) {
            return;
        }
        let plan = plan.get_untracked();
        let count = plan.patches.len();
        applying.plan.set(Some(plan));
        spawn_local(async move {
            if applying.go(session).await {
                toasts.say(t().cluster_labels.changed(count));
                // The dialog and its signals can be disposed before the execution ends.
                let _ = open.try_set(false);
            }
        });
    };
    let submit = move |event: web_sys::SubmitEvent| {
        event.prevent_default();
        go(());
    };
    view! {
        <form class="dialog-body" on:submit=submit>
            <fieldset class="plain stack" disabled=begun>{children()}</fieldset>
            <PlanView plan=plan/>
            <BatchProgress batch=applying.batch on_retry=go/>
            <Foot open=open plan=plan good=Signal::derive(move || change.get().is_ok()) applying=applying/>
        </form>
    }
}

#[component]
fn Foot(
    open: RwSignal<bool>,
    plan: Memo<Arc<Plan>>,
    good: Signal<bool>,
    applying: Applying,
) -> impl IntoView {
    let count = Signal::derive(move || plan.with(|plan| plan.patches.len()));
    let begun = Signal::derive(move || applying.batch.is_begun());
    let running = Signal::derive(move || applying.is_running());
    let verb = move || match count.get() {
        0 => t().cluster_labels.no_changes().to_owned(),
        count => t().cluster_labels.change(count),
    };
    let unready = Signal::derive(move || count.get() == 0 || !good.get());
    view! {
        <div class="dialog-foot">
            <Button disabled=running on_press=move |()| open.set(false)>
                {move || if begun.get() { t().buttons.close() } else { t().buttons.cancel() }}
            </Button>
            <Show when=move || !begun.get() || running.get()>
                <Button weight=Weight::Primary role=Role::Submit busy=running disabled=unready>{verb}</Button>
            </Show>
        </div>
    }
}

/// Shows the plan and the equivalent command.
#[component]
fn PlanView(plan: Memo<Arc<Plan>>) -> impl IntoView {
    let lines = move || {
        let plan = plan.get();
        let lines = plan.lines.iter().map(|line| {
            let class = if line.is_idle() { "muted" } else { "" };
            view! { <li class=class>{line.words()}</li> }
        });
        lines.collect_view()
    };
    let command = Signal::derive(move || plan.with(|plan| plan.command()));
    view! {
        <Show when=move || plan.with(|plan| !plan.lines.is_empty())>
            <section class="label-plan" aria-live="polite">
                <h3>{t().cluster_labels.plan()}</h3>
                <ul class="failures">{lines}</ul>
            </section>
        </Show>
        <Show when=move || command.with(Option::is_some)>
            <div class="stack">
                <Code label=t().labels.command() text=Signal::derive(move || command.get().unwrap_or_default())/>
                <p class="field-note">
                    {rich(t().cluster_labels.kubectl_context())}
                </p>
            </div>
        </Show>
    }
}
