//! The fields that set the password of a different user: a generated or entered password.

use drover_api::rest::Secret;
use drover_ui_core::messages::t;
use drover_ui_core::password::{BYTES, of_bytes};
use drover_ui_core::user::{MIN_PASSWORD, input_error};
use drover_ui_kit::field::{Checkbox, Content, TextField};
use drover_ui_kit::toast::Toasts;
use leptos::prelude::*;

/// The choice between a generated and an entered password.
#[derive(Clone, Copy)]
pub(super) struct NewPassword {
    generate: RwSignal<bool>,
    typed: RwSignal<String>,
}

impl NewPassword {
    /// Creates the choice. The default is a generated password.
    pub(super) fn new() -> Self {
        Self {
            generate: RwSignal::new(true),
            typed: RwSignal::new(String::new()),
        }
    }

    /// Reports whether the form can be submitted.
    pub(super) fn is_ready(self) -> bool {
        self.generate.get()
            || self
                .typed
                .with(|typed| typed.chars().count() >= MIN_PASSWORD)
    }

    /// Returns the option of the `drover` command for a generated password; empty for an entered
    /// password.
    pub(super) fn option(self) -> &'static str {
        if self.generate.get() {
            " --generate-password"
        } else {
            ""
        }
    }

    /// Returns the password, and true if the page generated the password and must show it. Warns if
    /// the browser has no random number generator.
    pub(super) fn take(self, toasts: Toasts) -> Option<(Secret, bool)> {
        if !self.generate.get_untracked() {
            return Some((Secret::new(self.typed.get_untracked()), false));
        }
        let password = generated();
        if password.is_none() {
            toasts.warn(t().users.no_random());
        }
        Some((password?, true))
    }
}

fn generated() -> Option<Secret> {
    let mut random = [0; BYTES];
    let crypto = window().crypto().ok()?;
    crypto.get_random_values_with_u8_array(&mut random).ok()?;
    Some(Secret::new(of_bytes(&random)))
}

/// Shows the choice between a generated and an entered password, and the password field.
#[component]
pub(super) fn PasswordFields(
    password: NewPassword,
    error: Signal<Option<String>>,
) -> impl IntoView {
    let error = move || {
        let typed = password.typed.with(|typed| input_error(typed));
        typed.or_else(|| error.get())
    };
    let error = Signal::derive(error);
    view! {
        <div class="stack">
            <Checkbox label=t().users.generate_password() checked=password.generate/>
            <Show
                when=move || !password.generate.get()
                fallback=move || error.get().map(|reason| view! { <p class="field-note error">{reason}</p> })
            >
                <TextField label=t().sign_in.password() content=Content::NewPassword value=password.typed
                    help=t().users.type_password_help(MIN_PASSWORD)
                    error=error focused=true/>
            </Show>
        </div>
    }
}
