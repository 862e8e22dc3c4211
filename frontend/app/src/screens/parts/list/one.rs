//! The screen of an object from a list.

use drover_ui_core::messages::t;
use drover_ui_kit::notice::{EmptyReason, EmptyState, Skeleton};
use leptos::prelude::*;
use leptos_router::components::A;

use super::screen::ListKind;
use super::{ListState, Refused};
use crate::live::listing::{Listed, Listing};

/// Shows the screen of an object, or the reason why the object is not available.
#[component]
pub(crate) fn OneScreen<T: Listed>(
    /// The kind of the listed objects.
    kind: ListKind,
    /// The list that contains the object.
    listing: Listing<T>,
    /// The object; `None` if the list does not contain the object.
    found: Memo<Option<T>>,
    /// The content for an object that does not exist.
    #[prop(into)]
    unknown: ViewFn,
    /// The content of the screen.
    children: ChildrenFn,
) -> impl IntoView {
    // The memo renders the screen again only when the state changes. The content subscribes to the
    // object.
    let state = Memo::new(move |_| {
        let count = usize::from(found.with(Option::is_some));
        ListState::of(listing.items().is_some(), listing.freshness(), count, count)
    });
    move || match state.get() {
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
pub(crate) fn NotFoundState(
    /// The kind of the listed objects.
    kind: ListKind,
    /// The title of the empty state.
    #[prop(into)]
    title: String,
    /// The advice of the empty state.
    advice: &'static str,
    /// The URL path of the list.
    all: &'static str,
) -> impl IntoView {
    view! {
        <div class="page">
            <EmptyState reason=EmptyReason::NotFound title=title advice=advice>
                <A href=all>{t().lists.all(kind.noun)}</A>
            </EmptyState>
        </div>
    }
}
