//! The dialog that edits the description of a cluster.

use std::sync::Arc;

use drover_api::rest::ClusterView;
use drover_ui_core::hub::CLUSTERS;
use drover_ui_core::messages::t;
use drover_ui_core::shell;
use drover_ui_core::url::segment;
use drover_ui_kit::code::Code;
use drover_ui_kit::field::TextField;
use drover_ui_kit::toast::Toasts;
use leptos::prelude::*;
use serde_json::{Value, json};

use crate::screens::form::{FormDialog, FormFoot, Refusal, Sending};
use crate::session::Session;

/// The maximum length of the description. The hub also validates the length.
const MAX_LENGTH: usize = 256;

/// Shows the dialog that edits the description.
#[component]
pub(super) fn DescriptionDialog(
    open: RwSignal<bool>,
    cluster: Signal<Arc<ClusterView>>,
) -> impl IntoView {
    view! {
        <FormDialog open=open title=t().labels.description() let:sending>
            <Description open=open sending=sending cluster=cluster/>
        </FormDialog>
    }
}

/// Returns a merge patch that sets or removes the description.
fn patch(description: &str) -> Value {
    let description = (!description.is_empty()).then_some(description);
    json!({"spec": {"description": description}})
}

fn command(name: &str, description: &str) -> String {
    format!(
        "kubectl --context local patch clusters.management.drover.dev {} --type merge -p {}",
        shell::word(name),
        shell::word(&patch(description).to_string())
    )
}

#[component]
fn Description(
    open: RwSignal<bool>,
    sending: Sending,
    cluster: Signal<Arc<ClusterView>>,
) -> impl IntoView {
    let (session, toasts) = (expect_context::<Session>(), expect_context::<Toasts>());
    let (name, uid, before) = cluster.with_untracked(|it| {
        let before = it.description.clone().unwrap_or_default();
        (it.name.clone(), it.uid.clone(), before)
    });
    let typed = RwSignal::new(before);
    let trimmed = move || typed.with(|typed| typed.trim().to_owned());
    let input_error = move || {
        let letters = trimmed().chars().count();
        (letters > MAX_LENGTH).then(|| t().forms.too_long(MAX_LENGTH, letters))
    };
    let named = StoredValue::new(name);
    let submit = move |event: web_sys::SubmitEvent| {
        event.prevent_default();
        if untrack(input_error).is_some() {
            return;
        }
        let mut patch = patch(&untrack(trimmed));
        // The UID prevents a change of a new cluster with the same name.
        patch["metadata"] = json!({"uid": uid});
        let name = named.get_value();
        let path = format!("{CLUSTERS}/{}", segment(&name));
        let request = async move { session.patch(&path, &patch).await };
        sending.send(request, move |()| {
            toasts.say(t().cluster.description_saved(&name));
            // The dialog can be closed before the response arrives.
            let _ = open.try_set(false);
        });
    };
    let command = move || command(&named.get_value(), &trimmed());
    view! {
        <form class="dialog-body" on:submit=submit>
            <Refusal sending=sending/>
            <TextField label=t().labels.description() value=typed focused=true error=Signal::derive(input_error)
                help=t().cluster.description_help()/>
            <Code label=t().labels.command() text=Signal::derive(command)/>
            <FormFoot open=open verb=t().buttons.save() sending=sending
                disabled=Signal::derive(move || input_error().is_some())/>
        </form>
    }
}
