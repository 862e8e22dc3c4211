//! The filters and the sort order of a list. The URL contains the filters and the sort order.

use drover_rows::Severity;
use drover_rows::protocol::ViewSpec;
use drover_ui_core::kind::Kind;
use drover_ui_core::url::{parse_sort_parameter, sort_parameter};
use drover_ui_core::visible::TROUBLE;
use drover_ui_kit::table::Sorting;
use leptos::prelude::*;

use super::namespaces::Namespaces;
use crate::screens::address;

/// Returns the default order: by severity.
pub(super) fn usual() -> Sorting<String> {
    Sorting {
        column: TROUBLE.to_owned(),
        descending: false,
    }
}

/// Returns the order of a list without a chosen order: the newest events first, and all other kinds
/// by severity.
fn first_order(kind: Kind) -> Sorting<String> {
    if kind == Kind::EVENTS {
        Sorting {
            column: "last-seen".to_owned(),
            descending: false,
        }
    } else {
        usual()
    }
}

/// The filters, the sort order and the width of a list.
#[derive(Clone, Copy, Debug)]
pub(super) struct View {
    /// The text of the filter.
    pub(super) text: RwSignal<String>,
    /// The filter of clusters, for the list of all clusters.
    pub(super) clusters: RwSignal<String>,
    /// The namespace filter.
    pub(super) namespaces: Namespaces,
    /// The state filter.
    pub(super) severity: RwSignal<Option<Severity>>,
    /// The sort order of the rows.
    pub(super) sorting: RwSignal<Sorting<String>>,
    /// True if the list shows wide columns.
    pub(super) wide: RwSignal<bool>,
}

impl View {
    /// Reads the values from the URL, and updates the URL without new history entries.
    pub(super) fn of_url(kind: Kind, screen: &str) -> Self {
        let own = screen.to_owned();
        let view = Self {
            text: RwSignal::default(),
            clusters: RwSignal::default(),
            namespaces: Namespaces::of(kind),
            severity: RwSignal::new(None),
            sorting: RwSignal::new(first_order(kind)),
            wide: RwSignal::new(false),
        };
        address::read(&own, move |of| view.read(kind, of));
        address::keep(move || view.path(&own));
        view
    }

    fn read(self, kind: Kind, of: &dyn Fn(&str) -> String) {
        self.text.set(of("q"));
        self.clusters.set(of("clusters"));
        self.namespaces.read(of("namespace"));
        let state = of("state");
        let severity = Severity::ALL.into_iter().find(|it| it.word() == state);
        self.severity.set(severity);
        let sort = of("sort");
        let (column, descending) = parse_sort_parameter(&sort);
        let column = column.to_owned();
        self.sorting.set(if sort.is_empty() {
            first_order(kind)
        } else {
            Sorting { column, descending }
        });
        self.wide.set(of("wide") == "true");
    }

    /// Returns the view of a window: the index of its first row, and the number of its rows.
    pub(super) fn spec(self, (first, count): (usize, usize)) -> ViewSpec {
        let sorting = self.sorting.get();
        ViewSpec {
            filter: self.text.get(),
            severity: self.severity.get(),
            sort: sorting.column,
            descending: sorting.descending,
            first,
            count,
        }
    }

    /// Resets the text filter and the state filter.
    pub(super) fn show_all(self) {
        self.text.set(String::new());
        self.severity.set(None);
    }

    fn path(self, screen: &str) -> String {
        let severity = self.severity.get().map(Severity::word).unwrap_or_default();
        let sorting = self.sorting.get();
        let wide = if self.wide.get() { "true" } else { "" };
        let parts = [
            ("q", self.text.get()),
            ("clusters", self.clusters.get()),
            ("namespace", self.namespaces.chosen.get()),
            ("state", severity.to_owned()),
            ("sort", sort_parameter(&sorting.column, sorting.descending)),
            ("wide", wide.to_owned()),
        ];
        address::path(screen, &parts)
    }
}
