//! The difference of two texts.

use drover_ui_core::diff::{DiffLine, diff, with_context};
use drover_ui_core::messages::t;
use leptos::prelude::*;

/// The number of unchanged lines around a change.
const CONTEXT: usize = 3;

/// Shows the changed lines of two texts, with some unchanged lines.
pub(super) fn text_diff(before: &str, after: &str) -> AnyView {
    let lines = diff(before, after);
    let rows = with_context(&lines, CONTEXT).into_iter().map(|line| {
        let (class, mark, text) = match line {
            DiffLine::Same(text) => ("", ' ', text),
            DiffLine::Removed(text) => ("removed", '-', text),
            DiffLine::Added(text) => ("added", '+', text),
        };
        view! { <span class=class>{format!("{mark} {text}\n")}</span> }
    });
    view! {
        <div class="code diff">
            <pre tabindex="0" aria-label=t().actions.changes()><code>{rows.collect_view()}</code></pre>
        </div>
    }
    .into_any()
}
