//! Badges for states: icon, color and word together, for accessibility.

use leptos::prelude::*;

use crate::icon::{Icon, Picture};

/// The meaning of a state.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Tone {
    /// Healthy.
    Good,
    /// Works, but needs attention.
    Warning,
    /// Failed.
    Bad,
    /// In progress.
    Busy,
    /// No meaning.
    Neutral,
}

impl Tone {
    /// The CSS class of the color.
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

/// A state in one to three words.
#[component]
pub fn Badge(
    /// The tone.
    #[prop(into)]
    tone: Signal<Tone>,
    /// The text.
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
