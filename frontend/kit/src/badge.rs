//! Badges for states. A badge combines icon, color and text, so that the color is not the only
//! signal.

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

    const fn icon(self) -> Icon {
        match self {
            Self::Good => Icon::Check,
            Self::Warning => Icon::Alert,
            Self::Bad => Icon::Cross,
            Self::Busy => Icon::Clock,
            Self::Neutral => Icon::Dash,
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
    view! {
        <span class=move || format!("badge {}", tone.get().class())>
            <Picture icon=Signal::derive(move || tone.get().icon())/>
            <span>{words}</span>
        </span>
    }
}
