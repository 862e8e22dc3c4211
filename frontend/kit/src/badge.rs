//! Badges for states. A badge combines icon, color and text, so that the color is not the only
//! signal. Healthy states have a grey dot and grey text, so that problems stand out.

use leptos::prelude::*;

use crate::icon::{Icon, Picture};

/// The severity of a displayed state. The severity selects the color.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Tone {
    /// A healthy state.
    Good,
    /// A state that works but needs attention.
    Warning,
    /// A failed state.
    Bad,
    /// A state in progress.
    Busy,
    /// A neutral state.
    Neutral,
}

impl Tone {
    /// Returns the CSS class for the color.
    pub const fn class(self) -> &'static str {
        match self {
            Self::Good => "tone-good",
            Self::Warning => "tone-warning",
            Self::Bad => "tone-bad",
            Self::Busy => "tone-busy",
            Self::Neutral => "tone-neutral",
        }
    }

    /// Returns the icon. Healthy and neutral states have a dot instead.
    const fn icon(self) -> Option<Icon> {
        match self {
            Self::Good | Self::Neutral => None,
            Self::Warning => Some(Icon::Alert),
            Self::Bad => Some(Icon::Cross),
            Self::Busy => Some(Icon::Clock),
        }
    }
}

/// Shows a state in one to three words.
#[component]
pub fn Badge(
    /// The severity of the state.
    #[prop(into)]
    tone: Signal<Tone>,
    /// The text of the badge.
    #[prop(into)]
    words: Signal<String>,
) -> impl IntoView {
    let mark = move || match tone.get().icon() {
        Some(icon) => view! { <Picture icon=icon/> }.into_any(),
        None => view! { <span class="badge-dot" aria-hidden="true"></span> }.into_any(),
    };
    view! {
        <span class=move || format!("badge {}", tone.get().class())>
            {mark}
            <span>{words}</span>
        </span>
    }
}
