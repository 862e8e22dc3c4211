//! A table of which only the rows in sight are on the page.

use std::cmp::Ordering;
use std::collections::HashMap;
use std::sync::Arc;

use drover_ui_core::window::Window;
use leptos::html;
use leptos::prelude::*;

/// The height of a row; the style sheet has the same number (`--row`).
const ROW_PIXELS: f64 = 44.0;
/// What is assumed to be in sight until the browser has told.
const FIRST_GUESS_PIXELS: f64 = 900.0;

/// What a table shows of a thing.
pub trait Row: Clone + PartialEq + Send + Sync + 'static {
    /// What makes it the same thing when it has changed.
    fn key(&self) -> String;
}

/// A column.
#[derive(Clone, Copy, Debug)]
pub struct Column<R> {
    /// A short key, for URLs.
    pub key: &'static str,
    /// The heading.
    pub heading: &'static str,
    /// A class for width and alignment.
    pub class: &'static str,
    /// The order by this column.
    pub order: Option<fn(&R, &R) -> Ordering>,
    /// What is in the cell.
    pub cell: fn(&R) -> AnyView,
}

/// By which column a table is sorted, and how.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sorting {
    /// The column's key.
    pub column: &'static str,
    /// Whether the last comes first.
    pub descending: bool,
}

/// The rows in the order of a column; rows that are the same there keep their order.
pub fn sorted<R: Row>(mut rows: Vec<R>, columns: &[Column<R>], by: Sorting) -> Vec<R> {
    let order = columns
        .iter()
        .find(|column| column.key == by.column)
        .and_then(|column| column.order);
    if let Some(order) = order {
        rows.sort_by(|a, b| {
            let found = order(a, b);
            if by.descending {
                found.reverse()
            } else {
                found
            }
        });
    }
    rows
}

/// A table that scrolls in its own place. Rows have one height; whatever their number, only those
/// in sight and a few beyond are in the document.
#[component]
pub fn Table<R: Row>(
    /// What is listed, for screen readers.
    #[prop(into)]
    label: String,
    /// The columns.
    columns: Vec<Column<R>>,
    /// The rows, in their order.
    #[prop(into)]
    rows: Signal<Arc<Vec<R>>>,
    /// The sorting, if it can be changed.
    #[prop(into)]
    sorting: RwSignal<Sorting>,
) -> impl IntoView {
    let place = NodeRef::<html::Div>::new();
    let sight = RwSignal::new((0.0, FIRST_GUESS_PIXELS));
    let look = move || {
        if let Some(place) = place.get_untracked() {
            let tall = f64::from(place.client_height());
            sight.set((f64::from(place.scroll_top()), tall.max(ROW_PIXELS)));
        }
    };
    Effect::new(move || {
        place.track();
        look();
    });
    let resized = window_event_listener(leptos::ev::resize, move |_| look());
    on_cleanup(move || resized.remove());

    let count = Memo::new(move |_| rows.with(|rows| rows.len()));
    let window = Memo::new(move |_| {
        let (scrolled, tall) = sight.get();
        Window::at(scrolled, tall, ROW_PIXELS, count.get())
    });
    let seen = Memo::new(move |_| in_sight(&rows.get(), window.get()));
    let padding = move || window.get().padding(ROW_PIXELS, count.get());
    let columns = StoredValue::new(columns);
    let heads = columns.with_value(|columns| {
        let heads = columns.iter().map(|column| head(column, sorting));
        heads.collect_view()
    });
    let width = columns.with_value(Vec::len);
    let named = label.clone();
    view! {
        <div class="table-place" node_ref=place on:scroll=move |_| look() tabindex="0" role="region" aria-label=label>
            <table class="table" aria-label=named aria-rowcount=move || count.get() + 1>
                <thead><tr aria-rowindex="1">{heads}</tr></thead>
                <tbody>
                    <Spacer pixels=Signal::derive(move || padding().0) width=width/>
                    <For each=move || keys(&seen.get()) key=Clone::clone let:key>
                        <TableRow row_key=key seen=seen columns=columns/>
                    </For>
                    <Spacer pixels=Signal::derive(move || padding().1) width=width/>
                </tbody>
            </table>
        </div>
    }
}

/// The rows in sight by key, each with its place.
type InSight<R> = HashMap<String, (usize, R)>;

fn in_sight<R: Row>(rows: &[R], window: Window) -> InSight<R> {
    let part = rows.get(window.first..window.end).unwrap_or_default();
    let placed = part.iter().enumerate();
    placed
        .map(|(place, row)| (row.key(), (window.first + place, row.clone())))
        .collect()
}

fn keys<R>(seen: &InSight<R>) -> Vec<String> {
    let mut placed: Vec<(usize, &String)> =
        seen.iter().map(|(key, (place, _))| (*place, key)).collect();
    placed.sort_unstable();
    placed.into_iter().map(|(_, key)| key.clone()).collect()
}

#[component]
fn TableRow<R: Row>(
    row_key: String,
    seen: Memo<InSight<R>>,
    columns: StoredValue<Vec<Column<R>>>,
) -> impl IntoView {
    // A row that has just left sight keeps what it showed until it is taken away.
    let row = Memo::new(move |last: Option<&Option<(usize, R)>>| {
        let found = seen.with(|seen| seen.get(&row_key).cloned());
        found.or_else(|| last.cloned().flatten())
    });
    let cells = columns.with_value(|columns| {
        let cells = columns.iter().map(|column| {
            let cell = column.cell;
            let shown = move || row.with(|row| row.as_ref().map(|(_, row)| cell(row)));
            view! { <td class=column.class>{shown}</td> }
        });
        cells.collect_view()
    });
    let place = move || row.with(|row| row.as_ref().map(|(place, _)| place + 2));
    view! { <tr aria-rowindex=place>{cells}</tr> }
}

#[component]
fn Spacer(pixels: Signal<f64>, width: usize) -> impl IntoView {
    view! {
        <tr class="spacer" aria-hidden="true" style:height=move || format!("{}px", pixels.get())>
            <td colspan=width></td>
        </tr>
    }
}

fn head<R: Row>(column: &Column<R>, sorting: RwSignal<Sorting>) -> AnyView {
    let (key, heading, class) = (column.key, column.heading, column.class);
    if column.order.is_none() {
        return view! { <th scope="col" class=class>{heading}</th> }.into_any();
    }
    let state = move || {
        let by = sorting.get();
        match (by.column == key, by.descending) {
            (false, _) => "none",
            (true, false) => "ascending",
            (true, true) => "descending",
        }
    };
    let press = move |_| {
        sorting.update(|by| {
            *by = Sorting {
                column: key,
                descending: by.column == key && !by.descending,
            };
        });
    };
    view! {
        <th scope="col" class=class aria-sort=state>
            <button type="button" class="table-sort" on:click=press>{heading}</button>
        </th>
    }
    .into_any()
}
