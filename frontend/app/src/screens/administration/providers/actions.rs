//! What can be done with an identity provider: each action in a dialog that says what it does.

use drover_api::rest::{AuthProviderView, TokenView};
use drover_ui_core::problem::Problem;
use drover_ui_core::provider::{enabled, path, stands_on};
use drover_ui_core::quantity::count;
use drover_ui_core::shell;
use drover_ui_kit::button::Weight;
use drover_ui_kit::code::Code;
use drover_ui_kit::confirm::Confirm;
use drover_ui_kit::notice::{Banner, Mood};
use drover_ui_kit::toast::Toasts;
use leptos::prelude::*;
use leptos_router::NavigateOptions;
use leptos_router::hooks::use_navigate;

use super::change::change;
use super::trial::Tested;
use crate::clock::now;
use crate::live::listing::Listing;
use crate::screens::form::Sending;
use crate::session::Session;

/// A step that needs nothing but to be meant.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Step {
    /// People sign in with it.
    Enable,
    /// Nobody does.
    Disable,
    /// It is no more.
    Delete,
}

impl Step {
    /// What stands on its button.
    pub(super) const fn words(self) -> &'static str {
        match self {
            Self::Enable => "Enable…",
            Self::Disable => "Disable…",
            Self::Delete => "Delete…",
        }
    }

    /// How its button looks.
    pub(super) const fn weight(self) -> Weight {
        match self {
            Self::Enable | Self::Disable => Weight::Plain,
            Self::Delete => Weight::Danger,
        }
    }

    const fn verb(self) -> &'static str {
        match self {
            Self::Enable => "Enable",
            Self::Disable => "Disable",
            Self::Delete => "Delete",
        }
    }

    const fn command(self) -> &'static str {
        match self {
            Self::Enable => "enable",
            Self::Disable => "disable",
            Self::Delete => "delete",
        }
    }

    const fn consequences(self) -> &'static str {
        match self {
            Self::Enable => {
                "It stands on the sign-in page, and people sign in with it. Who comes for the first \
                 time becomes a user, and may do nothing until a role is given to them or to a group \
                 of theirs."
            }
            Self::Disable => {
                "Nobody signs in with it. Sessions and tokens that stand on it are refused, its groups \
                 count no more, and what its people hold open ends within seconds. Nothing is \
                 deleted: enabled again, it all counts again."
            }
            Self::Delete => {
                "Nobody signs in with it. Sessions and tokens that stand on it are refused for ever, \
                 its groups count no more, and what its people hold open ends within seconds. One of \
                 the same name made later is another, and nothing comes back. To shut its people out \
                 for a while, disable it."
            }
        }
    }

    const fn done(self) -> &'static str {
        match self {
            Self::Enable => "is enabled.",
            Self::Disable => "is disabled.",
            Self::Delete => "is deleted.",
        }
    }
}

/// The dialog of a step.
#[component]
pub(super) fn ConfirmStep(
    step: Step,
    name: String,
    open: RwSignal<bool>,
    listing: Listing<AuthProviderView>,
    /// What the last test on this screen showed.
    tested: Tested,
) -> impl IntoView {
    let (session, toasts) = (expect_context::<Session>(), expect_context::<Toasts>());
    let (navigate, sending) = (use_navigate(), Sending::new());
    let typed = (step == Step::Delete).then(|| name.clone());
    let title = format!("{} {name}?", step.verb());
    let cuts_oneself = step != Step::Enable && session.provider().as_ref() == Some(&name);
    let command = format!("drover provider {} {}", step.command(), shell::word(&name));
    let (name, command) = (StoredValue::new(name), StoredValue::new(command));
    let go = move |()| {
        let (name, navigate) = (name.get_value(), navigate.clone());
        let request = {
            let name = name.clone();
            async move { act(session, step, &name).await }
        };
        sending.send(request, move |()| {
            listing.again();
            toasts.say(format!("{name} {}", step.done()));
            // The dialog may be closed by now.
            let here = open.try_set(false).is_none();
            if here && step == Step::Delete {
                navigate("/providers", NavigateOptions::default());
            }
        });
    };
    view! {
        <Confirm open=open title=title verb=step.verb() keep="Cancel" typed=typed busy=sending.busy()
            refused=sending.elsewhere(&[]) on_confirm=go>
            <p>{step.consequences()}</p>
            {(step == Step::Enable).then(|| view! { <Untested tested=tested/> })}
            {(step != Step::Enable).then(|| view! { <WhoIsCut name=name.get_value()/> })}
            {cuts_oneself.then(|| view! {
                <Banner mood=Mood::Warning>
                    "This is you: you are signed in with it, and are signed out at once. See first that an administrator can come in another way."
                </Banner>
            })}
            <Code label="Command" text=command.get_value()/>
        </Confirm>
    }
}

/// That nobody knows yet whether it works.
#[component]
fn Untested(tested: Tested) -> impl IntoView {
    let why = match untrack(move || tested.works()) {
        Some(true) => return None,
        Some(false) => "The test showed that it does not work yet: people would not get in.",
        None => {
            "It was not tested on this page as it is now. A test shows at once whether people get in."
        }
    };
    Some(view! { <Banner mood=Mood::Warning>{why}</Banner> })
}

/// How many people lose what they have.
#[component]
fn WhoIsCut(name: String) -> impl IntoView {
    let tokens = Listing::<TokenView>::follow("/v1/tokens");
    move || {
        let words = match tokens.items() {
            None => "Who is signed in with it loses access at once.".to_owned(),
            Some(tokens) => match stands_on(&tokens, &name, now()) {
                (_, 0) => "Nobody is signed in with it now.".to_owned(),
                (people, tokens) => {
                    let text = |number: usize| count(u64::try_from(number).unwrap_or(u64::MAX));
                    let person = if people == 1 { "person" } else { "people" };
                    let token = if tokens == 1 { "token" } else { "tokens" };
                    format!(
                        "{} {person} with {} {token} that stand on it lose access at once.",
                        text(people),
                        text(tokens)
                    )
                }
            },
        };
        view! { <Banner mood=Mood::Warning>{words}</Banner> }
    }
}

async fn act(session: Session, step: Step, name: &str) -> Result<(), Problem> {
    if step == Step::Delete {
        return session.delete(&path(name)).await;
    }
    let wanted = |spec: &serde_json::Value| enabled(spec, step == Step::Enable);
    change(session, name, None, wanted, None).await.map(drop)
}
