//! Small lines of the last values of a cell.

use drover_ui_core::list::sparkline::{HEIGHT, WIDTH};
use leptos::prelude::*;

/// Shows a line without axes. The drawing has the same size without points. The text of the cell
/// contains the values for screen readers.
#[component]
pub fn Sparkline(
    /// The points of an SVG polyline in a drawing of [`WIDTH`] and [`HEIGHT`]; empty for no line.
    points: String,
) -> impl IntoView {
    view! {
        <svg class="sparkline" width=WIDTH height=HEIGHT viewBox=format!("0 0 {WIDTH} {HEIGHT}") aria-hidden="true" focusable="false">
            <polyline points=points></polyline>
        </svg>
    }
}
