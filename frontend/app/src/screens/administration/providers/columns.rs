//! The columns of the list of identity providers.

use std::cmp::Ordering;

use drover_api::rest::AuthProviderView;
use drover_ui_core::messages::t;
use drover_ui_core::provider::{Protocol, is_enabled, screen, title};
use drover_ui_core::readiness::Readiness;
use drover_ui_kit::badge::{Badge, Tone};
use drover_ui_kit::table::{Column, Row, Sorting};
use leptos::prelude::*;

use crate::screens::cells::{self, time, time_or_never};

/// The default order: by name.
pub(super) const BY_DEFAULT: Sorting = Sorting {
    column: "name",
    descending: false,
};

/// A row of the list of identity providers.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct ProviderRow {
    pub(super) provider: AuthProviderView,
    pub(super) readiness: Readiness,
}

impl Row for ProviderRow {
    fn key(&self) -> String {
        self.provider.uid.clone()
    }

    fn name(&self) -> String {
        self.provider.name.clone()
    }
}

/// Returns the columns of the list of identity providers.
pub(super) fn columns() -> Vec<Column<ProviderRow>> {
    vec![
        Column::new("name", t().labels.name(), "col-subject", name).by(by_name),
        Column::new("protocol", t().providers.protocol(), "col-rights", protocol).by(by_protocol),
        Column::new("enabled", t().providers.sign_in(), "col-scope", door).by(by_door),
        Column::new("state", t().labels.state(), "col-status", status).by(by_status),
        Column::new(
            "answer",
            t().providers.last_answer(),
            "col-time",
            last_answer,
        )
        .by(by_answer),
        Column::new("made", t().labels.created(), "col-time", made).by(by_birth),
    ]
}

fn by_name(a: &ProviderRow, b: &ProviderRow) -> Ordering {
    title(&a.provider).cmp(title(&b.provider))
}

fn by_protocol(a: &ProviderRow, b: &ProviderRow) -> Ordering {
    Protocol::of(&a.provider.spec).cmp(&Protocol::of(&b.provider.spec))
}

/// Sorts enabled providers first.
fn by_door(a: &ProviderRow, b: &ProviderRow) -> Ordering {
    is_enabled(&b.provider.spec).cmp(&is_enabled(&a.provider.spec))
}

fn by_status(a: &ProviderRow, b: &ProviderRow) -> Ordering {
    a.readiness.status.cmp(&b.readiness.status)
}

/// Sorts by last response, latest first. Providers without a response are last.
fn by_answer(a: &ProviderRow, b: &ProviderRow) -> Ordering {
    b.provider.last_answer_at.cmp(&a.provider.last_answer_at)
}

/// Sorts by creation time, newest first.
fn by_birth(a: &ProviderRow, b: &ProviderRow) -> Ordering {
    b.provider.created_at.cmp(&a.provider.created_at)
}

fn name(row: &ProviderRow) -> AnyView {
    let provider = &row.provider;
    let shown = title(provider).to_owned();
    view! {
        <div class="two-lines">
            <a class="truncate" href=screen(&provider.name)>{shown}</a>
            <span class="muted truncate">{provider.name.clone()}</span>
        </div>
    }
    .into_any()
}

fn protocol(row: &ProviderRow) -> AnyView {
    let words =
        Protocol::of(&row.provider.spec).map_or_else(|| t().states.unknown(), Protocol::words);
    view! { <span class="truncate">{words}</span> }.into_any()
}

/// Returns a badge that shows whether sign-ins are enabled.
pub(super) fn door_badge(enabled: bool) -> AnyView {
    let (tone, words) = if enabled {
        (Tone::Good, t().users.enabled())
    } else {
        (Tone::Neutral, t().users.disabled())
    };
    view! { <Badge tone=tone words=words.to_owned()/> }.into_any()
}

fn door(row: &ProviderRow) -> AnyView {
    door_badge(is_enabled(&row.provider.spec))
}

fn status(row: &ProviderRow) -> AnyView {
    cells::status(&row.readiness)
}

fn last_answer(row: &ProviderRow) -> AnyView {
    time_or_never(row.provider.last_answer_at)
}

fn made(row: &ProviderRow) -> AnyView {
    time(row.provider.created_at)
}
