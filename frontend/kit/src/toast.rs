//! Toasts: short messages that disappear automatically.

use std::time::Duration;

use drover_ui_core::messages::t;
use leptos::prelude::*;

use crate::icon::{Icon, Picture};

/// The display time of a toast.
const DISPLAY_TIME: Duration = Duration::from_secs(6);
/// The maximum number of visible toasts.
const MAX_TOASTS: usize = 4;

#[derive(Clone, Debug, PartialEq, Eq)]
struct Toast {
    number: u64,
    text: String,
    warns: bool,
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
        self.push(text.into(), false);
    }

    /// Shows a message about an error.
    pub fn warn(self, text: impl Into<String>) {
        self.push(text.into(), true);
    }

    fn push(self, text: String, warns: bool) {
        let number = self.next.get_value();
        self.next.set_value(number + 1);
        self.shown.update(|shown| {
            shown.push(Toast {
                number,
                text,
                warns,
            });
            let surplus = shown.len().saturating_sub(MAX_TOASTS);
            shown.drain(..surplus);
        });
        set_timeout(move || self.drop_one(number), DISPLAY_TIME);
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
                    <button type="button" class="button quiet" aria-label=t().buttons.dismiss() on:click=move |_| toasts.drop_one(toast.number)>
                        <Picture icon=Icon::Close/>
                    </button>
                </div>
            </For>
        </div>
    }
}
