//! A table with virtual scrolling.

use std::cmp::Ordering;
use std::collections::HashMap;
use std::sync::Arc;

use drover_ui_core::selection::Selection;
use drover_ui_core::window::Window;
use leptos::html;
use leptos::prelude::*;
use web_sys::Element;

mod boxes;
mod focus;
mod widths;

use boxes::{all_box, row_box};
pub use focus::KeyHandler;
use focus::RowFocus;

use crate::density::DensityChoice;

/// The assumed height of a row in pixels before the first measurement.
const INITIAL_ROW: f64 = 32.0;
/// The assumed height of the table in pixels before the first measurement.
const INITIAL_HEIGHT: f64 = 900.0;

/// A row of a table.
pub trait Row: Clone + PartialEq + Send + Sync + 'static {
    /// Returns the identity of the row.
    fn key(&self) -> String;

    /// Returns the name of the row, for the label of its checkbox.
    fn name(&self) -> String {
        self.key()
    }
}

/// A column whose properties are known at compile time.
#[derive(Clone, Copy, Debug)]
pub struct Column<R> {
    /// The key of the column in URLs.
    pub key: &'static str,
    /// The heading of the column.
    pub heading: &'static str,
    /// The CSS class for width and alignment.
    pub class: &'static str,
    /// The comparison of two rows; `None` if the user cannot sort by the column.
    pub order: Option<fn(&R, &R) -> Ordering>,
    /// Renders the cell of a row.
    pub cell: fn(&R) -> AnyView,
}

impl<R> Column<R> {
    /// Creates a column by which the user cannot sort.
    pub const fn new(
        key: &'static str,
        heading: &'static str,
        class: &'static str,
        cell: fn(&R) -> AnyView,
    ) -> Self {
        Self {
            key,
            heading,
            class,
            order: None,
            cell,
        }
    }

    /// Adds a comparison, so that the user can sort by the column.
    #[must_use]
    pub const fn by(self, order: fn(&R, &R) -> Ordering) -> Self {
        Self {
            order: Some(order),
            ..self
        }
    }
}

/// A column of a table: [`Column`], or a column whose properties are known only at run time.
pub trait TableColumn: Clone + Send + Sync + 'static {
    /// The type of the rows.
    type Row: Row;
    /// The type of the column keys.
    type Key: Clone + PartialEq + Send + Sync + 'static;

    /// Returns the key of the column.
    fn key(&self) -> Self::Key;
    /// Returns the heading of the column.
    fn heading(&self) -> String;
    /// Returns the tooltip of the heading.
    fn hint(&self) -> Option<String> {
        None
    }
    /// Returns the CSS classes for width and alignment.
    fn class(&self) -> String;
    /// Reports whether the user can sort by the column.
    fn sorts(&self) -> bool;
    /// Renders the cell of a row.
    fn cell(&self, row: &Self::Row) -> AnyView;
    /// Returns the width in pixels that the cell of a row requests. If a column returns `None`, the
    /// style sheet defines the widths of all columns.
    fn width(&self, _row: &Self::Row) -> Option<f64> {
        None
    }
    /// Returns the additional width in pixels that the column uses if the table has space.
    fn extra_width(&self) -> f64 {
        0.0
    }
    /// Returns the width to which the column shrinks, relative to other columns.
    fn share(&self) -> f64 {
        1.0
    }
    /// Returns the sort order after the third click on a heading. If the result is `None`, each
    /// click reverses the direction.
    fn unsorted(&self) -> Option<Sorting<Self::Key>> {
        None
    }
}

impl<R: Row> TableColumn for Column<R> {
    type Row = R;
    type Key = &'static str;

    fn key(&self) -> &'static str {
        self.key
    }

    fn heading(&self) -> String {
        self.heading.to_owned()
    }

    fn class(&self) -> String {
        self.class.to_owned()
    }

    fn sorts(&self) -> bool {
        self.order.is_some()
    }

    fn cell(&self, row: &R) -> AnyView {
        (self.cell)(row)
    }
}

/// The sort order of a table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sorting<K = &'static str> {
    /// The key of the sorted column.
    pub column: K,
    /// True for descending order.
    pub descending: bool,
}

/// The position of loaded rows in a longer list.
#[derive(Clone, Copy, Debug)]
pub struct ListPart {
    /// The index of the first loaded row.
    pub first: Signal<usize>,
    /// The number of rows of the list.
    pub total: Signal<usize>,
    /// Receives the rows that the table renders, after each change.
    pub on_window: Callback<Window>,
}

