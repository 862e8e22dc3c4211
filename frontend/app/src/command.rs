//! The line below each screen that shows the equivalent shell command.

use drover_ui_core::messages::t;
use drover_ui_kit::code::copy;
use drover_ui_kit::icon::{Icon, Picture};
use drover_ui_kit::toast::Toasts;
use leptos::prelude::*;

/// Shows the shell command that is equivalent to a screen, with a copy button.
#[component]
pub(crate) fn CliCommand(
    /// The shell command.
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

/// Returns the origin of the page, for commands that need the URL of the server.
pub(crate) fn origin() -> String {
    // Only a page without a URL has no origin.
    window().location().origin().unwrap_or_default()
}
