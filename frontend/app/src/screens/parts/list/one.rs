//! The screen of one object of a list.

use drover_ui_core::messages::t;
use drover_ui_kit::notice::{Absence, EmptyState, Skeleton};
use leptos::prelude::*;
use leptos_router::components::A;

use super::screen::ListKind;
use super::{ListState, Refused};
use crate::live::listing::{Listed, Listing};

/// The screen of one object, or the reason for its absence.
#[component]
pub(crate) fn OneScreen<T: Listed>(
    /// The kind of the list.
    kind: ListKind,
    /// The list.
    listing: Listing<T>,
    /// The object.
    found: Memo<Option<T>>,
    /// Shown when the object does not exist.
    #[prop(into)]
    unknown: ViewFn,
    /// The screen.
    children: ChildrenFn,
) -> impl IntoView {
    // Renders again only for another kind of answer; the content follows the object itself.
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

/// Shows that the object does not exist, with a link to the list.
#[component]
pub(crate) fn NoneOfThem(
    /// The kind of the list.
    kind: ListKind,
    /// The title.
    #[prop(into)]
    title: String,
    /// The advice.
    advice: &'static str,
    /// The address of the list.
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
