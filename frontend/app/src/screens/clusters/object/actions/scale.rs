//! The form that changes the number of replicas.

use drover_ui_core::action::{Change, autoscaler_of, autoscalers_path};
use drover_ui_core::messages::t;
use drover_ui_kit::field::TextField;
use drover_ui_kit::notice::{Banner, BannerKind};
use leptos::prelude::*;
use leptos::task::spawn_local;
use serde_json::Value;

use super::form::{ActionForm, ChangeForm};
use crate::session::Session;

/// Shows the form that changes the number of replicas.
#[component]
pub(super) fn ScaleForm(dialog: ActionForm) -> impl IntoView {
    let current = dialog.object.with_value(|object| {
        let replicas = object.value().pointer("/spec/replicas");
        replicas.and_then(Value::as_u64).unwrap_or(1).to_string()
    });
    let replicas = RwSignal::new(current.clone());
    let parsed = move || replicas.with(|text| text.trim().parse::<u32>().ok());
    let error = Signal::derive(move || {
        let is_invalid = parsed().is_none();
        is_invalid.then(|| t().actions.invalid_replicas().to_owned())
    });
    let change = Signal::derive(move || parsed().map(Change::Scale));
    let help = t().actions.replicas_help(&current);
    view! {
        <ChangeForm dialog=dialog change=change>
            <TextField label=t().actions.replicas() value=replicas help=help error=error focused=true/>
            <Autoscaler dialog=dialog/>
        </ChangeForm>
    }
}

/// Shows a warning if an autoscaler changes the replicas again.
#[component]
fn Autoscaler(dialog: ActionForm) -> impl IntoView {
    let session = expect_context::<Session>();
    let found = RwSignal::new(None);
    let path = dialog.named.with_value(autoscalers_path);
    spawn_local(async move {
        // Without the permission to list autoscalers, the dialog has no warning.
        let Ok(list) = session.get::<Value>(&path).await else {
            return;
        };
        let name = dialog
            .named
            .try_with_value(|named| autoscaler_of(named, &list));
        let _ = found.try_set(name.flatten());
    });
    move || {
        let words = t().actions.autoscaled(&found.get()?);
        Some(view! { <Banner mood=BannerKind::Warning>{words}</Banner> })
    }
}
