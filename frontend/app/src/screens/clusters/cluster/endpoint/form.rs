//! The dialog that enables or changes an authorized endpoint.

use drover_api::rest::EndpointView;
use drover_ui_core::endpoint::Draft;
use drover_ui_core::messages::t;
use drover_ui_kit::code::Code;
use drover_ui_kit::field::{TextArea, TextField};
use drover_ui_kit::toast::Toasts;
use leptos::prelude::*;

use super::PolledEndpoint;
use crate::screens::form::{FormDialog, FormFoot, Refusal, Sending};
use crate::session::Session;

/// The field names in the server's errors.
const FQDN: &str = "spec.authorizedEndpoint.fqdn";
const CA_BUNDLE: &str = "spec.authorizedEndpoint.caBundle";
const OFFLINE: &str = "offlineSeconds";

/// Shows the dialog that enables or changes the endpoint.
#[component]
pub(super) fn ChangeEndpoint(endpoint: PolledEndpoint, open: RwSignal<bool>) -> impl IntoView {
    view! {
        <FormDialog open=open title=t().endpoint.title() let:sending>
            // The form starts with the current values. Later changes of the endpoint do not
            // overwrite the form.
            {endpoint.view.get_untracked().map(|it| view! {
                <Form before=it endpoint=endpoint open=open sending=sending/>
            })}
        </FormDialog>
    }
}

#[component]
fn Form(
    before: EndpointView,
    endpoint: PolledEndpoint,
    open: RwSignal<bool>,
    sending: Sending,
) -> impl IntoView {
    let (session, toasts) = (expect_context::<Session>(), expect_context::<Toasts>());
    let was_enabled = before.enabled;
    let Draft {
        fqdn,
        ca_bundle,
        offline,
    } = Draft::of(&before);
    let [fqdn, ca_bundle, offline] = [fqdn, ca_bundle, offline].map(RwSignal::new);
    let draft = move || Draft {
        fqdn: fqdn.get(),
        ca_bundle: ca_bundle.get(),
        offline: offline.get(),
    };
    let before = StoredValue::new(before);
    let input_error = move || draft().offline_error();
    let submit = move |event: web_sys::SubmitEvent| {
        event.prevent_default();
        if untrack(input_error).is_some() {
            return;
        }
        let name = endpoint.cluster.get_value();
        let patch = before.with_value(|before| untrack(draft).patch(before));
        sending.send(endpoint.change(session, patch), move |_: EndpointView| {
            endpoint.listing.again();
            toasts.say(if was_enabled {
                t().endpoint.saved(&name)
            } else {
                t().endpoint.enabled(&name)
            });
            // The dialog can be closed before the response arrives.
            let _ = open.try_set(false);
        });
    };
    let command = move || {
        let name = endpoint.cluster.get_value();
        before.with_value(|before| draft().command(&name, before))
    };
    let refused = sending.of(OFFLINE);
    let offline_error = Signal::derive(move || input_error().or_else(|| refused.get()));
    let (effect, verb) = if was_enabled {
        (None, t().buttons.save())
    } else {
        (Some(t().endpoint.enable_effect()), t().endpoint.enable())
    };
    view! {
        <form class="dialog-body" on:submit=submit>
            {effect.map(|text| view! { <p>{text}</p> })}
            <Refusal sending=sending fields=&[FQDN, CA_BUNDLE, OFFLINE]/>
            <TextField label=t().endpoint.load_balancer() value=fqdn focused=true error=sending.of(FQDN)
                help=t().endpoint.load_balancer_help()/>
            <TextArea label=t().providers.ca_bundle() value=ca_bundle error=sending.of(CA_BUNDLE)
                help=t().endpoint.ca_bundle_help()/>
            <TextField label=t().endpoint.offline_limit() value=offline error=offline_error
                help=t().endpoint.offline_help()/>
            <Code label=t().labels.command() text=Signal::derive(command)/>
            <FormFoot open=open verb=verb sending=sending
                disabled=Signal::derive(move || input_error().is_some())/>
        </form>
    }
}
