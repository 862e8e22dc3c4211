//! The dialog that changes the display name of a user.

use drover_api::rest::{UserPatch, UserView};
use drover_ui_core::messages::t;
use drover_ui_core::url::segment;
use drover_ui_kit::field::TextField;
use drover_ui_kit::toast::Toasts;
use leptos::prelude::*;

use crate::live::listing::Listing;
use crate::screens::form::{FormDialog, FormFoot, Refusal, Sending};
use crate::session::Session;

/// Shows the dialog that changes the display name.
#[component]
pub(super) fn Rename(
    user: UserView,
    open: RwSignal<bool>,
    listing: Listing<UserView>,
) -> impl IntoView {
    let title = t().users.display_name_of(&user.name);
    let user = StoredValue::new(user);
    view! {
        <FormDialog open=open title=title let:sending>
            <Form user=user.get_value() open=open sending=sending listing=listing/>
        </FormDialog>
    }
}

#[component]
fn Form(
    user: UserView,
    open: RwSignal<bool>,
    sending: Sending,
    listing: Listing<UserView>,
) -> impl IntoView {
    let (session, toasts) = (expect_context::<Session>(), expect_context::<Toasts>());
    let shown = RwSignal::new(user.display_name.unwrap_or_default());
    let name = StoredValue::new(user.name);
    let submit = move |event: web_sys::SubmitEvent| {
        event.prevent_default();
        let path = name.with_value(|name| format!("/v1/users/{}", segment(name)));
        let patch = UserPatch {
            enabled: None,
            administrator: None,
            display_name: Some(shown.with_untracked(|text| text.trim().to_owned())),
        };
        let request = async move { session.send("PATCH", &path, &patch).await };
        sending.send(request, move |user: UserView| {
            listing.again();
            toasts.say(t().users.renamed(&user.name));
            // The dialog can be closed before the response arrives.
            let _ = open.try_set(false);
        });
    };
    view! {
        <form class="dialog-body" on:submit=submit>
            <Refusal sending=sending fields=&["displayName"]/>
            <TextField label=t().labels.display_name() value=shown focused=true error=sending.of("displayName")
                help=t().users.rename_help()/>
            <FormFoot open=open verb=t().buttons.save() sending=sending/>
        </form>
    }
}
