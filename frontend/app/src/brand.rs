//! The logo and the name of the product.

use leptos::prelude::*;

/// Shows the logo from `page/icon.svg`.
#[component]
pub(crate) fn Brand() -> impl IntoView {
    view! {
        <svg viewBox="0 0 32 32" aria-hidden="true" focusable="false">
            <rect width="32" height="32" rx="7" fill="#2d7a6d"></rect>
            <g fill="none" stroke="#fff" stroke-width="2.6" stroke-linecap="round" stroke-linejoin="round">
                <path d="M8 8v16"></path>
                <path d="M8 9.5h6.5a9 6.5 0 0 1 0 13H8"></path>
            </g>
            <circle cx="24.5" cy="16" r="2.2" fill="#f2b84b"></circle>
        </svg>
        <span>"Drover"</span>
    }
}