/// Sorts rows by a column. The sort is stable.
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

/// Shows a scrolling table. Rows have a fixed height. The document contains only the visible rows,
/// and some rows above and below the visible rows.
#[component]
pub fn Table<C: TableColumn>(
    /// The accessible name of the table.
    #[prop(into)]
    label: String,
    /// The columns of the table.
    #[prop(into)]
    columns: Signal<Vec<C>>,
    /// The rows in their order.
    #[prop(into)]
    rows: Signal<Arc<Vec<C::Row>>>,
    /// The sort order, if the user can change the order.
    #[prop(into)]
    sorting: RwSignal<Sorting<C::Key>>,
    /// The selected rows. With a selection, rows and heading have checkboxes.
    #[prop(optional_no_strip, into)]
    selection: Option<RwSignal<Selection>>,
    /// True if cells have two lines, so that rows have the largest height.
    #[prop(optional)]
    tall: bool,
    /// The position of `rows` in a longer list, if the caller loads only the visible rows.
    #[prop(optional_no_strip, into)]
    part: Option<ListPart>,
    /// Handles the keys of the list. Without a handler, only the arrow keys act.
    #[prop(optional_no_strip, into)]
    on_key: Option<KeyHandler>,
) -> impl IntoView {
    let place = NodeRef::<html::Div>::new();
    let sight = RwSignal::new((0.0, INITIAL_HEIGHT));
    let row = RwSignal::new(INITIAL_ROW);
    let look = move || {
        if let Some(place) = place.get_untracked() {
            let visible = f64::from(place.client_height());
            let row = row.get_untracked();
            sight.set((f64::from(place.scroll_top()), visible.max(row)));
        }
    };
    let measure = move || {
        if let Some(pixels) = place.get_untracked().and_then(|place| row_pixels(&place)) {
            row.set(pixels);
        }
        look();
    };
    let density = use_context::<DensityChoice>();
    Effect::new(move || {
        place.track();
        density.map(DensityChoice::current);
        measure();
    });
    let resized = window_event_listener(leptos::ev::resize, move |_| measure());
    on_cleanup(move || resized.remove());

    let first = move || part.map_or(0, |part| part.first.get());
    let count = Memo::new(move |_| match part {
        Some(part) => part.total.get(),
        None => rows.with(|rows| rows.len()),
    });
    let window = Memo::new(move |_| {
        let (scrolled, visible) = sight.get();
        Window::at(scrolled, visible, row.get(), count.get())
    });
    if let Some(part) = part {
        Effect::new(move || part.on_window.run(window.get()));
    }
    let seen = Memo::new(move |_| in_sight(&rows.get(), first(), window.get()));
    let focus = RowFocus::new(place, row, count);
    focus.restores(move || {
        seen.track();
        columns.track();
    });
    focus.listens(on_key);
    let padding = move || {
        let loaded = rows.with(|rows| window.get().loaded(first(), rows.len()));
        loaded.padding(row.get(), count.get())
    };
    let widths = widths::widths(place, columns, seen);
    let heads = move || {
        columns.with(|columns| {
            let heads = columns.iter().enumerate().map(|(index, column)| {
                let width = move || widths.with(|widths| widths.get(index).copied());
                head(column, sorting, Signal::derive(width))
            });
            heads.collect_view()
        })
    };
    let order = Memo::new(move |_| rows.with(|rows| rows.iter().map(Row::key).collect::<Vec<_>>()));
    let boxes = selection.map(|selection| all_box(order, selection));
    let named = label.clone();
    view! {
        <div class="table-scroll" node_ref=place on:scroll=move |_| look() tabindex="0" role="region" aria-label=label>
            <table class="table" class:tall=tall aria-label=named aria-rowcount=move || count.get() + 1>
                <thead><tr aria-rowindex="1">{boxes}{heads}</tr></thead>
                <tbody>
                    <Spacer pixels=Signal::derive(move || padding().0)/>
                    <For each=move || keys(&seen.get()) key=Clone::clone let:key>
                        <TableRow<C> row_key=key seen=seen columns=columns order=order selection=selection/>
                    </For>
                    <Spacer pixels=Signal::derive(move || padding().1)/>
                </tbody>
            </table>
        </div>
    }
}

