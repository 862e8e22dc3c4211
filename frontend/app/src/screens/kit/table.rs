//! The tab with a table of 10,000 rows.

use std::sync::Arc;

use drover_ui_core::selection::Selection;
use drover_ui_kit::badge::{Badge, Tone};
use drover_ui_kit::table::{Column, Row, Sorting, Table, sorted};
use leptos::prelude::*;

const COUNT: u32 = 10_000;

/// A row whose content depends only on the row number.
#[derive(Clone, PartialEq)]
struct Numbered(u32);

impl Row for Numbered {
    fn key(&self) -> String {
        self.0.to_string()
    }
}

impl Numbered {
    /// Returns a pseudo-random value that derives from the row number. The sort order by this value
    /// differs from the order of the rows.
    const fn mixed(&self) -> u32 {
        self.0.wrapping_mul(2_654_435_761) >> 16
    }
}

fn columns() -> Vec<Column<Numbered>> {
    vec![
        Column::new("number", "Number", "kit-col", number).by(|a, b| a.0.cmp(&b.0)),
        Column::new("mixed", "Mixed", "kit-col figure", mixed).by(|a, b| a.mixed().cmp(&b.mixed())),
        Column::new("parity", "Parity", "kit-col", parity),
    ]
}

fn number(row: &Numbered) -> AnyView {
    view! { <span>{row.0}</span> }.into_any()
}

fn mixed(row: &Numbered) -> AnyView {
    view! { <span>{row.mixed()}</span> }.into_any()
}

fn parity(row: &Numbered) -> AnyView {
    let (tone, words) = if row.0.is_multiple_of(2) {
        (Tone::Good, "even")
    } else {
        (Tone::Neutral, "odd")
    };
    view! { <Badge tone=tone words=words.to_owned()/> }.into_any()
}

/// Shows a table with virtual scrolling: only the visible rows are in the document.
#[component]
pub(super) fn LongTable() -> impl IntoView {
    let sorting = RwSignal::new(Sorting {
        column: "number",
        descending: false,
    });
    let rows = Memo::new(move |_| {
        let rows = (1..=COUNT).map(Numbered).collect();
        Arc::new(sorted(rows, &columns(), sorting.get()))
    });
    let selection = RwSignal::new(Selection::default());
    let words = move || format!("{} selected", selection.with(Selection::len));
    view! {
        <p class="muted" role="status">{words}</p>
        <div class="kit-table">
            <Table label="10,000 rows" columns=columns() rows=rows sorting=sorting selection=selection/>
        </div>
    }
}
