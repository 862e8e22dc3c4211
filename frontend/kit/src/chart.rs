//! Line charts and meters.

pub mod meter;
pub mod sparkline;

use drover_ui_core::chart::{Chart, HEIGHT, WIDTH};
use drover_ui_core::messages::{LocalTime, t};
use jiff::Timestamp;
use leptos::prelude::*;

/// The SVG value for a drawing that fills its element in both directions.
const STRETCHED: &str = "none";

/// Formats the time of a point in the browser's time zone.
pub type FormatTime = fn(Timestamp) -> LocalTime;

/// Shows a line chart. The pointer and the arrow keys select a point, and the caption shows its time
/// and its value.
#[component]
pub fn LineChart(
    /// The name of the values.
    title: &'static str,
    /// The chart.
    #[prop(into)]
    chart: Signal<Chart>,
    /// The format of the labels of the time axis.
    #[prop(into)]
    axis: Signal<FormatTime>,
    /// The format of the time of a point.
    full: FormatTime,
) -> impl IntoView {
    let selected = RwSignal::new(None::<usize>);
    let point = Memo::new(move |_| chart.with(|it| it.points.get(selected.get()?).cloned()));
    let caption = move || match point.get() {
        Some(point) => t().chart.at(&full(point.at).to_string(), &point.words),
        None => chart.with(|it| it.summary.clone()),
    };
    let cursor = move || {
        point.get().map(|point| {
            view! {
                <span class="chart-cursor" aria-hidden="true" style:left=percent(point.x)>
                    <span class="chart-point" style:bottom=percent(point.y)></span>
                </span>
            }
        })
    };
    let count = Memo::new(move |_| chart.with(|it| it.points.len()));
    let newest = move || count.get().saturating_sub(1);
    view! {
        <figure class="chart">
            <figcaption><b>{title}</b>" "<span class="muted figure">{caption}</span></figcaption>
            <div
                class="chart-plot"
                role="slider"
                tabindex="0"
                aria-label=title
                aria-valuemin="0"
                aria-valuemax=newest
                aria-valuenow=move || selected.get().unwrap_or_else(newest)
                aria-valuetext=caption
                on:keydown=move |event| {
                    let from = selected.get_untracked().unwrap_or_else(newest);
                    if let Some(to) = moved(&event.key(), from, newest()) {
                        event.prevent_default();
                        selected.set(Some(to));
                    }
                }
                on:blur=move |_| selected.set(None)
                on:pointerleave=move |_| selected.set(None)
                on:pointermove=move |event| {
                    let width = event_target::<web_sys::Element>(&event).client_width();
                    let x = f64::from(event.offset_x()) / f64::from(width.max(1));
                    selected.set(chart.with_untracked(|it| it.nearest(x)));
                }
            >
                {move || chart.with(drawing)}
                {cursor}
            </div>
            <div class="chart-times muted figure" aria-hidden="true">
                {move || chart.with(|it| times(it, axis.get()))}
            </div>
        </figure>
    }
}

/// Returns the point that a key selects.
fn moved(key: &str, from: usize, newest: usize) -> Option<usize> {
    Some(match key {
        "ArrowLeft" => from.saturating_sub(1),
        "ArrowRight" => (from + 1).min(newest),
        "Home" => 0,
        "End" => newest,
        _ => return None,
    })
}

fn percent(share: f64) -> String {
    format!("{:.2}%", share * 100.0)
}

/// Draws the lines, and the labels of the value axis.
fn drawing(chart: &Chart) -> impl IntoView + use<> {
    let y = |share: f64| (1.0 - share) * HEIGHT;
    let across = |share: f64, class: &'static str| {
        view! { <line class=class x1="0" x2=WIDTH y1=y(share) y2=y(share)></line> }
    };
    let grid = chart.values.iter().map(|it| across(it.share, "chart-grid"));
    let references = chart.references.iter();
    let references = references.map(|it| across(it.share, "chart-reference"));
    let label = |class: &'static str, share: f64, words: &str| {
        view! { <span class=class aria-hidden="true" style:bottom=percent(share)>{words.to_owned()}</span> }
    };
    let values = chart.values.iter();
    let values = values.map(|it| label("chart-value", it.share, &it.words));
    let names = chart.references.iter();
    let names = names.map(|it| label("chart-name", it.share, &it.words));
    view! {
        <svg viewBox=format!("0 0 {WIDTH} {HEIGHT}") preserveAspectRatio=STRETCHED aria-hidden="true" focusable="false">
            {grid.collect_view()}
            {references.collect_view()}
            <path class="chart-line" d=chart.line.clone()></path>
        </svg>
        {values.collect_view()}
        {names.collect_view()}
    }
}

fn times(chart: &Chart, axis: FormatTime) -> impl IntoView + use<> {
    let times = chart.times.iter();
    let times = times.map(|(_, at)| view! { <span>{axis(*at).to_string()}</span> });
    times.collect_view()
}
