//! One thing of a list, as a screen of its own.

use drover_ui_core::messages::t;
use drover_ui_kit::notice::{Absence, EmptyState, Skeleton};
use leptos::prelude::*;
use leptos_router::components::A;

use super::screen::ListKind;
use super::{ListState, Refused};
use crate::live::listing::{Listed, Listing};

/// The screen of one thing, or why it is not there.
#[component]
pub(crate) fn OneScreen<T: Listed>(
    /// What is listed.
    kind: ListKind,
    /// The list.
    listing: Listing<T>,
    /// The one of it.
    found: Memo<Option<T>>,
    /// Stands where it is none of them.
    #[prop(into)]
    unknown: ViewFn,
    /// The screen.
    children: ChildrenFn,
) -> impl IntoView {
    // Another kind of answer only; what is within follows the thing by itself.
    let what = Memo::new(move |_| {
        let count = usize::from(found.with(Option::is_some));
        ListState::of(listing.items().is_some(), listing.freshness(), count, count)
    });
    move || match what.get() {
        ListState::Loading => view! { <div class="page"><Skeleton lines=8/></div> }.into_any(),
        ListState::Problem(problem) => {
            view! { <div class="page"><Refused problem=problem noun=kind.noun/></div> }.into_any()
        }
        ListState::Empty | ListState::NoMatch => unknown.run(),
        ListState::Rows => children().into_any(),
    }
}

/// Says that there is none of this name, and leads to all of them.
#[component]
pub(crate) fn NoneOfThem(
    /// What is listed.
    kind: ListKind,
    /// That it is not there.
    #[prop(into)]
    title: String,
    /// Why that may be.
    advice: &'static str,
    /// The screen that lists them.
    all: &'static str,
) -> impl IntoView {
    view! {
        <div class="page">
            <EmptyState why=Absence::NotFound title=title advice=advice>
                <A href=all>{t().lists.all(kind.noun)}</A>
            </EmptyState>
        </div>
    }
}
