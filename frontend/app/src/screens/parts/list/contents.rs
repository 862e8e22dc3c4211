//! The rows of a list, the filtered rows, and the freshness.

use std::sync::Arc;

use drover_ui_kit::table::{Column, Row, sorted};
use leptos::prelude::*;

use super::view::View;
use super::{ListState, counted};
use crate::freshness::Freshness;
use crate::live::Clusters;
use crate::live::listing::{Listed, Listing};

/// The load state and the freshness of a list.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ListStatus {
    /// True after the first response.
    pub(crate) known: Signal<bool>,
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

/// The sorted rows of a list.
pub(crate) type Rows<R> = Memo<Arc<Vec<R>>>;

/// The rows of a list, with their filters, sort order, columns and load state.
#[derive(Clone, Debug)]
pub(crate) struct Contents<R: Row> {
    /// The load state and the freshness of the list.
    pub(crate) status: ListStatus,
    /// The filters and the sort order.
    pub(crate) view: View,
    /// The columns of the list.
    pub(crate) columns: StoredValue<Vec<Column<R>>>,
    /// All rows of the list.
    pub(crate) rows: Rows<R>,
    /// The rows that the filters show.
    pub(crate) shown: Rows<R>,
    /// The state that the list shows: rows, loading, an error or an empty state.
    pub(crate) state: Memo<ListState>,
}

impl<R: Row> Copy for Contents<R> {}

impl<R: Row> Contents<R> {
    /// Creates the contents. `rows` returns the unfiltered rows. `passing` creates a filter
    /// function from the entered text.
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
        // The memo renders the list again only when the state changes.
        let state = Memo::new(move |_| {
            let (all, some) = (rows.with(|it| it.len()), shown.with(|it| it.len()));
            ListState::of(status.known.get(), status.freshness.get(), all, some)
        });
        Self {
            status,
            view,
            columns,
            rows,
            shown,
            state,
        }
    }

    /// Returns the number of shown rows and of all rows as text.
    pub(crate) fn counted(self) -> String {
        counted(
            self.shown.with(|it| it.len()),
            self.rows.with(|it| it.len()),
        )
    }
}
