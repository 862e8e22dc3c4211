//! The widths of the columns that the table computes from the texts of the rows.

use drover_ui_core::widths::{FittedColumn, fit, text_width};
use leptos::html;
use leptos::prelude::*;
use web_sys::wasm_bindgen::JsCast as _;
use web_sys::{Element, HtmlElement};

use super::{TableColumn, VisibleRows};

/// The space for the arrow of a sorted heading, in pixels.
const ARROW: f64 = 12.0;

/// Returns the widths of the columns in pixels. Returns an empty vector if the style sheet defines
/// the widths. A column never becomes narrower because of other rows, so that columns do not move
/// back and forth while the user scrolls.
pub(super) fn widths<C: TableColumn>(
    place: NodeRef<html::Div>,
    columns: Signal<Vec<C>>,
    seen: Memo<VisibleRows<C::Row>>,
) -> RwSignal<Vec<f64>> {
    let wanted = Memo::new(move |last: Option<&Option<Wanted<C::Key>>>| {
        let last = last.and_then(Option::as_ref);
        columns.with(|columns| seen.with(|seen| wanted(columns, seen, last)))
    });
    let widths = RwSignal::new(Vec::new());
    let update = move || {
        // The table can be disposed before the next frame.
        let Some(wanted) = wanted.try_get_untracked() else {
            return;
        };
        let fitted = place.get_untracked().zip(wanted);
        let fitted = fitted.and_then(|(place, wanted)| fitted_widths(&place, &wanted));
        let _ = widths.try_maybe_update(|widths| {
            let fitted = fitted.unwrap_or_default();
            let is_new = *widths != fitted;
            *widths = fitted;
            (is_new, ())
        });
    };
    Effect::new(move || {
        place.track();
        wanted.track();
        // The headings of new columns are rendered before the next frame.
        request_animation_frame(update);
    });
    let resized = window_event_listener(leptos::ev::resize, move |_| update());
    on_cleanup(move || resized.remove());
    widths
}

/// The columns with their keys.
type Wanted<K> = Vec<(K, FittedColumn)>;

fn wanted<C: TableColumn>(
    columns: &[C],
    seen: &VisibleRows<C::Row>,
    last: Option<&Wanted<C::Key>>,
) -> Option<Wanted<C::Key>> {
    let widths = columns.iter().map(|column| {
        let key = column.key();
        let known = last.and_then(|last| last.iter().find(|(known, _)| *known == key));
        let mut width = text_width(column.heading().chars().count()) + ARROW;
        width = width.max(known.map_or(0.0, |(_, known)| known.wanted));
        for (_, row) in seen.values() {
            width = width.max(column.width(row)?);
        }
        let fitted = FittedColumn {
            wanted: width,
            extra: column.extra_width(),
            share: column.share(),
        };
        Some((key, fitted))
    });
    widths.collect()
}

/// Distributes the width of the table to the columns that the style sheet does not hide. The result
/// is 0 for hidden columns. Returns `None` before the headings of the columns are rendered.
fn fitted_widths<K>(place: &HtmlElement, wanted: &[(K, FittedColumn)]) -> Option<Vec<f64>> {
    let table: HtmlElement = place.first_element_child()?.dyn_into().ok()?;
    let heads = table.query_selector_all("thead th").ok()?;
    let heads = (0..heads.length()).filter_map(|index| heads.get(index)?.dyn_into().ok());
    let heads: Vec<HtmlElement> = heads.collect();
    let boxes = heads.len().checked_sub(wanted.len())?;
    let mut available = f64::from(place.client_width()).max(min_width(&table));
    for head in &heads[..boxes] {
        available -= f64::from(head.offset_width());
    }
    let is_shown: Vec<bool> = heads[boxes..]
        .iter()
        .map(|head| head.offset_width() > 0)
        .collect();
    let shown = wanted.iter().zip(&is_shown).filter(|(_, shown)| **shown);
    let shown: Vec<FittedColumn> = shown.map(|((_, column), _)| *column).collect();
    let mut fitted = fit(available, &shown).into_iter();
    let widths = is_shown
        .iter()
        .map(|shown| if *shown { fitted.next() } else { None });
    Some(widths.map(Option::unwrap_or_default).collect())
}

/// Returns the minimum width of the table in the style sheet, in pixels.
fn min_width(table: &Element) -> f64 {
    let style = window().get_computed_style(table).ok().flatten();
    let width = style.and_then(|style| style.get_property_value("min-width").ok());
    let pixels = width.and_then(|width| width.strip_suffix("px")?.parse().ok());
    pixels.unwrap_or_default()
}
