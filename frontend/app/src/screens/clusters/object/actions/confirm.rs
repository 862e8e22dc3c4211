//! Actions that need only a confirmation, and the creation of a Job.

use drover_ui_core::action::{Action, Change, budgets_of, budgets_path, change_without_parameters};
use drover_ui_core::messages::t;
use drover_ui_kit::field::TextField;
use drover_ui_kit::notice::{Banner, BannerKind};
use leptos::prelude::*;
use leptos::task::spawn_local;
use serde_json::Value;

use super::form::{ActionForm, ChangeForm};
use crate::clock::now;
use crate::session::Session;

/// The maximum length of the name's stem. Kubernetes appends suffixes to the names of pods.
const MAX_STEM: usize = 42;

/// Shows the consequences of an action without parameters.
#[component]
pub(super) fn ConfirmForm(dialog: ActionForm) -> impl IntoView {
    let change = change_without_parameters(dialog.action, now());
    let effect = change.as_ref().map(Change::effect);
    let evicts = dialog.action == Action::Evict;
    view! {
        <ChangeForm dialog=dialog change=Signal::stored(change)>
            <p>{effect}</p>
            {evicts.then(|| view! { <BlockingBudgets dialog=dialog/> })}
        </ChangeForm>
    }
}

/// Shows the PodDisruptionBudgets that block the eviction of the pod.
#[component]
fn BlockingBudgets(dialog: ActionForm) -> impl IntoView {
    let session = expect_context::<Session>();
    let blocking = RwSignal::new(Vec::new());
    let path = dialog.named.with_value(budgets_path);
    spawn_local(async move {
        // Without the permission to list budgets, the error of the eviction names the budget.
        let Ok(list) = session.get::<Value>(&path).await else {
            return;
        };
        let budgets = dialog
            .object
            .try_with_value(|object| budgets_of(object, &list));
        let _ = blocking.try_set(budgets.unwrap_or_default());
    });
    move || {
        let names = blocking.get().join(", ");
        let words = (!names.is_empty()).then(|| t().actions.evict_blocked(&names));
        words.map(|words| view! { <Banner mood=BannerKind::Warning>{words}</Banner> })
    }
}

/// Shows the form that creates a Job from a CronJob.
#[component]
pub(super) fn TriggerForm(dialog: ActionForm) -> impl IntoView {
    let stem: String = dialog.name().chars().take(MAX_STEM).collect();
    let stem = stem.trim_end_matches(['-', '.']);
    let name = RwSignal::new(format!("{stem}-manual-{:x}", now().as_second()));
    let change = Signal::derive(move || {
        let name = name.with(|name| name.trim().to_owned());
        (!name.is_empty()).then_some(Change::Trigger(name))
    });
    view! {
        <ChangeForm dialog=dialog change=change>
            <p>{t().actions.trigger_effect()}</p>
            <TextField label=t().actions.job_name() value=name focused=true/>
        </ChangeForm>
    }
}
