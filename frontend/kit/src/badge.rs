//! Badges for states: a shape, a color and a word, so that none of them has to be seen alone.

use leptos::prelude::*;

use crate::icon::{Icon, Picture};

/// What a state means for who looks at it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Tone {
    /// As it should be.
    Good,
    /// It works, but somebody should look.
    Warning,
    /// It does not work.
    Bad,
    /// It goes on by itself.
    Busy,
    /// Nothing to say.
    Neutral,
}

impl Tone {
    /// The class that colors a thing.
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

/// A state in a word or three.
#[component]
pub fn Badge(
    /// What it means.
    #[prop(into)]
    tone: Signal<Tone>,
    /// The words.
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
