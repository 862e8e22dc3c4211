//! The search field for long texts.

use drover_ui_core::messages::t;
use leptos::prelude::*;
use web_sys::KeyboardEvent;

use crate::icon::{Icon, Picture};

/// Shows a search field. Enter selects the next match, and Shift+Enter selects the previous match.
#[component]
pub fn FindField(
    /// The accessible name of the field.
    #[prop(into)]
    label: String,
    /// The text to search for.
    value: RwSignal<String>,
    /// The number of matching lines.
    #[prop(into)]
    count: Signal<usize>,
    /// The index of the current match.
    #[prop(into)]
    at: Signal<Option<usize>>,
    /// The callback that selects a match: `true` for the next match, `false` for the previous
    /// match.
    #[prop(into)]
    on_step: Callback<bool>,
) -> impl IntoView {
    let keys = move |event: KeyboardEvent| {
        if event.key() == "Enter" {
            event.prevent_default();
            on_step.run(!event.shift_key());
        }
    };
    let words = move || {
        let looks = value.with(|value| !value.is_empty());
        looks.then(|| found(count.get(), at.get()))
    };
    let nothing = move || count.get() == 0;
    view! {
        <div class="find" role="search">
            <div class="search">
                <Picture icon=Icon::Search/>
                <input
                    type="search"
                    aria-label=label
                    placeholder=t().buttons.find()
                    autocomplete="off"
                    spellcheck="false"
                    prop:value=value
                    on:input=move |event| value.set(event_target_value(&event))
                    on:keydown=keys
                />
            </div>
            <span class="find-count muted" role="status">{words}</span>
            <button type="button" class="button quiet" aria-label=t().kit.previous_match() disabled=nothing on:click=move |_| on_step.run(false)>
                "↑"
            </button>
            <button type="button" class="button quiet" aria-label=t().kit.next_match() disabled=nothing on:click=move |_| on_step.run(true)>
                "↓"
            </button>
        </div>
    }
}

fn found(count: usize, at: Option<usize>) -> String {
    match at {
        Some(at) if count > 0 => t().kit.match_of((at + 1).min(count), count),
        _ => t().kit.lines_found(count),
    }
}
