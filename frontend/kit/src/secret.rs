//! A secret that is shown once: it has to be copied now.

use drover_ui_core::messages::t;
use leptos::html;
use leptos::prelude::*;
use leptos::task::spawn_local;

use crate::button::{Button, Weight};
use crate::code::into_clipboard;
use crate::field::unique;
use crate::icon::Icon;

/// What came of copying.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Copied {
    NotYet,
    Done,
    Refused,
}

/// The secret, whole and in several lines if it is long, with a button that says when it is copied.
#[component]
pub fn SecretText(
    /// What it is, for screen readers: `Token`, `Password`.
    #[prop(into)]
    label: String,
    /// The secret.
    text: String,
    /// Becomes true when it was copied.
    #[prop(optional)]
    taken: Option<RwSignal<bool>>,
    /// Whether it has the focus when it appears: what was there before it is gone.
    #[prop(optional)]
    focused: bool,
) -> impl IntoView {
    let place = NodeRef::<html::Output>::new();
    Effect::new(move || {
        if let Some(place) = place.get().filter(|_| focused) {
            // A secret that is gone already needs no focus.
            let _ = place.focus();
        }
    });
    let (state, note) = (RwSignal::new(Copied::NotYet), unique("note"));
    let text = StoredValue::new(text);
    let press = move |()| {
        spawn_local(async move {
            // The dialog may be closed before the browser has answered.
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
                <span id=note class="soft" role="status">{words}</span>
            </div>
        </div>
    }
}
