//! Code blocks with a copy button.

use drover_ui_core::messages::t;
use leptos::prelude::*;
use leptos::task::spawn_local;
use wasm_bindgen_futures::JsFuture;

use crate::icon::{Icon, Picture};
use crate::toast::Toasts;

/// Copies a text to the clipboard. Returns true after a success.
pub(crate) async fn into_clipboard(text: &str) -> bool {
    let clipboard = window().navigator().clipboard();
    JsFuture::from(clipboard.write_text(text)).await.is_ok()
}

/// Copies a text to the clipboard and shows the result in a toast.
pub fn copy(text: String, toasts: Toasts) {
    spawn_local(async move {
        if into_clipboard(&text).await {
            toasts.say(t().kit.copied());
        } else {
            toasts.warn(t().kit.not_copied());
        }
    });
}

/// Shows a code block with a copy button.
#[component]
pub fn Code(
    /// The text of the code block.
    #[prop(into)]
    text: Signal<String>,
    /// The accessible name, such as `Command` or `Manifest`.
    #[prop(into)]
    label: String,
    /// True to wrap long lines.
    #[prop(optional)]
    wraps: bool,
) -> impl IntoView {
    let toasts = expect_context::<Toasts>();
    let named = t().kit.copy_named(&label);
    view! {
        <div class="code" class:wrap=wraps>
            <pre tabindex="0" aria-label=label><code>{text}</code></pre>
            <button type="button" class="button quiet" aria-label=named on:click=move |_| copy(text.get_untracked(), toasts)>
                <Picture icon=Icon::Copy/>
            </button>
        </div>
    }
}
