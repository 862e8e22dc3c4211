//! Lists, and the empty and error states of lists.

mod contents;
mod one;
mod screen;
mod view;

use std::collections::HashSet;
use std::sync::Arc;

use drover_ui_core::messages::{Noun, t};
use drover_ui_core::problem::{Problem, ProblemKind};
use drover_ui_core::quantity::count;
use drover_ui_core::rights::RequiredRight;
use drover_ui_core::selection::Selection;
use drover_ui_kit::button::{Button, Weight};
use drover_ui_kit::notice::{EmptyReason, EmptyState};
use drover_ui_kit::table::Row;
use leptos::prelude::*;

use crate::freshness::Freshness;
pub(crate) use contents::{Contents, Rows};
pub(crate) use one::{NotFoundState, OneScreen};
pub(crate) use screen::{ListBody, ListFilter, ListKind, ListScreen};
pub(crate) use view::{Filter, View};

/// The state of a list.
#[derive(Clone, PartialEq)]
pub(crate) enum ListState {
    /// The first response has not arrived.
    Loading,
    /// The first request failed.
    Problem(Problem),
    /// The list has no items.
    Empty,
    /// The filter hides all items.
    NoMatch,
    Rows,
}

impl ListState {
    /// Returns the state of a list from the number of all rows and the number of shown rows.
    pub(crate) fn of(known: bool, freshness: Freshness, rows: usize, shown: usize) -> Self {
        match (known, freshness) {
            (false, Freshness::Stale { problem, .. }) => Self::Problem(problem),
            (false, _) => Self::Loading,
            _ if rows == 0 => Self::Empty,
            _ if shown == 0 => Self::NoMatch,
            _ => Self::Rows,
        }
    }
}

/// Returns `2 of 12` or `1,200 in total`; empty for an empty list.
pub(crate) fn counted(shown: usize, all: usize) -> String {
    let text = |number: usize| count(u64::try_from(number).unwrap_or(u64::MAX));
    match (shown, all) {
        (_, 0) => String::new(),
        (shown, all) if shown == all => t().lists.all_listed(&text(all)),
        (shown, all) => t().lists.some_listed(&text(shown), &text(all)),
    }
}

/// Returns the number of selected rows that the filter shows.
pub(crate) fn in_sight<R: Row>(
    shown: Memo<Arc<Vec<R>>>,
    selection: RwSignal<Selection>,
) -> Signal<usize> {
    Signal::derive(move || {
        let chosen = |row: &&R| selection.with(|it| it.contains(&row.key()));
        shown.with(|rows| rows.iter().filter(chosen).count())
    })
}

/// Deselects rows that no longer exist.
pub(crate) fn forget_gone<R: Row>(rows: Memo<Arc<Vec<R>>>, selection: RwSignal<Selection>) {
    Effect::new(move || {
        rows.with(|rows| {
            let known: HashSet<String> = rows.iter().map(Row::key).collect();
            selection.maybe_update(|selection| selection.retain(|key| known.contains(key)));
        });
    });
}

/// Shows the error of a list request.
#[component]
pub(crate) fn Refused(
    /// The error of the request.
    problem: Problem,
    /// The kind of the listed objects.
    noun: Noun,
) -> impl IntoView {
    let Problem { kind, message, .. } = problem;
    let (reason, title) = match kind {
        ProblemKind::Offline => (
            EmptyReason::Offline,
            t().problems.offline_title().to_owned(),
        ),
        ProblemKind::Forbidden => (EmptyReason::NoPermission, t().lists.forbidden(noun)),
        _ => (EmptyReason::Failed, t().lists.failed(noun)),
    };
    let advice = t().problems.retrying(&message);
    view! { <EmptyState reason=reason title=title advice=advice/> }
}

/// Shows that only administrators can open the screen.
#[component]
pub(crate) fn AdministratorsOnly(
    /// The title of the screen.
    title: &'static str,
) -> impl IntoView {
    view! {
        <div class="page">
            <EmptyState
                reason=EmptyReason::NoPermission
                title=title
                advice=t().lists.ask_administrator()
            />
        </div>
    }
}

/// Shows that the user does not have the permission for the screen.
#[component]
pub(crate) fn NeedsRight(
    /// The kind of the listed objects.
    noun: Noun,
    /// The permission that the screen requires.
    needs: RequiredRight,
) -> impl IntoView {
    view! {
        <div class="page">
            <EmptyState
                reason=EmptyReason::NoPermission
                title=t().lists.forbidden(noun)
                advice=t().lists.ask_for_role(needs.words())
            />
        </div>
    }
}

/// Shows the bar with the number of selected rows and the actions.
#[component]
pub(crate) fn ChosenBar(
    /// The selected rows of the list.
    selection: RwSignal<Selection>,
    /// The number of selected rows that the filter shows.
    in_sight: Signal<usize>,
    /// The actions on the selected rows.
    children: ChildrenFn,
) -> impl IntoView {
    let words = move || {
        let count = selection.with(Selection::len);
        match count.saturating_sub(in_sight.get()) {
            0 => t().lists.selected(count),
            hidden => t().lists.selected_hidden(count, hidden),
        }
    };
    let children = StoredValue::new(children);
    view! {
        <Show when=move || !selection.with(Selection::is_empty)>
            <div class="selection-bar">
                <span role="status">{words}</span>
                {children.with_value(|children| children())}
                <Button weight=Weight::Quiet on_press=move |()| selection.update(Selection::clear)>
                    {t().lists.clear_selection()}
                </Button>
            </div>
        </Show>
    }
}
