//! The dialog that deletes a project.

use drover_api::rest::ProjectView;
use drover_ui_core::messages::t;
use drover_ui_core::project::path;
use drover_ui_core::shell;
use drover_ui_kit::code::Code;
use drover_ui_kit::confirm::Confirm;
use drover_ui_kit::rich::rich;
use drover_ui_kit::toast::Toasts;
use leptos::prelude::*;
use leptos_router::NavigateOptions;
use leptos_router::hooks::use_navigate;

use crate::live::listing::Listing;
use crate::screens::form::Sending;
use crate::session::Session;

/// Shows the dialog that deletes a project.
#[component]
pub(super) fn DeleteProject(
    name: String,
    open: RwSignal<bool>,
    listing: Listing<ProjectView>,
) -> impl IntoView {
    let (session, toasts) = (expect_context::<Session>(), expect_context::<Toasts>());
    let (navigate, sending) = (use_navigate(), Sending::new());
    let typed = Some(name.clone());
    let title = t().projects.delete_title(&name);
    let command = StoredValue::new(format!("drover project delete {}", shell::word(&name)));
    let name = StoredValue::new(name);
    let go = move |()| {
        let (name, navigate) = (name.get_value(), navigate.clone());
        let path = path(&name);
        let request = async move { session.delete(&path).await };
        sending.send(request, move |()| {
            listing.again();
            toasts.say(t().projects.deleting(&name));
            // The page navigates only if the screen still exists.
            if open.try_set(false).is_none() {
                navigate("/projects", NavigateOptions::default());
            }
        });
    };
    view! {
        <Confirm open=open title=title verb=t().buttons.delete() keep=t().buttons.cancel() typed=typed busy=sending.busy()
            refused=sending.elsewhere(&[]) on_confirm=go>
            <p>
                {rich(t().projects.delete_effect())}
            </p>
            <Code label=t().labels.command() text=command.get_value()/>
        </Confirm>
    }
}
