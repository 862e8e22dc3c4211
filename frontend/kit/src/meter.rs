//! Usage bars.

use leptos::prelude::*;

/// Share from which a meter warns.
const HIGH: f64 = 0.85;

/// A bar with a figure; a dash while the value is unknown.
#[component]
pub fn Meter(
    /// The used share: 1 is the whole; the figure also shows more than 100 %.
    #[prop(into)]
    part: Signal<Option<f64>>,
    /// The text, for example `3.5 of 12 cores used`.
    #[prop(into)]
    words: Signal<String>,
) -> impl IntoView {
    let percent = move || part.get().map(|part| (part * 100.0).round());
    let class = move || {
        if part.get().is_some_and(|part| part >= HIGH) {
            "meter high"
        } else {
            "meter"
        }
    };
    view! {
        <span class=class title=words>
            <span class="meter-bar" aria-hidden="true">
                <span class="meter-part" style:width=move || format!("{}%", percent().unwrap_or(0.0).min(100.0))></span>
            </span>
            <span class="meter-figure" aria-hidden="true">
                {move || percent().map_or_else(|| "–".to_owned(), |percent| format!("{percent}%"))}
            </span>
            <span class="visually-hidden">{words}</span>
        </span>
    }
}
