//! Toasts: short messages that disappear automatically.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use drover_ui_core::messages::t;
use leptos::prelude::*;

use crate::icon::{Icon, Picture};

/// The display time of a toast.
const DISPLAY_TIME: Duration = Duration::from_secs(6);
/// The display time of a toast with a button. The user needs time to read and to decide.
const DISPLAY_TIME_WITH_BUTTON: Duration = Duration::from_secs(20);
/// The maximum number of visible toasts.
const MAX_TOASTS: usize = 4;

#[derive(Clone, Debug)]
struct Toast {
    number: u64,
    text: String,
    warns: bool,
    button: Option<ToastButton>,
}

/// The button of a toast. The toast can outlive the screen that created the toast, so the function
/// must not use signals of the screen.
#[derive(Clone)]
pub struct ToastButton {
    /// The label: a verb.
    pub label: &'static str,
    /// The function that runs when the user presses the button.
    pub on_press: Arc<dyn Fn() + Send + Sync>,
}

impl fmt::Debug for ToastButton {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("ToastButton")
            .field("label", &self.label)
            .finish_non_exhaustive()
    }
}

/// The visible toasts, as a context.
#[derive(Clone, Copy, Debug)]
pub struct Toasts {
    shown: RwSignal<Vec<Toast>>,
    next: StoredValue<u64>,
}

impl Toasts {
    /// Provides the toasts as a context.
    pub fn provide() -> Self {
        let toasts = Self {
            shown: RwSignal::new(Vec::new()),
            next: StoredValue::new(0),
        };
        provide_context(toasts);
        toasts
    }

    /// Shows a message about a success.
    pub fn say(self, text: impl Into<String>) {
        self.push(text.into(), false, None);
    }

    /// Shows a message about a success, with a button.
    pub fn offer(self, text: impl Into<String>, button: ToastButton) {
        self.push(text.into(), false, Some(button));
    }

    /// Shows a message about an error.
    pub fn warn(self, text: impl Into<String>) {
        self.push(text.into(), true, None);
    }

    fn push(self, text: String, warns: bool, button: Option<ToastButton>) {
        let display_time = match button {
            Some(_) => DISPLAY_TIME_WITH_BUTTON,
            None => DISPLAY_TIME,
        };
        let number = self.next.get_value();
        self.next.set_value(number + 1);
        self.shown.update(|shown| {
            shown.push(Toast {
                number,
                text,
                warns,
                button,
            });
            let surplus = shown.len().saturating_sub(MAX_TOASTS);
            shown.drain(..surplus);
        });
        set_timeout(move || self.drop_one(number), display_time);
    }

    fn drop_one(self, number: u64) {
        self.shown
            .update(|shown| shown.retain(|toast| toast.number != number));
    }
}

/// Shows the toasts in a corner of the page.
#[component]
pub fn ToastCorner(
    /// The visible toasts.
    toasts: Toasts,
) -> impl IntoView {
    view! {
        <div class="toasts" role="status" aria-live="polite">
            <For each=move || toasts.shown.get() key=|toast| toast.number let:toast>
                <div class=if toast.warns { "toast warning" } else { "toast" }>
                    <Picture icon=if toast.warns { Icon::Alert } else { Icon::Check }/>
                    <span>{toast.text.clone()}</span>
                    {toast.button.clone().map(|button| action(toasts, toast.number, button))}
                    <button type="button" class="button quiet" aria-label=t().buttons.dismiss() on:click=move |_| toasts.drop_one(toast.number)>
                        <Picture icon=Icon::Close/>
                    </button>
                </div>
            </For>
        </div>
    }
}

fn action(toasts: Toasts, number: u64, button: ToastButton) -> impl IntoView {
    let press = move |_| {
        toasts.drop_one(number);
        (button.on_press)();
    };
    view! { <button type="button" class="button" on:click=press>{button.label}</button> }
}
