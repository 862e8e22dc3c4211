//! The dialog that disables an authorized endpoint.

use drover_api::rest::EndpointView;
use drover_ui_core::endpoint::disabling;
use drover_ui_core::messages::t;
use drover_ui_core::shell;
use drover_ui_kit::button::{Button, Weight};
use drover_ui_kit::code::Code;
use drover_ui_kit::toast::Toasts;
use leptos::prelude::*;

use super::PolledEndpoint;
use crate::screens::form::{FormDialog, Refusal, Sending};
use crate::session::Session;

/// Shows the dialog that disables the endpoint.
#[component]
pub(super) fn DisableEndpoint(endpoint: PolledEndpoint, open: RwSignal<bool>) -> impl IntoView {
    view! {
        <FormDialog open=open title=t().endpoint.disable_title() let:sending>
            <DisableForm endpoint=endpoint open=open sending=sending/>
        </FormDialog>
    }
}

#[component]
fn DisableForm(endpoint: PolledEndpoint, open: RwSignal<bool>, sending: Sending) -> impl IntoView {
    let (session, toasts) = (expect_context::<Session>(), expect_context::<Toasts>());
    let name = endpoint.cluster.get_value();
    let command = format!("drover cluster endpoint disable {}", shell::word(&name));
    let disable = move |()| {
        let name = name.clone();
        let request = endpoint.change(session, disabling());
        sending.send(request, move |_: EndpointView| {
            endpoint.listing.again();
            toasts.say(t().endpoint.disabled_endpoint(&name));
            // The dialog can be closed before the response arrives.
            let _ = open.try_set(false);
        });
    };
    view! {
        <div class="dialog-body">
            <p>{t().endpoint.disable_effect()}</p>
            <Refusal sending=sending/>
            <Code label=t().labels.command() text=command/>
            <div class="dialog-foot">
                <Button disabled=sending.busy() on_press=move |()| open.set(false)>{t().buttons.cancel()}</Button>
                <Button weight=Weight::Danger busy=sending.busy() on_press=disable>{t().endpoint.disable()}</Button>
            </div>
        </div>
    }
}
