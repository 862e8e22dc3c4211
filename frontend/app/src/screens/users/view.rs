//! What of the users is shown, kept in the URL.

use drover_ui_core::user::Standing;
use drover_ui_kit::table::Sorting;
use leptos::prelude::*;

use super::columns::{BY_DEFAULT, columns};
use crate::screens::address;

const SCREEN: &str = "/users";

/// Filter, order, and whether a user is being made.
#[derive(Clone, Copy, Debug)]
pub(super) struct View {
    /// What was typed.
    pub(super) text: RwSignal<String>,
    /// The one state that is shown.
    pub(super) standing: RwSignal<Option<Standing>>,
    /// The order.
    pub(super) sorting: RwSignal<Sorting>,
    /// Whether the dialog is open that makes one.
    pub(super) making: RwSignal<bool>,
}

impl View {
    /// As the URL says.
    pub(super) fn of_url() -> Self {
        let view = Self {
            text: RwSignal::new(String::new()),
            standing: RwSignal::new(None),
            sorting: RwSignal::new(BY_DEFAULT),
            making: RwSignal::new(false),
        };
        address::read(SCREEN, move |of| {
            view.text.set(of("q"));
            let state = of("state");
            let standing = Standing::ALL.into_iter().find(|it| it.key() == state);
            view.standing.set(standing);
            view.sorting
                .set(address::sorting(&of("sort"), &columns(), BY_DEFAULT));
            view.making.set(of("do") == "make");
        });
        address::keep(move || view.path());
        view
    }

    /// Lifts every filter.
    pub(super) fn show_all(self) {
        self.text.set(String::new());
        self.standing.set(None);
    }

    fn path(self) -> String {
        let standing = self.standing.get().map(Standing::key).unwrap_or_default();
        let making = if self.making.get() { "make" } else { "" };
        let parts = [
            ("q", self.text.get()),
            ("state", standing.to_owned()),
            (
                "sort",
                address::sorting_text(self.sorting.get(), BY_DEFAULT),
            ),
            ("do", making.to_owned()),
        ];
        address::path(SCREEN, &parts)
    }
}
