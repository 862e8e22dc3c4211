//! The form of an action on several objects: parameters, plan, confirmation and buttons.

use std::collections::BTreeSet;
use std::sync::Arc;

use drover_ui_core::action::{
    Action, BulkChange, Cascade, Change, PlannedObject, ReadObject, Step, bulk_confirmation,
    bulk_plan, change_without_parameters, deletion_danger,
};
use drover_ui_core::kind::Kind;
use drover_ui_core::label;
use drover_ui_core::messages::t;
use drover_ui_kit::button::{Button, Role, Weight};
use drover_ui_kit::field::{Select, TextField};
use leptos::prelude::*;
use leptos::task::spawn_local;

use super::plan::{Commands, PlanTable};
use super::run::BulkRun;
use super::verb;
use crate::clock::now;
use crate::screens::batch::BatchProgress;

/// Shows the parameters, the plan, the progress and the buttons.
#[component]
pub(super) fn BulkForm(
    run: BulkRun,
    objects: Arc<[ReadObject]>,
    open: RwSignal<bool>,
    on_done: Callback<()>,
) -> impl IntoView {
    let action = run.request.with_value(|request| request.action);
    let change = RwSignal::new(None::<BulkChange>);
    let fields = fields(run.kind, action, change, &objects);
    let plan = Memo::new(move |_| {
        if let Some(begun) = run.plan() {
            return begun;
        }
        let plan = change.with(|change| {
            let change = change.as_ref()?;
            let rights = run.rights.get();
            Some(bulk_plan(run.kind, action, change, &objects, &rights))
        });
        Arc::new(plan.unwrap_or_default())
    });
    let sent =
        Memo::new(move |_| plan.with(|plan| plan.iter().filter_map(PlannedObject::sent).count()));
    let typed = RwSignal::new(String::new());
    let required = Memo::new(move |_| {
        let change = change.get()?;
        // A retry can send the requests whose permission is missing now.
        let is_possible = |it: &&PlannedObject| matches!(it.step, Step::Send(_));
        let possible = plan.with(|plan| plan.iter().filter(is_possible).count());
        bulk_confirmation(run.kind, &change, possible)
    });
    let incomplete = Signal::derive(move || {
        let is_typed = |text: String| typed.with(|typed| typed.trim() == text);
        sent.get() == 0 || !required.get().is_none_or(is_typed)
    });
    let go = move |()| {
        if untrack(move || run.is_running()) {
            return;
        }
        let plan = plan.get_untracked();
        spawn_local(async move {
            if run.go(plan).await {
                // The screen and the dialog can be disposed before the execution ends.
                let _ = on_done.try_run(());
                let _ = open.try_set(false);
            }
        });
    };
    let submit = move |event: web_sys::SubmitEvent| {
        event.prevent_default();
        if untrack(move || !incomplete.get() && !run.batch.is_begun()) {
            go(());
        }
    };
    let begun = Signal::derive(move || run.batch.is_begun());
    let confirmation = move || {
        let required = required.get().filter(|_| !begun.get())?;
        let label = t().kit.type_to_confirm(&required);
        Some(view! { <TextField label=label value=typed/> })
    };
    view! {
        <form class="dialog-body" on:submit=submit>
            <fieldset class="plain stack" disabled=begun>{fields}</fieldset>
            <PlanTable plan=plan sent=sent batch=run.batch/>
            <Commands kind=run.kind plan=plan/>
            <BatchProgress batch=run.batch on_retry=go/>
            {confirmation}
            <Foot run=run action=action sent=sent incomplete=incomplete open=open/>
        </form>
    }
}

#[component]
fn Foot(
    run: BulkRun,
    action: Action,
    sent: Memo<usize>,
    incomplete: Signal<bool>,
    open: RwSignal<bool>,
) -> impl IntoView {
    let running = Signal::derive(move || run.is_running());
    let begun = Signal::derive(move || run.batch.is_begun());
    let weight = match action {
        Action::Delete | Action::Evict => Weight::Danger,
        _ => Weight::Primary,
    };
    let close = move || {
        if begun.get() {
            t().buttons.close()
        } else {
            t().buttons.cancel()
        }
    };
    view! {
        <div class="dialog-foot">
            <Show when=move || running.get() fallback=move || view! {
                <Button on_press=move |()| open.set(false)>{close}</Button>
            }>
                <Button on_press=move |()| run.batch.cancel()>{t().bulk.cancel()}</Button>
            </Show>
            <Show when=move || !begun.get()>
                <Button weight=weight role=Role::Submit disabled=incomplete busy=running>
                    {move || t().bulk.verb(verb(action), sent.get())}
                </Button>
            </Show>
        </div>
    }
}

