//! The dialog that deletes a role.

use drover_ui_core::messages::t;
use drover_ui_core::role::{Listed, deletion_effect};
use drover_ui_kit::code::Code;
use drover_ui_kit::confirm::Confirm;
use drover_ui_kit::toast::Toasts;
use leptos::prelude::*;
use leptos_router::NavigateOptions;
use leptos_router::hooks::use_navigate;

use crate::screens::form::Sending;
use crate::session::Session;

/// Shows the dialog that deletes a role.
#[component]
pub(super) fn DeleteRole(open: RwSignal<bool>, listed: Listed) -> impl IntoView {
    let (session, toasts) = (expect_context::<Session>(), expect_context::<Toasts>());
    let (sending, navigate) = (Sending::new(), use_navigate());
    let Listed {
        kind,
        name,
        title,
        bound,
        ..
    } = listed;
    // The user must type the name of a role that has bindings.
    let typed = (bound != Some(0)).then(|| name.clone());
    let command = kind.command("delete", &name);
    let (path, question) = (kind.path_of(&name), t().roles.delete_title(&title));
    let go = move |()| {
        let (path, title, navigate) = (path.clone(), title.clone(), navigate.clone());
        let request = async move { session.delete(&path).await };
        sending.send(request, move |()| {
            toasts.say(t().roles.deleted(&title));
            // The page navigates only if the screen still exists.
            if open.try_set(false).is_none() {
                navigate("/roles", NavigateOptions::default());
            }
        });
    };
    let consequences = deletion_effect(bound);
    view! {
        <Confirm
            open=open
            title=question
            verb=t().buttons.delete()
            typed=typed
            busy=sending.busy()
            refused=sending.elsewhere(&[])
            on_confirm=go
        >
            <p>{consequences.clone()}</p>
            <Code label=t().labels.command() text=command.clone()/>
        </Confirm>
    }
}
