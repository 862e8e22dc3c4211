//! What of the tokens is shown, kept in the URL.

use drover_api::kinds::TokenPurpose;
use drover_ui_core::token::PURPOSES;
use drover_ui_kit::table::Sorting;
use leptos::prelude::*;

use super::columns::{BY_DEFAULT, columns};
use crate::screens::address;

const SCREEN: &str = "/tokens";

/// Filter, order, and whether a token is being made.
#[derive(Clone, Copy, Debug)]
pub(super) struct View {
    /// What was typed.
    pub(super) text: RwSignal<String>,
    /// The one purpose that is shown.
    pub(super) purpose: RwSignal<Option<TokenPurpose>>,
    /// Whether only the person's own are shown.
    pub(super) mine: RwSignal<bool>,
    /// The order.
    pub(super) sorting: RwSignal<Sorting>,
    /// Whether the dialog is open that makes one.
    pub(super) making: RwSignal<bool>,
}

impl View {
    /// As the URL says.
    pub(super) fn of_url(everybodys: bool) -> Self {
        let view = Self {
            text: RwSignal::new(String::new()),
            purpose: RwSignal::new(None),
            mine: RwSignal::new(false),
            sorting: RwSignal::new(BY_DEFAULT),
            making: RwSignal::new(false),
        };
        address::read(SCREEN, move |of| {
            view.text.set(of("q"));
            let key = of("purpose");
            let purpose = PURPOSES.into_iter().find(|(_, known)| *known == key);
            view.purpose.set(purpose.map(|(purpose, _)| purpose));
            view.mine.set(of("whose") == "mine");
            let columns = columns(everybodys);
            view.sorting
                .set(address::sorting(&of("sort"), &columns, BY_DEFAULT));
            view.making.set(of("do") == "make");
        });
        address::keep(move || view.path());
        view
    }

    /// Lifts every filter.
    pub(super) fn show_all(self) {
        self.text.set(String::new());
        self.purpose.set(None);
        self.mine.set(false);
    }

    fn path(self) -> String {
        let purpose = self.purpose.get();
        let key = PURPOSES
            .into_iter()
            .find(|(known, _)| Some(*known) == purpose);
        let word = |is: bool, word: &str| if is { word.to_owned() } else { String::new() };
        let parts = [
            ("q", self.text.get()),
            (
                "purpose",
                key.map(|(_, key)| key.to_owned()).unwrap_or_default(),
            ),
            ("whose", word(self.mine.get(), "mine")),
            (
                "sort",
                address::sorting_text(self.sorting.get(), BY_DEFAULT),
            ),
            ("do", word(self.making.get(), "make")),
        ];
        address::path(SCREEN, &parts)
    }
}
