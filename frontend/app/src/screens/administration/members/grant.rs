//! The dialog that grants a role.

use drover_api::rest::{MemberCreate, MemberView};
use drover_ui_core::member::{Scope, subject_name, wish};
use drover_ui_core::messages::t;
use drover_ui_kit::code::Code;
use drover_ui_kit::picker::{Choice, Picker};
use drover_ui_kit::toast::Toasts;
use leptos::prelude::*;

use super::Roles;
use super::subject::{SubjectField, SubjectPicker};
use crate::live::listing::Listing;
use crate::screens::form::{FormDialog, FormFoot, Refusal, Sending};
use crate::session::Session;

/// Shows the dialog that grants a role.
#[component]
pub(super) fn GrantRole(
    open: RwSignal<bool>,
    scope: Scope,
    roles: Roles,
    listing: Listing<MemberView>,
) -> impl IntoView {
    let title = scope.grant_title();
    view! {
        <FormDialog open=open title=title let:sending>
            <Form open=open sending=sending scope=scope.clone() roles=roles listing=listing/>
        </FormDialog>
    }
}

/// The names of the form fields that show the server's errors next to their inputs.
const FIELDS: &[&str] = &["user", "group", "role"];

#[component]
fn Form(
    open: RwSignal<bool>,
    sending: Sending,
    scope: Scope,
    roles: Roles,
    listing: Listing<MemberView>,
) -> impl IntoView {
    let (session, toasts) = (expect_context::<Session>(), expect_context::<Toasts>());
    let (picker, role) = (SubjectPicker::new(), RwSignal::new(None::<String>));
    let scope = StoredValue::new(scope);
    let wished = move || wish(&role.get().unwrap_or_default(), &picker.text.get());
    let ready = move || role.with(Option::is_some) && picker.is_ready();
    let submit = move |event: web_sys::SubmitEvent| {
        event.prevent_default();
        if !untrack(ready) || sending.busy().get_untracked() {
            return;
        }
        if !picker.sends() {
            // The previous error was about another subject.
            sending.forget();
            return;
        }
        let request: MemberCreate = untrack(wished);
        let path = scope.with_value(Scope::members);
        let request = async move { session.send("POST", &path, &request).await };
        sending.send(request, move |member: MemberView| {
            listing.again();
            toasts.say(t().members.granted_to(subject_name(&member)));
            // The dialog can be closed before the response arrives.
            let _ = open.try_set(false);
        });
    };
    let choices = Signal::derive(move || {
        let roles = roles.items().unwrap_or_default();
        let here = roles.iter().filter(|role| role.may_grant);
        let choices = here.map(|role| Choice {
            key: role.name.clone(),
            words: role.title.clone(),
            note: role.description.clone().unwrap_or_default(),
        });
        choices.collect::<Vec<_>>()
    });
    let described = Signal::derive(move || {
        let (chosen, roles) = (role.get(), roles.items().unwrap_or_default());
        let found = roles
            .iter()
            .find(|role| Some(&role.name) == chosen.as_ref());
        let described = found.and_then(|role| role.description.clone());
        described.unwrap_or_else(|| t().members.grant_limit().to_owned())
    });
    let screen = move || {
        let screen = scope.with_value(|it| Some(it.role_screen(&role.get()?)))?;
        // The link opens a new tab, so that the form stays.
        Some(view! {
            <a href=screen target="_blank" rel="noopener">
                {t().members.show_role()}<span class="visually-hidden">{t().labels.in_new_tab()}</span>
            </a>
        })
    };
    let (of_user, of_group) = (sending.of("user"), sending.of("group"));
    let of_subject = Signal::derive(move || of_user.get().or_else(|| of_group.get()));
    let command = Signal::derive(move || scope.with_value(|it| it.grant_command(&wished())));
    view! {
        <form class="dialog-body" on:submit=submit>
            <Refusal sending=sending fields=FIELDS/>
            <SubjectField picker=picker scope=scope error=of_subject/>
            <Picker label=t().labels.role() choices=choices value=role none=t().labels.choose_role() help=described
                error=sending.of("role") wraps=true/>
            {screen}
            <Code label=t().labels.command() text=command/>
            <FormFoot open=open verb=t().members.grant() sending=sending
                disabled=Signal::derive(move || !ready())/>
        </form>
    }
}
