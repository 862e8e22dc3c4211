//! A long table.

use std::sync::Arc;

use drover_ui_core::selection::Selection;
use drover_ui_kit::badge::{Badge, Tone};
use drover_ui_kit::table::{Column, Row, Sorting, Table, sorted};
use leptos::prelude::*;

const COUNT: u32 = 10_000;

/// A row that is made of its number.
#[derive(Clone, PartialEq)]
struct Numbered(u32);

impl Row for Numbered {
    fn key(&self) -> String {
        self.0.to_string()
    }
}

impl Numbered {
    /// A mix of the number, so that sorting has something to do.
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

/// The table, of which only the rows in sight are in the document.
#[component]
pub(super) fn Rows() -> impl IntoView {
    let sorting = RwSignal::new(Sorting {
        column: "number",
        descending: false,
    });
    let rows = Memo::new(move |_| {
        let rows = (1..=COUNT).map(Numbered).collect();
        Arc::new(sorted(rows, &columns(), sorting.get()))
    });
    let selection = RwSignal::new(Selection::default());
    let words = move || format!("{} chosen", selection.with(Selection::len));
    view! {
        <p class="muted" role="status">{words}</p>
        <div class="kit-table">
            <Table label="Ten thousand rows" columns=columns() rows=rows sorting=sorting selection=selection/>
        </div>
    }
}
