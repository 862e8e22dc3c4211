//! Empty states, banners and loading placeholders.

use drover_ui_core::messages::t;
use leptos::prelude::*;

use crate::icon::{Icon, Picture};

/// The reason why a screen or list has no content.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EmptyReason {
    /// No objects exist.
    Empty,
    /// No object matches the filter.
    NoMatch,
    /// The user does not have the required permission.
    NoPermission,
    /// The server cannot be reached.
    Offline,
    /// A request failed.
    Failed,
    /// The object does not exist.
    NotFound,
}

impl EmptyReason {
    const fn icon(self) -> Icon {
        match self {
            Self::Empty => Icon::Clusters,
            Self::NoMatch | Self::NotFound => Icon::Search,
            Self::NoPermission => Icon::Lock,
            Self::Offline => Icon::Offline,
            Self::Failed => Icon::Alert,
        }
    }
}

/// Shows an empty state with cause and next step.
#[component]
pub fn EmptyState(
    /// The reason of the empty state.
    reason: EmptyReason,
    /// The title of the empty state.
    #[prop(into)]
    title: String,
    /// The recommended next step.
    #[prop(into)]
    advice: String,
    /// The buttons or commands of the next step.
    #[prop(optional)]
    children: Option<Children>,
) -> impl IntoView {
    view! {
        <div class="empty-state" role="status">
            <Picture icon=reason.icon()/>
            <h2>{title}</h2>
            <p>{advice}</p>
            {children.map(|children| view! { <div class="empty-state-actions">{children()}</div> })}
        </div>
    }
}

/// The kind of a banner.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BannerKind {
    /// A banner with information.
    Info,
    /// A banner with a warning.
    Warning,
    /// A banner with an error. Screen readers announce the error immediately.
    Error,
}

/// Shows a banner.
#[component]
pub fn Banner(
    /// The kind of the banner.
    mood: BannerKind,
    /// The content of the banner.
    children: Children,
) -> impl IntoView {
    let (class, icon, role) = match mood {
        BannerKind::Info => ("banner info", Icon::Info, "status"),
        BannerKind::Warning => ("banner warning", Icon::Alert, "status"),
        BannerKind::Error => ("banner error", Icon::Alert, "alert"),
    };
    view! {
        <div class=class role=role>
            <Picture icon=icon/>
            <div>{children()}</div>
        </div>
    }
}

/// Shows placeholder lines while content loads.
#[component]
pub fn Skeleton(
    /// The number of placeholder lines.
    #[prop(default = 3)]
    lines: usize,
) -> impl IntoView {
    view! {
        <div class="skeleton" role="status">
            <span class="visually-hidden">{t().kit.loading()}</span>
            {(0..lines).map(|_| view! { <div class="skeleton-line" aria-hidden="true"></div> }).collect_view()}
        </div>
    }
}
