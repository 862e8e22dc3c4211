//! Bars that show the usage of a resource.

use leptos::prelude::*;

/// The used share from which a meter shows a warning.
const WARNING_SHARE: f64 = 0.85;

/// Shows a bar with a percentage, or a dash while the value is unknown.
#[component]
pub fn Meter(
    /// The used share; 1 is 100 %. The text also shows values above 100 %.
    #[prop(into)]
    part: Signal<Option<f64>>,
    /// The accessible text, such as `3.5 of 12 cores used`.
    #[prop(into)]
    words: Signal<String>,
) -> impl IntoView {
    let percent = move || part.get().map(|part| (part * 100.0).round());
    let class = move || {
        if part.get().is_some_and(|part| part >= WARNING_SHARE) {
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
