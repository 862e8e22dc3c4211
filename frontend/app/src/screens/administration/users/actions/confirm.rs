//! Steps that need nothing but to be meant.

use drover_api::rest::{UserPatch, UserView};
use drover_ui_core::problem::Problem;
use drover_ui_core::shell;
use drover_ui_core::url::segment;
use drover_ui_core::user::is_last_administrator;
use drover_ui_kit::code::Code;
use drover_ui_kit::confirm::Confirm;
use drover_ui_kit::notice::{Banner, Mood};
use drover_ui_kit::toast::Toasts;
use leptos::prelude::*;

use super::super::PATH;
use super::super::columns::UserRow;
use crate::live::listing::Listing;
use crate::screens::form::Sending;
use crate::session::Session;

/// A step that changes what somebody may do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in super::super) enum Step {
    /// Makes them an administrator.
    GiveOffice,
    /// They administer no more.
    TakeOffice,
    /// Ends all their tokens, sessions included.
    RevokeTokens,
    /// They sign in no more.
    Disable,
    /// They may sign in again.
    Enable,
    /// They are no more.
    Delete,
}

impl Step {
    /// What stands in the menu.
    pub(super) const fn words(self) -> &'static str {
        match self {
            Self::GiveOffice => "Make administrator…",
            Self::TakeOffice => "Take administrator's right…",
            Self::RevokeTokens => "Revoke all tokens…",
            Self::Disable => "Disable…",
            Self::Enable => "Enable…",
            Self::Delete => "Delete…",
        }
    }

    /// Whether they can do less afterwards.
    const fn shuts_out(self) -> bool {
        matches!(self, Self::TakeOffice | Self::Disable | Self::Delete)
    }
}

/// What a step is, in words.
struct Words {
    title: String,
    verb: &'static str,
    keep: &'static str,
    consequences: &'static str,
    /// The command that does the same, where there is one.
    command: Option<String>,
    done: &'static str,
}

fn words(step: Step, name: &str) -> Words {
    let told = |title: &str, verb, keep, consequences, command: Option<&str>, done| Words {
        title: format!("{title} {name}?"),
        verb,
        keep,
        consequences,
        command: command.map(|verb| format!("drover user {verb} {}", shell::word(name))),
        done,
    };
    match step {
        Step::GiveOffice => told(
            "Make an administrator of",
            "Make administrator",
            "Cancel",
            "They may do everything, everywhere: on every cluster, with every user, token and \
             setting, and with you.",
            None,
            "is an administrator.",
        ),
        Step::TakeOffice => told(
            "Take the administrator's right from",
            "Take the right",
            "Cancel",
            "They keep what their roles give them. Whatever they hold open without a role ends \
             within seconds.",
            None,
            "administers no more.",
        ),
        Step::RevokeTokens => told(
            "Revoke all tokens of",
            "Revoke all tokens",
            "Cancel",
            "Their sessions, API tokens and kubeconfig tokens are deleted, and whatever they hold \
             open ends within seconds. They can sign in again.",
            Some("revoke-tokens"),
            "has no tokens left.",
        ),
        Step::Disable => told(
            "Disable",
            "Disable",
            "Cancel",
            "They sign in no more, their tokens are refused, and whatever they hold open (watches, \
             logs, shells) ends within seconds. Nothing is deleted: enabled again, they have their \
             tokens back.",
            Some("disable"),
            "is disabled.",
        ),
        Step::Enable => told(
            "Enable",
            "Enable",
            "Cancel",
            "They may sign in again, and their tokens that have not ended work again.",
            Some("enable"),
            "is enabled.",
        ),
        Step::Delete => told(
            "Delete",
            "Delete",
            "Keep them",
            "They sign in no more. All their tokens are deleted with them, and whatever they hold \
             open ends within seconds. Somebody of the same name made later gets nothing of it. To \
             shut them out for a while, disable them.",
            Some("delete"),
            "is deleted.",
        ),
    }
}

/// The dialog.
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
    let command = StoredValue::new(words.command);
    let go = move |()| {
        let name = name.get_value();
        let request = {
            let name = name.clone();
            async move { act(session, step, &name).await }
        };
        sending.send(request, move |()| {
            listing.again();
            toasts.say(format!("{name} {}", words.done));
            // The dialog may be closed by now.
            let _ = open.try_set(false);
        });
    };
    view! {
        <Confirm
            open=open
            title=words.title
            verb=words.verb
            keep=words.keep
            typed=typed
            busy=sending.busy()
            refused=sending.elsewhere(&[])
            on_confirm=go
        >
            <p>{consequences}</p>
            {step.shuts_out().then(|| view! {
                <Warned name=name.get_value() administers=administers oneself=oneself/>
            })}
            {command.get_value().map(|line| view! { <Code label="Command" text=line/> })}
        </Confirm>
    }
}

/// What the server will say against it, said before it is asked.
#[component]
fn Warned(name: String, administers: bool, oneself: bool) -> impl IntoView {
    let users = administers.then(|| Listing::<UserView>::follow(PATH));
    move || {
        let users = users.and_then(Listing::items);
        let why = if users.is_some_and(|users| is_last_administrator(&users, &name)) {
            "Nobody else administers Drover. Make somebody an administrator first."
        } else if oneself {
            "This is you. The server wants another administrator to do it."
        } else {
            return None;
        };
        Some(view! { <Banner mood=Mood::Warning>{why}</Banner> })
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
        Step::GiveOffice => change(None, Some(true)),
        Step::TakeOffice => change(None, Some(false)),
        Step::Disable => change(Some(false), None),
        Step::Enable => change(Some(true), None),
        Step::RevokeTokens => return session.delete(&format!("{path}/tokens")).await,
        Step::Delete => return session.delete(&path).await,
    };
    session.send_only("PATCH", &path, &change).await
}
