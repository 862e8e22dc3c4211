//! What of the list is shown, kept in the URL.

use drover_ui_core::cluster::Health;
use drover_ui_kit::table::Sorting;
use leptos::prelude::*;

use super::columns::{BY_DEFAULT, columns};
use crate::screens::address;

const SCREEN: &str = "/";

/// Filter, state and order.
#[derive(Clone, Copy, Debug)]
pub(super) struct View {
    /// What was typed.
    pub(super) text: RwSignal<String>,
    /// The one state that is shown.
    pub(super) health: RwSignal<Option<Health>>,
    /// The order.
    pub(super) sorting: RwSignal<Sorting>,
}

impl View {
    /// As the URL says; what changes is written there, without another step in the history.
    pub(super) fn of_url() -> Self {
        let view = Self {
            text: RwSignal::new(String::new()),
            health: RwSignal::new(None),
            sorting: RwSignal::new(BY_DEFAULT),
        };
        address::read(SCREEN, move |of| {
            view.text.set(of("q"));
            let state = of("state");
            let health = Health::ALL.into_iter().find(|it| it.word() == state);
            view.health.set(health);
            view.sorting
                .set(address::sorting(&of("sort"), &columns(), BY_DEFAULT));
        });
        address::keep(move || view.path());
        view
    }

    /// Lifts every filter.
    pub(super) fn show_all(self) {
        self.text.set(String::new());
        self.health.set(None);
    }

    fn path(self) -> String {
        let health = self.health.get().map(Health::word).unwrap_or_default();
        let sorting = address::sorting_text(self.sorting.get(), BY_DEFAULT);
        let parts = [
            ("q", self.text.get()),
            ("state", health.to_owned()),
            ("sort", sorting),
        ];
        address::path(SCREEN, &parts)
    }
}
