//! Commands and files to copy.

use drover_ui_core::messages::t;
use leptos::prelude::*;
use leptos::task::spawn_local;
use wasm_bindgen_futures::JsFuture;

use crate::icon::{Icon, Picture};
use crate::toast::Toasts;

/// Puts a text into the clipboard; gives whether that worked.
pub(crate) async fn into_clipboard(text: &str) -> bool {
    let clipboard = window().navigator().clipboard();
    JsFuture::from(clipboard.write_text(text)).await.is_ok()
}

/// Puts a text into the clipboard and says whether that worked.
pub fn copy(text: String, toasts: Toasts) {
    spawn_local(async move {
        if into_clipboard(&text).await {
            toasts.say(t().kit.copied());
        } else {
            toasts.warn(t().kit.not_copied());
        }
    });
}

/// A block of text that is meant to be used elsewhere.
#[component]
pub fn Code(
    /// The text.
    #[prop(into)]
    text: Signal<String>,
    /// What it is, for screen readers: `Command`, `Manifest`.
    #[prop(into)]
    label: String,
    /// Whether a long line is broken, so that all of it is in view.
    #[prop(optional)]
    wraps: bool,
) -> impl IntoView {
    let toasts = expect_context::<Toasts>();
    let named = t().kit.copy_named(&label);
    view! {
        <div class="code" class:wraps=wraps>
            <pre tabindex="0" aria-label=label><code>{text}</code></pre>
            <button type="button" class="button quiet" aria-label=named on:click=move |_| copy(text.get_untracked(), toasts)>
                <Picture icon=Icon::Copy/>
            </button>
        </div>
    }
}
