//! A URL that names nothing.

use drover_ui_kit::notice::{Absence, EmptyState};
use leptos::prelude::*;
use leptos_router::components::A;

use crate::screens::title::title;

/// Says so, and where to go.
#[component]
pub(crate) fn NotFound() -> impl IntoView {
    title("Not found");
    view! {
        <div class="page">
            <EmptyState
                why=Absence::NotFound
                title="There is nothing at this address"
                advice="The link may be old, or a letter may be missing."
            >
                <A href="/">"All clusters"</A>
            </EmptyState>
        </div>
    }
}
