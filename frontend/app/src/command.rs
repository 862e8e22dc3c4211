//! The line below each screen with the equivalent command.

use drover_ui_core::messages::t;
use drover_ui_kit::code::copy;
use drover_ui_kit::icon::{Icon, Picture};
use drover_ui_kit::toast::Toasts;
use leptos::prelude::*;

/// Shows the equivalent command with a copy button.
#[component]
pub(crate) fn SameCommand(
    /// The command.
    #[prop(into)]
    line: Signal<String>,
) -> impl IntoView {
    let toasts = expect_context::<Toasts>();
    view! {
        <span class="cli-command">
            {t().frame.same_command()}
            <code>{line}</code>
            <button
                type="button"
                class="button quiet"
                aria-label=t().frame.copy_command()
                on:click=move |_| copy(line.get_untracked(), toasts)
            >
                <Picture icon=Icon::Copy/>
            </button>
        </span>
    }
}

/// The server's own address, for commands that need it.
pub(crate) fn origin() -> String {
    // Only a page without an address has no origin.
    window().location().origin().unwrap_or_default()
}
