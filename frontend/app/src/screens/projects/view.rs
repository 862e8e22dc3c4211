//! What of the projects is shown, kept in the URL.

use drover_ui_kit::table::Sorting;
use leptos::prelude::*;

use super::columns::{BY_DEFAULT, columns};
use crate::screens::address;

const SCREEN: &str = "/projects";

/// Filter and order.
#[derive(Clone, Copy, Debug)]
pub(super) struct View {
    /// What was typed.
    pub(super) text: RwSignal<String>,
    /// The order.
    pub(super) sorting: RwSignal<Sorting>,
}

impl View {
    /// As the URL says.
    pub(super) fn of_url() -> Self {
        let view = Self {
            text: RwSignal::new(String::new()),
            sorting: RwSignal::new(BY_DEFAULT),
        };
        address::read(SCREEN, move |of| {
            view.text.set(of("q"));
            view.sorting
                .set(address::sorting(&of("sort"), &columns(), BY_DEFAULT));
        });
        address::keep(move || view.path());
        view
    }

    /// Lifts the filter.
    pub(super) fn show_all(self) {
        self.text.set(String::new());
    }

    fn path(self) -> String {
        let sorting = address::sorting_text(self.sorting.get(), BY_DEFAULT);
        address::path(SCREEN, &[("q", self.text.get()), ("sort", sorting)])
    }
}
