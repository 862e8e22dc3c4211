//! How fresh the data of a screen is.

use drover_ui_core::messages::t;
use drover_ui_core::problem::Problem;
use drover_ui_kit::notice::{Banner, Mood};
use jiff::Timestamp;
use leptos::prelude::*;

use crate::clock::time_of_day;

/// The freshness of a list.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Freshness {
    /// The first response is pending.
    Connecting,
    /// Live.
    Live,
    /// The connection is lost; the data is stale.
    Stale {
        /// Since when.
        since: Timestamp,
        /// The cause.
        problem: Problem,
    },
}

impl Freshness {
    /// The freshness of two lists together.
    pub(crate) fn and(self, other: Self) -> Self {
        match (self, other) {
            (stale @ Self::Stale { .. }, _) | (_, stale @ Self::Stale { .. }) => stale,
            (Self::Connecting, _) | (_, Self::Connecting) => Self::Connecting,
            (Self::Live, Self::Live) => Self::Live,
        }
    }
}

/// Shows the freshness.
#[component]
pub(crate) fn FreshnessMark(
    /// The freshness.
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

/// Warns about stale data with time and cause.
#[component]
pub(crate) fn StaleBanner(
    /// The freshness of the data.
    #[prop(into)]
    freshness: Signal<Freshness>,
    /// Whether data is shown.
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

/// Warns that an action is unavailable until data is read.
#[component]
pub(crate) fn MissingBanner(
    /// The freshness of the data.
    #[prop(into)]
    freshness: Signal<Freshness>,
    /// Whether the data was read once.
    #[prop(into)]
    known: Signal<bool>,
    /// A sentence that names the missing data and the unavailable action.
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
