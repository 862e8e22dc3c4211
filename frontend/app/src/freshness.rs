//! The freshness of the data on a screen.

use drover_ui_core::messages::t;
use drover_ui_core::problem::Problem;
use drover_ui_kit::notice::{Banner, BannerKind};
use jiff::Timestamp;
use leptos::prelude::*;

use crate::clock::time_of_day;

/// States whether the data of a list is loading, live or stale.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Freshness {
    /// The first response has not arrived.
    Connecting,
    /// The data is live.
    Live,
    /// The connection is interrupted, and the data is stale.
    Stale {
        /// The start of the interruption.
        since: Timestamp,
        /// The cause of the interruption.
        problem: Problem,
    },
}

impl Freshness {
    /// Combines the freshness of two lists: stale if a list is stale, else connecting if a list is
    /// connecting.
    pub(crate) fn and(self, other: Self) -> Self {
        match (self, other) {
            (stale @ Self::Stale { .. }, _) | (_, stale @ Self::Stale { .. }) => stale,
            (Self::Connecting, _) | (_, Self::Connecting) => Self::Connecting,
            (Self::Live, Self::Live) => Self::Live,
        }
    }
}

/// Shows the freshness next to the heading of a screen.
#[component]
pub(crate) fn FreshnessMark(
    /// The freshness of the data on the screen.
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

/// Shows a warning about stale data, with time and cause.
#[component]
pub(crate) fn StaleBanner(
    /// The freshness of the data on the screen.
    #[prop(into)]
    freshness: Signal<Freshness>,
    /// True if the screen shows data.
    #[prop(into)]
    shown: Signal<bool>,
) -> impl IntoView {
    move || match freshness.get() {
        Freshness::Stale { since, problem } if shown.get() => {
            let words = t().freshness.stale(&time_of_day(since), &problem.message);
            Some(view! { <Banner mood=BannerKind::Warning>{words}</Banner> })
        }
        _ => None,
    }
}

/// Shows a warning that an action is unavailable until the required data is loaded.
#[component]
pub(crate) fn MissingBanner(
    /// The freshness of the required data.
    #[prop(into)]
    freshness: Signal<Freshness>,
    /// True if the required data was loaded at least once.
    #[prop(into)]
    known: Signal<bool>,
    /// A sentence that names the missing data and the unavailable action.
    words: &'static str,
) -> impl IntoView {
    move || match freshness.get() {
        Freshness::Stale { problem, .. } if !known.get() => {
            let words = t().freshness.missing(words, &problem.message);
            Some(view! { <Banner mood=BannerKind::Warning>{words}</Banner> })
        }
        _ => None,
    }
}
