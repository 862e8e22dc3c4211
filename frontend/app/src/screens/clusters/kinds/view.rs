//! The filters and the sort order of a list. The URL contains the filters and the sort order.

use drover_ui_core::kind::Kind;
use drover_ui_core::severity::Severity;
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

/// The filters, the sort order and the width of a list.
#[derive(Clone, Copy, Debug)]
pub(super) struct View {
    /// The text of the filter.
    pub(super) text: RwSignal<String>,
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
    pub(super) fn of_url(kind: Kind, cluster: &str) -> Self {
        let own = kind.list_screen(cluster);
        let view = Self {
            text: RwSignal::default(),
            namespaces: Namespaces::of(kind),
            severity: RwSignal::new(None),
            sorting: RwSignal::new(usual()),
            wide: RwSignal::new(false),
        };
        address::read(&own, move |of| view.read(of));
        address::keep(move || view.path(&own));
        view
    }

    fn read(self, of: &dyn Fn(&str) -> String) {
        self.text.set(of("q"));
        self.namespaces.read(of("namespace"));
        let state = of("state");
        let severity = Severity::ALL.into_iter().find(|it| it.word() == state);
        self.severity.set(severity);
        let sort = of("sort");
        let (column, descending) = parse_sort_parameter(&sort);
        let column = column.to_owned();
        self.sorting.set(Sorting { column, descending });
        self.wide.set(of("wide") == "true");
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
            ("namespace", self.namespaces.chosen.get()),
            ("state", severity.to_owned()),
            ("sort", sort_parameter(&sorting.column, sorting.descending)),
            ("wide", wide.to_owned()),
        ];
        address::path(screen, &parts)
    }
}
