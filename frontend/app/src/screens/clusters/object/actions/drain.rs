//! The dialog that drains a node: plan, confirmations and progress.

mod run;

use drover_ui_core::drain::{
    DrainOptions, DrainPlan, DrainPod, DrainProgress, PodClass, PodProgress, PodState,
    budget_list_path, drain_plan,
};
use drover_ui_core::feed::Objects;
use drover_ui_core::messages::t;
use drover_ui_core::object::{Object, related};
use drover_ui_core::problem::Problem;
use drover_ui_kit::button::{Button, Weight};
use drover_ui_kit::code::Code;
use drover_ui_kit::dialog::Dialog;
use drover_ui_kit::field::Checkbox;
use drover_ui_kit::notice::{Banner, BannerKind, Skeleton};
use leptos::prelude::*;
use leptos::task::spawn_local;
use serde_json::Value;

use super::ActionTarget;
use crate::freshness::Freshness;
use crate::reflector::Store;
use crate::session::Session;
use crate::unsaved::UnsavedGuard;
use run::{DrainRun, Phase};

/// Shows the dialog that drains a node. The dialog stays open while the drain runs.
#[component]
pub(super) fn DrainDialog(target: ActionTarget, open: RwSignal<bool>) -> impl IntoView {
    let run = DrainRun::new(target.named);
    let running = Memo::new(move |_| run.is_running());
    expect_context::<UnsavedGuard>().ask_while(running);
    let title = target
        .named
        .with_value(|named| t().drain.title(&named.name));
    view! {
        <Dialog open=open title=title held=running>
            <div class="dialog-body">
                {move || match run.phase() {
                    Phase::Planning => view! { <Planning target=target run=run open=open/> }.into_any(),
                    _ => view! { <Running run=run open=open/> }.into_any(),
                }}
            </div>
        </Dialog>
    }
}

#[component]
fn Planning(target: ActionTarget, run: DrainRun, open: RwSignal<bool>) -> impl IntoView {
    let session = expect_context::<Session>();
    let object = target.object.get_untracked();
    let kind = target.named.with_value(|named| named.kind);
    let cluster = target.named.with_value(|named| named.cluster.clone());
    let pods = related(kind, &object).map_or_else(Store::<Object>::new, |pods| {
        Store::begin::<Objects>(pods.source(&cluster))
    });
    let budgets = RwSignal::new(None::<Result<Value, Problem>>);
    spawn_local(async move {
        let answer = session.get::<Value>(&budget_list_path(&cluster)).await;
        let _ = budgets.try_set(Some(answer));
    });
    let plan = Memo::new(move |_| {
        let (pods, budgets) = (pods.items()?, budgets.get()?);
        Some(drain_plan(&pods, &budgets.unwrap_or_default()))
    });
    let unknown = move || {
        let problem = budgets.get()?.err()?;
        let words = t().drain.budgets_unknown(&problem.message);
        Some(view! { <Banner mood=BannerKind::Warning>{words}</Banner> })
    };
    view! {
        <p>{t().drain.effect()}</p>
        {unknown}
        {move || match (plan.get(), pods.freshness()) {
            (Some(plan), _) => view! { <Plan plan=plan target=target run=run open=open/> }.into_any(),
            (None, Freshness::Stale { problem, .. }) => {
                view! { <Banner mood=BannerKind::Error>{problem.message}</Banner> }.into_any()
            }
            (None, _) => view! { <Skeleton lines=6/> }.into_any(),
        }}
    }
}

