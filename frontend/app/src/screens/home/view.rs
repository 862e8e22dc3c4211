//! What of the list is shown, kept in the URL.

use drover_ui_core::cluster::Health;
use drover_ui_core::url::segment;
use drover_ui_kit::table::Sorting;
use leptos::prelude::*;
use leptos_router::hooks::use_query_map;
use wasm_bindgen::JsValue;

use super::columns::{self, BY_DEFAULT};

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
        let query = use_query_map();
        let view = Self {
            text: RwSignal::new(String::new()),
            health: RwSignal::new(None),
            sorting: RwSignal::new(BY_DEFAULT),
        };
        // A link or the palette may lead here while the screen is shown already.
        Effect::new(move || {
            let of = |name: &str| query.with(|query| query.get(name).unwrap_or_default());
            view.text.set(of("q"));
            let state = of("state");
            let health = Health::ALL.into_iter().find(|it| it.word() == state);
            view.health.set(health);
            view.sorting.set(sorting(&of("sort")));
        });
        Effect::new(move |earlier: Option<String>| {
            let path = view.path();
            if earlier.is_some_and(|earlier| earlier != path) {
                let history = window().history();
                // A browser that refuses (too often, too fast) keeps the URL that it has.
                let _ = history.and_then(|history| {
                    history.replace_state_with_url(&JsValue::NULL, "", Some(&path))
                });
            }
            path
        });
        view
    }

    /// Lifts every filter.
    pub(super) fn show_all(self) {
        self.text.set(String::new());
        self.health.set(None);
    }

    fn path(self) -> String {
        let mut parts = Vec::new();
        let text = self.text.get();
        if !text.is_empty() {
            parts.push(format!("q={}", segment(&text)));
        }
        if let Some(health) = self.health.get() {
            parts.push(format!("state={}", health.word()));
        }
        let sorting = self.sorting.get();
        if sorting != BY_DEFAULT {
            let sign = if sorting.descending { "-" } else { "" };
            parts.push(format!("sort={sign}{}", sorting.column));
        }
        if parts.is_empty() {
            "/".to_owned()
        } else {
            format!("/?{}", parts.join("&"))
        }
    }
}

fn sorting(text: &str) -> Sorting {
    let (descending, key) = match text.strip_prefix('-') {
        Some(key) => (true, key),
        None => (false, text),
    };
    let known = columns::columns();
    let column = known
        .iter()
        .find(|column| column.key == key && column.order.is_some());
    column.map_or(BY_DEFAULT, |column| Sorting {
        column: column.key,
        descending,
    })
}
