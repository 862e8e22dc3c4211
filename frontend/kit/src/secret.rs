//! Shows a secret once.

use drover_ui_core::messages::t;
use leptos::html;
use leptos::prelude::*;
use leptos::task::spawn_local;

use crate::button::{Button, Weight};
use crate::code::into_clipboard;
use crate::field::unique;
use crate::icon::Icon;

/// The result of copying the secret.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Copied {
    NotYet,
    Done,
    Refused,
}

/// Shows the secret with a copy button. Long secrets wrap.
#[component]
pub fn SecretText(
    /// The accessible name, such as `Token` or `Password`.
    #[prop(into)]
    label: String,
    /// The text of the secret.
    text: String,
    /// The signal that the component sets to true when the user copies the secret.
    #[prop(optional)]
    taken: Option<RwSignal<bool>>,
    /// True to focus the secret initially, because the previously focused element was removed.
    #[prop(optional)]
    focused: bool,
) -> impl IntoView {
    let place = NodeRef::<html::Output>::new();
    Effect::new(move || {
        if let Some(place) = place.get().filter(|_| focused) {
            // The element can be disposed before the focus moves.
            let _ = place.focus();
        }
    });
    let (state, note) = (RwSignal::new(Copied::NotYet), unique("note"));
    let text = StoredValue::new(text);
    let press = move |()| {
        spawn_local(async move {
            // The dialog can be closed before the clipboard responds.
            let Some(text) = text.try_get_value() else {
                return;
            };
            let done = into_clipboard(&text).await;
            let _ = state.try_set(if done { Copied::Done } else { Copied::Refused });
            if let Some(taken) = taken.filter(|_| done) {
                let _ = taken.try_set(true);
            }
        });
    };
    let words = move || match state.get() {
        Copied::NotYet => "",
        Copied::Done => t().kit.copied(),
        Copied::Refused => t().kit.not_copied(),
    };
    let button = move || match state.get() {
        Copied::Done => t().buttons.copy_again(),
        _ => t().buttons.copy(),
    };
    view! {
        <div class="secret">
            <output node_ref=place class="secret-text" tabindex="0" aria-label=label aria-describedby=note.clone()>
                {text.get_value()}
            </output>
            <div class="row">
                <Button weight=Weight::Primary icon=Icon::Copy on_press=press>{button}</Button>
                <span id=note class="muted" role="status">{words}</span>
            </div>
        </div>
    }
}