/// Shows the pods by class, the confirmations and the buttons.
#[component]
fn Plan(
    plan: DrainPlan,
    target: ActionTarget,
    run: DrainRun,
    open: RwSignal<bool>,
) -> impl IntoView {
    let options = run.options();
    let budgets = plan.blocking_budgets().join(", ");
    let budgets = (!budgets.is_empty()).then(|| t().drain.budgets(&budgets));
    let classes = PodClass::ALL.map(|class| {
        let pods: Vec<_> = plan.of_class(class).cloned().collect();
        (!pods.is_empty()).then(|| view! { <Class class=class pods=pods/> })
    });
    let has_unmanaged = plan.of_class(PodClass::Unmanaged).next().is_some();
    let has_empty_dir = plan.has_empty_dir();
    let is_empty = plan.evictions().is_empty();
    let plan = StoredValue::new(plan);
    let incomplete = Signal::derive(move || {
        let options = options();
        plan.with_value(|plan| plan.needs_confirmation(options))
    });
    let command = Signal::derive(move || {
        let options: DrainOptions = options();
        target.named.with_value(|named| options.command(named))
    });
    let start = move |()| run.start(plan.with_value(DrainPlan::evictions));
    view! {
        {budgets.map(|words| view! { <Banner mood=BannerKind::Warning>{words}</Banner> })}
        {is_empty.then(|| view! { <p>{t().drain.nothing()}</p> })}
        {classes.into_iter().collect_view()}
        {has_empty_dir.then(|| view! { <Checkbox label=t().drain.delete_empty_dir() checked=run.delete_empty_dir/> })}
        {has_unmanaged.then(|| view! { <Checkbox label=t().drain.force() checked=run.force/> })}
        <Code label=t().labels.command() text=command wraps=true/>
        <div class="dialog-foot">
            <Button on_press=move |()| open.set(false)>{t().buttons.cancel()}</Button>
            <Button weight=Weight::Danger disabled=incomplete on_press=start>{t().drain.start()}</Button>
        </div>
    }
}

#[component]
fn Class(class: PodClass, pods: Vec<DrainPod>) -> impl IntoView {
    let count = pods.len();
    let rows = pods.into_iter().map(|pod| {
        let budgets = pod.budgets.join(", ");
        let budgets = (!budgets.is_empty()).then(|| t().drain.budgets_of_pod(&budgets));
        let budgets = budgets.map(|words| view! { <span class="muted">{words}</span> });
        view! { <li>{pod.namespace}"/"{pod.name}{budgets}</li> }
    });
    view! {
        <section class="drain-class">
            <h3>{class.words()}{format!(" ({count})")}</h3>
            <ul>{rows.collect_view()}</ul>
        </section>
    }
}

/// Shows the progress of each pod.
#[component]
fn Running(run: DrainRun, open: RwSignal<bool>) -> impl IntoView {
    let progress = run.progress();
    let rows = move || {
        let row = |it: PodProgress| {
            let class = match it.state {
                PodState::Failed(_) => "error",
                _ => "muted",
            };
            let name = format!("{}/{}", it.pod.namespace, it.pod.name);
            view! { <li>{name}" "<span class=class>{it.state.words()}</span></li> }
        };
        progress.get().pods.into_iter().map(row).collect_view()
    };
    let words = move || progress.with(|it| t().drain.progress(it.finished(), it.pods.len()));
    let result = move || {
        let (mood, words) = run.result()?;
        Some(view! { <Banner mood=mood>{words}</Banner> })
    };
    view! {
        <div class="meter-row batch">
            <span role="status">{words}</span>
            <progress max="1" prop:value=move || progress.with(DrainProgress::part) aria-label=t().drain.progress_label()></progress>
        </div>
        {result}
        <ul class="drain-progress" tabindex="0" aria-label=t().drain.progress_label()>{rows}</ul>
        <div class="dialog-foot">
            {move || match run.phase() {
                Phase::Running => view! {
                    <Button on_press=move |()| run.stop()>{t().drain.stop()}</Button>
                    <Button on_press=move |()| run.pause(true)>{t().drain.pause()}</Button>
                }
                .into_any(),
                Phase::Paused => view! {
                    <Button on_press=move |()| run.stop()>{t().drain.stop()}</Button>
                    <Button weight=Weight::Primary on_press=move |()| run.pause(false)>{t().drain.resume()}</Button>
                }
                .into_any(),
                _ => view! {
                    <Button weight=Weight::Primary on_press=move |()| open.set(false)>{t().buttons.close()}</Button>
                }
                .into_any(),
            }}
        </div>
    }
}
