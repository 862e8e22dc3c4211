//! The shell command that is equivalent to a screen.

use drover_ui_core::messages::t;
use drover_ui_kit::code::copy;
use drover_ui_kit::field::unique;
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

/// Shows a button that opens the shell command of a list. A list has no space for a line below it.
#[component]
pub(crate) fn CommandButton(
    /// The shell command.
    #[prop(into)]
    line: Signal<String>,
) -> impl IntoView {
    let id = unique("command");
    view! {
        <span class="menu-anchor">
            <button
                type="button"
                class="button quiet menu-button"
                popovertarget=id.clone()
                aria-label=t().frame.show_command()
                title=t().frame.show_command()
            >
                <Picture icon=Icon::Terminal/>
            </button>
            <div class="menu command-menu" id=id popover="auto"><CliCommand line=line/></div>
        </span>
    }
}

/// Returns the origin of the page, for commands that need the URL of the server.
pub(crate) fn origin() -> String {
    // Only a page without a URL has no origin.
    window().location().origin().unwrap_or_default()
}
