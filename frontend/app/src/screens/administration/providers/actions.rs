//! Actions on an identity provider. Each action needs a confirmation.

use drover_api::rest::{AuthProviderView, TokenView};
use drover_ui_core::messages::t;
use drover_ui_core::problem::Problem;
use drover_ui_core::provider::{dependents, enabled, path};
use drover_ui_core::shell;
use drover_ui_kit::code::Code;
use drover_ui_kit::confirm::Confirm;
use drover_ui_kit::notice::{Banner, BannerKind};
use drover_ui_kit::toast::Toasts;
use leptos::prelude::*;
use leptos_router::NavigateOptions;
use leptos_router::hooks::use_navigate;

use super::change::change;
use super::connection_test::LastTest;
use crate::clock::now;
use crate::live::listing::Listing;
use crate::screens::form::Sending;
use crate::session::Session;

/// An action on a provider.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Step {
    /// Enables sign-ins with the provider.
    Enable,
    /// Disables sign-ins with the provider.
    Disable,
    /// Deletes the provider.
    Delete,
}

impl Step {
    /// Returns the label of the action's button.
    pub(super) fn words(self) -> &'static str {
        match self {
            Self::Enable => t().buttons.enable_menu(),
            Self::Disable => t().buttons.disable_menu(),
            Self::Delete => t().buttons.delete_menu(),
        }
    }

    fn verb(self) -> &'static str {
        match self {
            Self::Enable => t().users.enable(),
            Self::Disable => t().users.disable(),
            Self::Delete => t().buttons.delete(),
        }
    }

    const fn command(self) -> &'static str {
        match self {
            Self::Enable => "enable",
            Self::Disable => "disable",
            Self::Delete => "delete",
        }
    }

    fn consequences(self) -> &'static str {
        match self {
            Self::Enable => t().providers.enable_effect(),
            Self::Disable => t().providers.disable_effect(),
            Self::Delete => t().providers.delete_effect(),
        }
    }

    fn title(self, name: &str) -> String {
        match self {
            Self::Enable => t().users.enable_title(name),
            Self::Disable => t().users.disable_title(name),
            Self::Delete => t().users.delete_title(name),
        }
    }

    fn done(self, name: &str) -> String {
        match self {
            Self::Enable => t().users.enabled_user(name),
            Self::Disable => t().users.disabled_user(name),
            Self::Delete => t().users.deleted_user(name),
        }
    }
}

/// Shows the confirmation dialog of an action.
#[component]
pub(super) fn ConfirmStep(
    step: Step,
    name: String,
    open: RwSignal<bool>,
    listing: Listing<AuthProviderView>,
    /// The most recent connection test on this screen.
    tested: LastTest,
) -> impl IntoView {
    let (session, toasts) = (expect_context::<Session>(), expect_context::<Toasts>());
    let (navigate, sending) = (use_navigate(), Sending::new());
    let typed = (step == Step::Delete).then(|| name.clone());
    let title = step.title(&name);
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
            toasts.say(step.done(&name));
            // The dialog can be closed before the response arrives.
            let here = open.try_set(false).is_none();
            if here && step == Step::Delete {
                navigate("/providers", NavigateOptions::default());
            }
        });
    };
    view! {
        <Confirm open=open title=title verb=step.verb() typed=typed busy=sending.busy()
            refused=sending.elsewhere(&[]) on_confirm=go>
            <p>{step.consequences()}</p>
            {(step == Step::Enable).then(|| view! { <Untested tested=tested/> })}
            {(step != Step::Enable).then(|| view! { <AffectedUsers name=name.get_value()/> })}
            {cuts_oneself.then(|| view! {
                <Banner mood=BannerKind::Warning>
                    {t().providers.ends_own_session()}
                </Banner>
            })}
            <Code label=t().labels.command() text=command.get_value()/>
        </Confirm>
    }
}

/// Shows a warning if the provider is untested or the test failed.
#[component]
fn Untested(tested: LastTest) -> impl IntoView {
    let reason = match untrack(move || tested.works()) {
        Some(true) => return None,
        Some(false) => t().providers.test_failed(),
        None => t().providers.untested(),
    };
    Some(view! { <Banner mood=BannerKind::Warning>{reason}</Banner> })
}

/// Shows the number of users and valid tokens that depend on the provider.
#[component]
fn AffectedUsers(name: String) -> impl IntoView {
    let tokens = Listing::<TokenView>::follow("/v1/tokens");
    move || {
        let words = match tokens.items() {
            None => t().providers.affected_unknown().to_owned(),
            Some(tokens) => match dependents(&tokens, &name, now()) {
                (_, 0) => t().providers.affected_none().to_owned(),
                (people, tokens) => t().providers.affected(people, tokens),
            },
        };
        view! { <Banner mood=BannerKind::Warning>{words}</Banner> }
    }
}

async fn act(session: Session, step: Step, name: &str) -> Result<(), Problem> {
    if step == Step::Delete {
        return session.delete(&path(name)).await;
    }
    let is_enabled = |spec: &serde_json::Value| enabled(spec, step == Step::Enable);
    change(session, name, None, is_enabled, None)
        .await
        .map(drop)
}
