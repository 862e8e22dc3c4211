//! The dialog that removes a role from a subject.

use drover_api::rest::MemberView;
use drover_ui_core::member::{Scope, subject_name};
use drover_ui_core::messages::t;
use drover_ui_kit::code::Code;
use drover_ui_kit::confirm::Confirm;
use drover_ui_kit::toast::Toasts;
use leptos::prelude::*;

use super::columns::MemberRow;
use crate::live::listing::Listing;
use crate::screens::form::Sending;
use crate::session::Session;

/// The membership to remove, and the state of the dialog.
#[derive(Clone, Copy, Debug)]
pub(super) struct Removal {
    open: RwSignal<bool>,
    asked: RwSignal<Option<MemberRow>>,
}

impl Removal {
    /// Provides the state of the dialog as a context.
    pub(super) fn provide() -> Self {
        let removal = Self {
            open: RwSignal::new(false),
            asked: RwSignal::new(None),
        };
        provide_context(removal);
        removal
    }

    /// Opens the dialog for a member.
    pub(super) fn ask(self, row: MemberRow) {
        self.asked.set(Some(row));
        self.open.set(true);
    }
}

/// Shows the dialog that removes a role from a subject.
#[component]
pub(super) fn RemoveRole(
    removal: Removal,
    scope: Scope,
    listing: Listing<MemberView>,
) -> impl IntoView {
    let Removal {
        open,
        asked: target,
    } = removal;
    move || {
        let row = target.get()?;
        let scope = scope.clone();
        Some(view! { <Question row=row scope=scope open=open listing=listing/> })
    }
}

#[component]
fn Question(
    row: MemberRow,
    scope: Scope,
    open: RwSignal<bool>,
    listing: Listing<MemberView>,
) -> impl IntoView {
    let (session, toasts) = (expect_context::<Session>(), expect_context::<Toasts>());
    let sending = Sending::new();
    let (id, name) = (row.member.id.clone(), subject_name(&row.member).to_owned());
    let command = scope.revoke_command(&id);
    let path = scope.member(&id);
    let consequences = scope.remove_effect(&name);
    let go = move |()| {
        let (path, name) = (path.clone(), name.clone());
        let request = async move { session.delete(&path).await };
        sending.send(request, move |()| {
            listing.again();
            toasts.say(t().members.removed(&name));
            // The dialog can be closed before the response arrives.
            let _ = open.try_set(false);
        });
    };
    view! {
        <Confirm
            open=open
            title=t().members.remove_title(&row.role, subject_name(&row.member))
            verb=t().members.remove_role()
            busy=sending.busy()
            refused=sending.elsewhere(&[])
            on_confirm=go
        >
            <p>{consequences.clone()}</p>
            <Code label=t().labels.command() text=command.clone()/>
        </Confirm>
    }
}
