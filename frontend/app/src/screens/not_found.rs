//! The page for unknown URLs.

use drover_ui_core::messages::t;
use drover_ui_kit::notice::{EmptyReason, EmptyState};
use leptos::prelude::*;
use leptos_router::components::A;

use crate::screens::title::title;

/// Shows that the page does not exist.
#[component]
pub(crate) fn NotFound() -> impl IntoView {
    title(t().not_found.title());
    view! {
        <div class="page">
            <EmptyState
                reason=EmptyReason::NotFound
                title=t().not_found.heading()
                advice=t().not_found.advice()
            >
                <A href="/">{t().palette.all_clusters()}</A>
            </EmptyState>
        </div>
    }
}
