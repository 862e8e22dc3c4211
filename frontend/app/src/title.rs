//! The title of the browser's tab.

use leptos::prelude::*;

/// Names the screen in the tab, and to screen readers when it changes.
pub(crate) fn title(screen: &str) {
    document().set_title(&format!("{screen} · Drover"));
}
