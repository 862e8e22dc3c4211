//! What of the identity providers is shown, kept in the URL.

use drover_ui_kit::table::Sorting;
use leptos::prelude::*;

use super::columns::{BY_DEFAULT, columns};
use crate::screens::address;

const SCREEN: &str = "/providers";

/// Filter, order, and whether one is being set up.
#[derive(Clone, Copy, Debug)]
pub(super) struct View {
    /// What was typed.
    pub(super) text: RwSignal<String>,
    /// The order.
    pub(super) sorting: RwSignal<Sorting>,
    /// Whether the dialog is open that sets one up.
    pub(super) making: RwSignal<bool>,
}

impl View {
    /// As the URL says.
    pub(super) fn of_url() -> Self {
        let view = Self {
            text: RwSignal::new(String::new()),
            sorting: RwSignal::new(BY_DEFAULT),
            making: RwSignal::new(false),
        };
        address::read(SCREEN, move |of| {
            view.text.set(of("q"));
            view.sorting
                .set(address::sorting(&of("sort"), &columns(), BY_DEFAULT));
            view.making.set(of("do") == "make");
        });
        address::keep(move || view.path());
        view
    }

    /// Lifts the filter.
    pub(super) fn show_all(self) {
        self.text.set(String::new());
    }

    fn path(self) -> String {
        let making = if self.making.get() { "make" } else { "" };
        let parts = [
            ("q", self.text.get()),
            (
                "sort",
                address::sorting_text(self.sorting.get(), BY_DEFAULT),
            ),
            ("do", making.to_owned()),
        ];
        address::path(SCREEN, &parts)
    }
}
