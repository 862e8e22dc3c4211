//! The filters and the sort order of a list. The URL contains the filters and the sort order.

use drover_ui_kit::table::{Column, Sorting};
use leptos::prelude::*;

use crate::screens::address;

/// The filters, the sort order, and the state of the create dialog.
#[derive(Clone, Copy, Debug)]
pub(crate) struct View {
    /// The text of the filter.
    pub(crate) text: RwSignal<String>,
    /// The sort order of the rows.
    pub(crate) sorting: RwSignal<Sorting>,
    /// True while the create dialog is open.
    pub(crate) making: RwSignal<bool>,
    filters: StoredValue<Vec<Filter>>,
}

impl View {
    /// Creates a view that the URL does not contain, for lists within a screen.
    pub(crate) fn in_order(sorting: Sorting) -> Self {
        Self {
            text: RwSignal::new(String::new()),
            sorting: RwSignal::new(sorting),
            making: RwSignal::new(false),
            filters: StoredValue::new(Vec::new()),
        }
    }

    /// Reads the view from the URL, and updates the URL without new history entries.
    pub(crate) fn of_url<R>(
        screen: &'static str,
        columns: &[Column<R>],
        by_default: Sorting,
        filters: Vec<Filter>,
    ) -> Self {
        let view = Self {
            filters: StoredValue::new(filters),
            ..Self::in_order(by_default)
        };
        let sortable: Vec<&'static str> = columns
            .iter()
            .filter(|column| column.order.is_some())
            .map(|column| column.key)
            .collect();
        address::read(screen, move |of| {
            view.text.set(of("q"));
            view.filters.with_value(|filters| {
                for filter in filters {
                    filter.choose.run(of(filter.name));
                }
            });
            let sorting = address::sorting(&of("sort"), &sortable, by_default);
            view.sorting.set(sorting);
            view.making.set(of("do") == "create");
        });
        address::keep(move || view.path(screen, by_default));
        view
    }

    /// Resets all filters.
    pub(crate) fn show_all(self) {
        self.text.set(String::new());
        self.filters.with_value(|filters| {
            for filter in filters {
                filter.choose.run(String::new());
            }
        });
    }

    fn path(self, screen: &str, by_default: Sorting) -> String {
        let sorting = address::sorting_text(self.sorting.get(), by_default);
        let making = if self.making.get() { "create" } else { "" };
        let mut parts = vec![("q", self.text.get())];
        self.filters.with_value(|filters| {
            parts.extend(filters.iter().map(|it| (it.name, it.word.get())));
        });
        parts.extend([("sort", sorting), ("do", making.to_owned())]);
        address::path(screen, &parts)
    }
}

/// A filter next to the text filter. The URL contains the filter's value as a query parameter.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Filter {
    name: &'static str,
    word: Signal<String>,
    choose: Callback<String>,
}

impl Filter {
    /// Creates a filter that selects one of several values.
    pub(crate) fn one_of<T: Copy + PartialEq + Send + Sync + 'static>(
        name: &'static str,
        chosen: RwSignal<Option<T>>,
        words: impl IntoIterator<Item = (T, &'static str)>,
    ) -> Self {
        let words: Vec<_> = words.into_iter().collect();
        let known = words.clone();
        let word = move |chosen: T| known.iter().find(|(it, _)| *it == chosen).map(|it| it.1);
        Self {
            name,
            word: Signal::derive(move || {
                let word = chosen.get().and_then(&word);
                word.unwrap_or_default().to_owned()
            }),
            choose: Callback::new(move |told: String| {
                let found = words.iter().find(|(_, word)| *word == told);
                chosen.set(found.map(|it| it.0));
            }),
        }
    }

    /// Creates a filter that is on or off.
    pub(crate) fn only(name: &'static str, word: &'static str, only: RwSignal<bool>) -> Self {
        Self {
            name,
            word: Signal::derive(move || if only.get() { word } else { "" }.to_owned()),
            choose: Callback::new(move |chosen: String| only.set(chosen == word)),
        }
    }
}
