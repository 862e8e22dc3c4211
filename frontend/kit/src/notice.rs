//! What is shown in the place of things: nothing yet, not allowed, not reached, still coming.

use drover_ui_core::messages::t;
use leptos::prelude::*;

use crate::icon::{Icon, Picture};

/// Why there is nothing to see.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Absence {
    /// There is nothing.
    Empty,
    /// The filter hides everything.
    NoMatch,
    /// The right is missing.
    NoPermission,
    /// The server cannot be reached.
    Offline,
    /// Something went wrong.
    Failed,
    /// There is no such thing.
    NotFound,
}

impl Absence {
    const fn icon(self) -> Icon {
        match self {
            Self::Empty => Icon::Clusters,
            Self::NoMatch | Self::NotFound => Icon::Search,
            Self::NoPermission => Icon::Lock,
            Self::Offline => Icon::Offline,
            Self::Failed => Icon::Alert,
        }
    }
}

/// A place without things: what is so, and what to do.
#[component]
pub fn EmptyState(
    /// Why.
    why: Absence,
    /// A few words.
    #[prop(into)]
    title: String,
    /// A sentence that says what to do.
    #[prop(into)]
    advice: String,
    /// A button or a command.
    #[prop(optional)]
    children: Option<Children>,
) -> impl IntoView {
    view! {
        <div class="nothing" role="status">
            <Picture icon=why.icon()/>
            <h2>{title}</h2>
            <p>{advice}</p>
            {children.map(|children| view! { <div class="nothing-next">{children()}</div> })}
        </div>
    }
}

/// How a banner is meant.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mood {
    /// Worth knowing.
    Info,
    /// Take care.
    Warning,
    /// It failed.
    Error,
}

/// A sentence above what it is about.
#[component]
pub fn Banner(
    /// How it is meant.
    mood: Mood,
    /// The sentence, and what else belongs to it.
    children: Children,
) -> impl IntoView {
    let (class, icon, role) = match mood {
        Mood::Info => ("banner info", Icon::Info, "status"),
        Mood::Warning => ("banner warning", Icon::Alert, "status"),
        Mood::Error => ("banner error", Icon::Alert, "alert"),
    };
    view! {
        <div class=class role=role>
            <Picture icon=icon/>
            <div>{children()}</div>
        </div>
    }
}

/// Lines that stand where text will be.
#[component]
pub fn Skeleton(
    /// How many.
    #[prop(default = 3)]
    lines: usize,
) -> impl IntoView {
    view! {
        <div class="skeleton" role="status">
            <span class="unseen">{t().kit.loading()}</span>
            {(0..lines).map(|_| view! { <div class="skeleton-line" aria-hidden="true"></div> }).collect_view()}
        </div>
    }
}
