//! The title of the browser's tab.

use leptos::prelude::*;

/// Sets the title of the tab; the frame announces it to screen readers.
pub(crate) fn title(screen: &str) {
    document().set_title(&format!("{screen} · Drover"));
}
