//! The title of the browser's tab.

use leptos::prelude::*;

/// Names the screen in the tab; the frame says it to screen readers when another screen comes.
pub(crate) fn title(screen: &str) {
    document().set_title(&format!("{screen} · Drover"));
}
