//! Actions on a user. Each action needs only a confirmation.

use drover_api::rest::{UserPatch, UserView};
use drover_ui_core::messages::t;
use drover_ui_core::problem::Problem;
use drover_ui_core::shell;
use drover_ui_core::url::segment;
use drover_ui_core::user::is_last_administrator;
use drover_ui_kit::code::Code;
use drover_ui_kit::confirm::Confirm;
use drover_ui_kit::notice::{Banner, BannerKind};
use drover_ui_kit::toast::Toasts;
use leptos::prelude::*;

use super::super::PATH;
use super::super::columns::UserRow;
use crate::live::listing::Listing;
use crate::screens::form::Sending;
use crate::session::Session;

/// An action that needs only a confirmation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in super::super) enum Step {
    /// Makes the user an administrator.
    MakeAdministrator,
    /// Removes the administrator permission from the user.
    RemoveAdministrator,
    /// Deletes all tokens and sessions of the user.
    RevokeTokens,
    /// Disables sign-ins of the user.
    Disable,
    /// Enables sign-ins of the user.
    Enable,
    /// Deletes the user.
    Delete,
}

impl Step {
    /// Returns the label in the menu.
    pub(super) fn words(self) -> &'static str {
        match self {
            Self::MakeAdministrator => t().users.make_administrator_menu(),
            Self::RemoveAdministrator => t().users.remove_administrator_menu(),
            Self::RevokeTokens => t().users.revoke_tokens_menu(),
            Self::Disable => t().buttons.disable_menu(),
            Self::Enable => t().buttons.enable_menu(),
            Self::Delete => t().buttons.delete_menu(),
        }
    }

    /// Reports whether the action reduces permissions.
    const fn reduces_rights(self) -> bool {
        matches!(
            self,
            Self::RemoveAdministrator | Self::Disable | Self::Delete
        )
    }
}

/// The texts of the confirmation dialog.
struct ConfirmTexts {
    title: String,
    verb: &'static str,
    consequences: &'static str,
    /// The equivalent command, if one exists.
    command: Option<String>,
    done: String,
}

fn words(step: Step, name: &str) -> ConfirmTexts {
    let t = &t().users;
    let (title, verb, consequences, done) = match step {
        Step::MakeAdministrator => (
            t.make_administrator_title(name),
            t.make_administrator(),
            t.make_administrator_effect(),
            t.made_administrator(name),
        ),
        Step::RemoveAdministrator => (
            t.remove_administrator_title(name),
            t.remove_administrator(),
            t.remove_administrator_effect(),
            t.removed_administrator(name),
        ),
        Step::RevokeTokens => (
            t.revoke_tokens_title(name),
            t.revoke_tokens(),
            t.revoke_tokens_effect(),
            t.revoked_tokens(name),
        ),
        Step::Disable => (
            t.disable_title(name),
            t.disable(),
            t.disable_effect(),
            t.disabled_user(name),
        ),
        Step::Enable => (
            t.enable_title(name),
            t.enable(),
            t.enable_effect(),
            t.enabled_user(name),
        ),
        Step::Delete => (
            t.delete_title(name),
            t.delete(),
            t.delete_effect(),
            t.deleted_user(name),
        ),
    };
    let command = match step {
        Step::MakeAdministrator | Step::RemoveAdministrator => None,
        Step::RevokeTokens => Some("revoke-tokens"),
        Step::Disable => Some("disable"),
        Step::Enable => Some("enable"),
        Step::Delete => Some("delete"),
    };
    ConfirmTexts {
        title,
        verb,
        consequences,
        command: command.map(|verb| format!("drover user {verb} {}", shell::word(name))),
        done,
    }
}

/// Shows the confirmation dialog.
#[component]
pub(super) fn ConfirmStep(
    step: Step,
    row: UserRow,
    open: RwSignal<bool>,
    listing: Listing<UserView>,
) -> impl IntoView {
    let (session, toasts) = (expect_context::<Session>(), expect_context::<Toasts>());
    let sending = Sending::new();
    let UserRow { user, oneself } = row;
    let words = words(step, &user.name);
    let administers = user.administrator;
    let typed = (step == Step::Delete).then(|| user.name.clone());
    let (name, consequences) = (StoredValue::new(user.name), words.consequences);
    let (command, done) = (
        StoredValue::new(words.command),
        StoredValue::new(words.done),
    );
    let go = move |()| {
        let (name, done) = (name.get_value(), done.get_value());
        let request = async move { act(session, step, &name).await };
        sending.send(request, move |()| {
            listing.again();
            toasts.say(done);
            // The dialog can be closed before the response arrives.
            let _ = open.try_set(false);
        });
    };
    view! {
        <Confirm
            open=open
            title=words.title
            verb=words.verb
            typed=typed
            busy=sending.busy()
            refused=sending.elsewhere(&[])
            on_confirm=go
        >
            <p>{consequences}</p>
            {step.reduces_rights().then(|| view! {
                <RejectionWarnings name=name.get_value() administers=administers oneself=oneself/>
            })}
            {command.get_value().map(|line| view! { <Code label=t().labels.command() text=line/> })}
        </Confirm>
    }
}

/// Shows warnings about actions that the server will reject.
#[component]
fn RejectionWarnings(name: String, administers: bool, oneself: bool) -> impl IntoView {
    let users = administers.then(|| Listing::<UserView>::follow(PATH));
    move || {
        let users = users.and_then(Listing::items);
        let reason = if users.is_some_and(|users| is_last_administrator(&users, &name)) {
            t().users.last_administrator()
        } else if oneself {
            t().users.own_account()
        } else {
            return None;
        };
        Some(view! { <Banner mood=BannerKind::Warning>{reason}</Banner> })
    }
}

async fn act(session: Session, step: Step, name: &str) -> Result<(), Problem> {
    let path = format!("/v1/users/{}", segment(name));
    let change = |enabled, administrator| UserPatch {
        enabled,
        display_name: None,
        administrator,
    };
    let change = match step {
        Step::MakeAdministrator => change(None, Some(true)),
        Step::RemoveAdministrator => change(None, Some(false)),
        Step::Disable => change(Some(false), None),
        Step::Enable => change(Some(true), None),
        Step::RevokeTokens => return session.delete(&format!("{path}/tokens")).await,
        Step::Delete => return session.delete(&path).await,
    };
    session.send_only("PATCH", &path, &change).await
}
