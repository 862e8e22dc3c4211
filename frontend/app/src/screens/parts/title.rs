//! The title of the browser tab.

use leptos::prelude::*;

/// Sets the title of the browser tab. The frame announces the title to screen readers.
pub(crate) fn title(screen: &str) {
    document().set_title(&format!("{screen} · Drover"));
}
