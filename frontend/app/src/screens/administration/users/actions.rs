//! Actions on a user. Each action has a dialog.

mod confirm;
mod rename;
mod secret;

use drover_api::rest::{Secret, UserView};
use drover_ui_core::messages::t;
use drover_ui_kit::button::Button;
use drover_ui_kit::notice::{Banner, BannerKind};
use drover_ui_kit::rich::rich;
use drover_ui_kit::secret::SecretText;
use leptos::prelude::*;

use super::columns::UserRow;
use crate::live::listing::Listing;
use confirm::ConfirmStep;
pub(super) use confirm::Step;
use rename::Rename;
use secret::SetPassword;

/// An action on a user.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Action {
    /// Changes the display name.
    Rename,
    /// Sets a password that the user must change.
    SetPassword,
    /// Runs an action after a confirmation.
    Step(Step),
}

impl Action {
    /// Returns the label in the menu.
    pub(super) fn words(self) -> &'static str {
        match self {
            Self::Rename => t().users.rename_menu(),
            Self::SetPassword => t().users.set_password_menu(),
            Self::Step(step) => step.words(),
        }
    }
}

/// The requested action and its user.
#[derive(Clone, Copy, Debug)]
pub(super) struct Actions {
    open: RwSignal<bool>,
    asked: RwSignal<Option<(Action, UserRow)>>,
}

impl Actions {
    /// Provides the requested action as a context.
    pub(super) fn provide() -> Self {
        let actions = Self {
            open: RwSignal::new(false),
            asked: RwSignal::new(None),
        };
        provide_context(actions);
        actions
    }

    /// Opens the dialog of an action.
    pub(super) fn ask(self, action: Action, row: UserRow) {
        self.asked.set(Some((action, row)));
        self.open.set(true);
    }
}

/// Shows the dialog of the requested action.
#[component]
pub(super) fn ActionDialog(actions: Actions, listing: Listing<UserView>) -> impl IntoView {
    let Actions {
        open,
        asked: target,
    } = actions;
    move || {
        target.get().map(|(action, row)| match action {
            Action::Rename => {
                view! { <Rename user=row.user open=open listing=listing/> }.into_any()
            }
            Action::SetPassword => {
                view! { <SetPassword row=row open=open listing=listing/> }.into_any()
            }
            Action::Step(step) => {
                view! { <ConfirmStep step=step row=row open=open listing=listing/> }.into_any()
            }
        })
    }
}

/// A generated password and the name of its user.
#[derive(Clone, PartialEq)]
pub(super) struct GeneratedPassword {
    name: String,
    password: Secret,
}

impl GeneratedPassword {
    /// Shows a generated password. Closes the dialog if the user entered the password.
    pub(super) fn tell(
        show: bool,
        name: String,
        password: Secret,
        generated: RwSignal<Option<Self>>,
        open: RwSignal<bool>,
    ) {
        // The dialog and its signals can be disposed before the response arrives.
        if show {
            let _ = generated.try_set(Some(Self { name, password }));
        } else {
            let _ = open.try_set(false);
        }
    }
}

/// Shows the generated password once.
#[component]
pub(super) fn FirstPassword(generated: GeneratedPassword, open: RwSignal<bool>) -> impl IntoView {
    let GeneratedPassword { name, password } = generated;
    let taken = RwSignal::new(false);
    let close = move || {
        if taken.get() {
            t().buttons.done()
        } else {
            t().users.password_sent()
        }
    };
    view! {
        <div class="dialog-body">
            <Banner mood=BannerKind::Warning>
                {t().users.copy_password()}
            </Banner>
            <SecretText label=t().users.password_of(&name) text=password.expose().to_owned() taken=taken focused=true/>
            <p>
                {rich(t().users.send_password(&name))}
            </p>
            <div class="dialog-foot">
                <Button on_press=move |()| open.set(false)>{close}</Button>
            </div>
        </div>
    }
}
