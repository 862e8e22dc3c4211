//! Renders sentences with marked parts.

use drover_ui_core::messages::{Part, Rich};
use leptos::prelude::*;

/// Renders a text with its code, emphasis and links.
pub fn rich(text: Rich) -> AnyView {
    let parts = text.into_parts().into_iter().map(|part| match part {
        Part::Text(text) => text.into_any(),
        Part::Code(text) => view! { <code>{text}</code> }.into_any(),
        Part::Strong(text) => view! { <b>{text}</b> }.into_any(),
        Part::Link { text, href } => view! { <a href=href>{text}</a> }.into_any(),
    });
    parts.collect_view().into_any()
}
