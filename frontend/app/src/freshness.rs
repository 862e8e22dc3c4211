//! How new what a screen shows is, and how it says so.

use drover_ui_core::messages::t;
use drover_ui_core::problem::Problem;
use drover_ui_kit::notice::{Banner, Mood};
use jiff::Timestamp;
use leptos::prelude::*;

use crate::clock::time_of_day;

/// How new a list is.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Freshness {
    /// It has not come yet.
    Connecting,
    /// As new as the server's.
    Live,
    /// It was cut off; what is shown is as it was then.
    Stale {
        /// When.
        since: Timestamp,
        /// Why.
        problem: Problem,
    },
}

impl Freshness {
    /// How new two lists are together.
    pub(crate) fn and(self, other: Self) -> Self {
        match (self, other) {
            (stale @ Self::Stale { .. }, _) | (_, stale @ Self::Stale { .. }) => stale,
            (Self::Connecting, _) | (_, Self::Connecting) => Self::Connecting,
            (Self::Live, Self::Live) => Self::Live,
        }
    }
}

/// Says how new what is shown is.
#[component]
pub(crate) fn FreshnessMark(
    /// How new.
    #[prop(into)]
    freshness: Signal<Freshness>,
) -> impl IntoView {
    let class = move || match freshness.get() {
        Freshness::Connecting => "freshness connecting",
        Freshness::Live => "freshness",
        Freshness::Stale { .. } => "freshness stale",
    };
    let words = move || match freshness.get() {
        Freshness::Connecting => t().freshness.connecting().to_owned(),
        Freshness::Live => t().freshness.live().to_owned(),
        Freshness::Stale { since, .. } => t().freshness.stale_since(&time_of_day(since)),
    };
    view! { <span class=class role="status">{words}</span> }
}

/// What was cut, since when, and why; nothing while all is well, or nothing is shown yet.
#[component]
pub(crate) fn StaleBanner(
    /// How new what is shown is.
    #[prop(into)]
    freshness: Signal<Freshness>,
    /// Whether something is.
    #[prop(into)]
    shown: Signal<bool>,
) -> impl IntoView {
    move || match freshness.get() {
        Freshness::Stale { since, problem } if shown.get() => {
            let words = t().freshness.stale(&time_of_day(since), &problem.message);
            Some(view! { <Banner mood=Mood::Warning>{words}</Banner> })
        }
        _ => None,
    }
}

/// What cannot be done before something is read, and why it is not; nothing once it was.
#[component]
pub(crate) fn MissingBanner(
    /// How new what is read is.
    #[prop(into)]
    freshness: Signal<Freshness>,
    /// Whether it was ever read.
    #[prop(into)]
    known: Signal<bool>,
    /// What is missing, and for what: a sentence.
    words: &'static str,
) -> impl IntoView {
    move || match freshness.get() {
        Freshness::Stale { problem, .. } if !known.get() => {
            let words = t().freshness.missing(words, &problem.message);
            Some(view! { <Banner mood=Mood::Warning>{words}</Banner> })
        }
        _ => None,
    }
}