/// Returns the fields of an action. The fields set the change; an invalid field sets `None`.
fn fields(
    kind: Kind,
    action: Action,
    change: RwSignal<Option<BulkChange>>,
    objects: &[ReadObject],
) -> AnyView {
    match action {
        Action::Scale => view! { <Replicas change=change first=replicas(objects)/> }.into_any(),
        Action::Labels => view! { <LabelFields change=change/> }.into_any(),
        Action::Delete => view! { <Dependents kind=kind change=change/> }.into_any(),
        _ => {
            let same = change_without_parameters(action, now());
            let effect = same.as_ref().map(Change::effect);
            change.set(same.map(BulkChange::Same));
            view! { <p>{effect}</p> }.into_any()
        }
    }
}

/// Returns the number of replicas of the first object, as the default.
fn replicas(objects: &[ReadObject]) -> String {
    let mut objects = objects.iter().filter_map(|read| read.object.as_ref().ok());
    let replicas = objects.find_map(|object| object.value().pointer("/spec/replicas")?.as_u64());
    replicas.unwrap_or(1).to_string()
}

#[component]
fn Replicas(change: RwSignal<Option<BulkChange>>, first: String) -> impl IntoView {
    let replicas = RwSignal::new(first);
    let parsed = move || replicas.with(|text| text.trim().parse::<u32>().ok());
    Effect::new(move || change.set(parsed().map(|it| BulkChange::Same(Change::Scale(it)))));
    let error = Signal::derive(move || {
        let is_invalid = parsed().is_none();
        is_invalid.then(|| t().actions.invalid_replicas().to_owned())
    });
    view! { <TextField label=t().actions.replicas() value=replicas error=error focused=true/> }
}

#[component]
fn LabelFields(change: RwSignal<Option<BulkChange>>) -> impl IntoView {
    let (set, removed) = (RwSignal::default(), RwSignal::default());
    let parsed_set = Memo::new(move |_| set.with(|text: &String| label::read(text)));
    let parsed = Memo::new(move |_| {
        let removed = removed.with(|text: &String| removed_keys(text))?;
        label::plan::Change::of(parsed_set.get().unwrap_or_default(), &removed)
    });
    Effect::new(move || {
        let is_valid = parsed_set.with(Result::is_ok);
        change.set(
            parsed
                .get()
                .ok()
                .filter(|_| is_valid)
                .map(BulkChange::Labels),
        );
    });
    view! {
        <TextField label=t().bulk.set_labels() value=set focused=true help=t().cluster_labels.set_help()
            error=Signal::derive(move || parsed_set.get().err())/>
        <TextField label=t().bulk.remove_labels() value=removed help=t().bulk.remove_labels_help()
            error=Signal::derive(move || parsed.get().err())/>
    }
}

fn removed_keys(text: &str) -> Result<BTreeSet<String>, String> {
    let keys = text.split([' ', ',']).filter(|key| !key.is_empty());
    let checked = keys.map(|key| label::check_key(key).map(|()| key.to_owned()));
    checked.collect()
}

#[component]
fn Dependents(kind: Kind, change: RwSignal<Option<BulkChange>>) -> impl IntoView {
    let cascade = RwSignal::new(Cascade::default().key().to_owned());
    Effect::new(move || {
        let cascade = cascade.with(|key| Cascade::of_key(key));
        change.set(Some(BulkChange::Same(Change::Delete(cascade))));
    });
    view! {
        <p>{t().actions.delete_effect()}" "{deletion_danger(kind)}</p>
        <Select label=t().actions.cascade() options=Cascade::options() value=cascade/>
    }
}
