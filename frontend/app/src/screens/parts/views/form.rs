//! The dialog that saves a view of the current page, or changes the name and the sharing of a view.

use drover_api::rest::ProjectView;
use drover_ui_core::messages::t;
use drover_ui_core::view::{sharing_options, update};
use drover_ui_kit::field::{Select, TextField};
use drover_ui_kit::toast::Toasts;
use leptos::prelude::*;
use leptos::task::spawn_local;

use super::EditedView;
use crate::live::listing::every_page;
use crate::saved_views::SavedViews;
use crate::screens::form::{FormDialog, FormFoot, Refusal, Sending};
use crate::session::Session;

/// The fields whose errors appear next to the inputs.
const FIELDS: &[&str] = &["name"];

/// Shows the dialog.
#[component]
pub(super) fn ViewForm(open: RwSignal<bool>, edited: RwSignal<EditedView>) -> impl IntoView {
    move || {
        let is_new = edited.with(|edited| edited.id.is_none());
        let title = if is_new {
            t().views.save_title()
        } else {
            t().views.edit_title()
        };
        view! {
            <FormDialog open=open title=title let:sending>
                <Form open=open edited=edited sending=sending/>
            </FormDialog>
        }
    }
}

#[component]
fn Form(open: RwSignal<bool>, edited: RwSignal<EditedView>, sending: Sending) -> impl IntoView {
    let (views, toasts) = (expect_context::<SavedViews>(), expect_context::<Toasts>());
    let administers = expect_context::<Session>().is_administrator();
    let before = edited.get_untracked();
    let name = RwSignal::new(before.name.clone());
    let sharing = RwSignal::new(if before.sharing.is_empty() {
        "private".to_owned()
    } else {
        before.sharing.clone()
    });
    let projects = projects();
    let current = before.sharing.clone();
    let options = move || sharing_options(&projects.get(), administers, &current);
    let send = move |event: web_sys::SubmitEvent| {
        event.prevent_default();
        let content = update(
            &name.get_untracked(),
            &before.path,
            &sharing.get_untracked(),
        );
        let request = views.save(before.id.clone(), content);
        sending.send(request, move |saved| {
            toasts.say(t().views.saved(&saved.name));
            open.set(false);
        });
    };
    let is_empty = Signal::derive(move || name.with(|name| name.trim().is_empty()));
    view! {
        <form class="dialog-body" on:submit=send>
            <Refusal sending=sending fields=FIELDS/>
            <TextField label=t().labels.name() value=name focused=true error=sending.of("name")/>
            {move || view! { <Select label=t().views.visible_to() options=options() value=sharing/> }}
            <FormFoot open=open verb=t().buttons.save() sending=sending disabled=is_empty/>
        </form>
    }
}

/// Returns the names of the projects that the user can see. The server checks the membership.
fn projects() -> RwSignal<Vec<String>> {
    let (session, names) = (expect_context::<Session>(), RwSignal::new(Vec::new()));
    spawn_local(async move {
        // Without projects, the user can still save a private view.
        let projects: Vec<ProjectView> = every_page(session, "/v1/projects")
            .await
            .unwrap_or_default();
        if !projects.is_empty() {
            let known = projects.into_iter().map(|project| project.name).collect();
            // The dialog can be closed before the response arrives.
            let _ = names.try_set(known);
        }
    });
    names
}