/// Returns the height of the table's rows in the style sheet (`--row`), in pixels.
fn row_pixels(place: &Element) -> Option<f64> {
    let table = place.first_element_child()?;
    let style = window().get_computed_style(&table).ok()??;
    let height = style.get_property_value("--row").ok()?;
    height.trim().strip_suffix("px")?.parse().ok()
}

/// The visible rows by key, with their indexes.
type VisibleRows<R> = HashMap<String, (usize, R)>;

/// Returns the visible rows. `first` is the index of the first of `rows` in the list.
fn in_sight<R: Row>(rows: &[R], first: usize, window: Window) -> VisibleRows<R> {
    let placed = (first..).zip(rows);
    placed
        .filter(|(place, _)| (window.first..window.end).contains(place))
        .map(|(place, row)| (row.key(), (place, row.clone())))
        .collect()
}

fn keys<R>(seen: &VisibleRows<R>) -> Vec<String> {
    let mut placed: Vec<(usize, &String)> =
        seen.iter().map(|(key, (place, _))| (*place, key)).collect();
    placed.sort_unstable();
    placed.into_iter().map(|(_, key)| key.clone()).collect()
}

#[component]
fn TableRow<C: TableColumn>(
    row_key: String,
    seen: Memo<VisibleRows<C::Row>>,
    columns: Signal<Vec<C>>,
    order: Memo<Vec<String>>,
    selection: Option<RwSignal<Selection>>,
) -> impl IntoView {
    let key = row_key.clone();
    // A row that left the view keeps its content until the row is removed.
    let row = Memo::new(move |last: Option<&Option<(usize, C::Row)>>| {
        let found = seen.with(|seen| seen.get(&row_key).cloned());
        found.or_else(|| last.cloned().flatten())
    });
    let cells = move || {
        columns.with(|columns| {
            let cells = columns.iter().map(|column| {
                let (class, column) = (column.class(), column.clone());
                let shown = move || row.with(|row| row.as_ref().map(|(_, row)| column.cell(row)));
                view! { <td class=class>{shown}</td> }
            });
            cells.collect_view()
        })
    };
    let place = move || row.with(|row| row.as_ref().map(|(place, _)| place + 2));
    let name = move || row.with(|row| row.as_ref().map(|(_, row)| row.name()).unwrap_or_default());
    let (chosen_key, named_key) = (key.clone(), key.clone());
    let chosen =
        move || selection.is_some_and(|it| it.with(|selection| selection.contains(&chosen_key)));
    let tick = selection.map(|selection| row_box(key, Signal::derive(name), order, selection));
    view! { <tr aria-rowindex=place data-row=named_key class:selected=chosen>{tick}{cells}</tr> }
}

/// Renders a placeholder row with one cell. Additional cells would reserve space for hidden
/// columns.
#[component]
fn Spacer(pixels: Signal<f64>) -> impl IntoView {
    view! {
        <tr class="spacer" aria-hidden="true" style:height=move || format!("{}px", pixels.get())>
            <td></td>
        </tr>
    }
}

/// Renders the heading of a column. `width` is the computed width in pixels.
fn head<C: TableColumn>(
    column: &C,
    sorting: RwSignal<Sorting<C::Key>>,
    width: Signal<Option<f64>>,
) -> AnyView {
    let (key, heading, class) = (column.key(), column.heading(), column.class());
    let hint = column.hint();
    let width = move || width.get().map(|width| format!("{width}px"));
    if !column.sorts() {
        return view! { <th scope="col" class=class style:width=width title=hint>{heading}</th> }
            .into_any();
    }
    let (own, unsorted) = (key.clone(), column.unsorted());
    let state = move || {
        sorting.with(|by| match (by.column == own, by.descending) {
            (false, _) => "none",
            (true, false) => "ascending",
            (true, true) => "descending",
        })
    };
    let press = move |_| {
        sorting.update(|by| {
            let again = by.column == key;
            *by = match unsorted.clone().filter(|_| again && by.descending) {
                Some(unsorted) => unsorted,
                None => Sorting {
                    column: key.clone(),
                    descending: again && !by.descending,
                },
            };
        });
    };
    view! {
        <th scope="col" class=class style:width=width aria-sort=state title=hint>
            <button type="button" class="table-sort" on:click=press>{heading}</button>
        </th>
    }
    .into_any()
}
