//! The rows of a list, those of them that are shown, and how new they are.

use std::sync::Arc;

use drover_ui_kit::table::{Column, Row, sorted};
use leptos::prelude::*;

use super::view::View;
use super::{ListState, counted};
use crate::freshness::Freshness;
use crate::live::Clusters;
use crate::live::listing::{Listed, Listing};

/// Whether there was an answer, and how new it is.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ListStatus {
    /// Whether there was one.
    pub(crate) known: Signal<bool>,
    /// How new it is.
    pub(crate) freshness: Signal<Freshness>,
}

impl<T: Listed> From<Listing<T>> for ListStatus {
    fn from(listing: Listing<T>) -> Self {
        Self {
            known: Signal::derive(move || listing.items().is_some()),
            freshness: Signal::derive(move || listing.freshness()),
        }
    }
}

impl From<Clusters> for ListStatus {
    fn from(clusters: Clusters) -> Self {
        Self {
            known: Signal::derive(move || clusters.items().is_some()),
            freshness: Signal::derive(move || clusters.freshness()),
        }
    }
}

/// Rows in their order.
pub(crate) type Rows<R> = Memo<Arc<Vec<R>>>;

/// What a list holds, and what of it is shown.
#[derive(Clone, Debug)]
pub(crate) struct Contents<R: Row> {
    /// How new it is.
    pub(crate) status: ListStatus,
    /// ListState of it is shown.
    pub(crate) view: View,
    /// Its columns.
    pub(crate) columns: StoredValue<Vec<Column<R>>>,
    /// All of it.
    pub(crate) rows: Rows<R>,
    /// ListState passes the filters.
    pub(crate) shown: Rows<R>,
    /// What stands in its place.
    pub(crate) what: Memo<ListState>,
}

impl<R: Row> Copy for Contents<R> {}

impl<R: Row> Contents<R> {
    /// The rows that `rows` makes, of which those are shown that pass what `passing` makes of the
    /// typed text.
    pub(crate) fn new<F: Fn(&R) -> bool>(
        status: impl Into<ListStatus>,
        view: View,
        columns: Vec<Column<R>>,
        rows: impl Fn() -> Vec<R> + Send + Sync + 'static,
        passing: impl Fn(String) -> F + Send + Sync + 'static,
    ) -> Self {
        let (status, columns) = (status.into(), StoredValue::new(columns));
        let rows = Memo::new(move |_| {
            let (rows, sorting) = (rows(), view.sorting.get());
            Arc::new(columns.with_value(|columns| sorted(rows, columns, sorting)))
        });
        let shown = Memo::new(move |_| {
            let (rows, passes) = (rows.get(), passing(view.text.get()));
            let passing = rows.iter().filter(|row| passes(row));
            Arc::new(passing.cloned().collect::<Vec<_>>())
        });
        // What is there decides, not every change of it.
        let what = Memo::new(move |_| {
            let (all, some) = (rows.with(|it| it.len()), shown.with(|it| it.len()));
            ListState::of(status.known.get(), status.freshness.get(), all, some)
        });
        Self {
            status,
            view,
            columns,
            rows,
            shown,
            what,
        }
    }

    /// How many of how many are shown, in words.
    pub(crate) fn counted(self) -> String {
        counted(
            self.shown.with(|it| it.len()),
            self.rows.with(|it| it.len()),
        )
    }
}
