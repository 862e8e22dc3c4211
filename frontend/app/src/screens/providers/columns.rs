//! The columns of the list of identity providers.

use std::cmp::Ordering;

use drover_api::rest::AuthProviderView;
use drover_ui_core::provider::{Protocol, is_enabled, screen, title};
use drover_ui_core::readiness::Readiness;
use drover_ui_core::token::ago;
use drover_ui_kit::badge::{Badge, Tone};
use drover_ui_kit::table::{Column, Row, Sorting};
use jiff::Timestamp;
use leptos::prelude::*;

use crate::clock::{Clock, in_full};
use crate::screens::members::tone;

/// By name.
pub(super) const BY_DEFAULT: Sorting = Sorting {
    column: "name",
    descending: false,
};

/// A provider, with how it stands.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct ProviderRow {
    /// The provider.
    pub(super) provider: AuthProviderView,
    /// How it stands.
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

type Order = fn(&ProviderRow, &ProviderRow) -> Ordering;
type Cell = fn(&ProviderRow) -> AnyView;

/// All of them.
pub(super) fn columns() -> Vec<Column<ProviderRow>> {
    let all: [(&str, &str, &str, Option<Order>, Cell); 6] = [
        ("name", "Name", "col-person", Some(by_name), name),
        (
            "protocol",
            "Protocol",
            "col-rights",
            Some(by_protocol),
            protocol,
        ),
        ("enabled", "Sign-in", "col-scope", Some(by_door), door),
        (
            "state",
            "State",
            "col-standing",
            Some(by_standing),
            standing,
        ),
        (
            "answer",
            "Last answer",
            "col-time",
            Some(by_answer),
            last_answer,
        ),
        ("made", "Made", "col-time", Some(by_birth), made),
    ];
    all.map(|(key, heading, class, order, cell)| Column {
        key,
        heading,
        class,
        order,
        cell,
    })
    .into()
}

fn by_name(a: &ProviderRow, b: &ProviderRow) -> Ordering {
    title(&a.provider).cmp(title(&b.provider))
}

fn by_protocol(a: &ProviderRow, b: &ProviderRow) -> Ordering {
    Protocol::of(&a.provider.spec).cmp(&Protocol::of(&b.provider.spec))
}

/// The enabled ones first.
fn by_door(a: &ProviderRow, b: &ProviderRow) -> Ordering {
    is_enabled(&b.provider.spec).cmp(&is_enabled(&a.provider.spec))
}

fn by_standing(a: &ProviderRow, b: &ProviderRow) -> Ordering {
    a.readiness.standing.cmp(&b.readiness.standing)
}

/// Those that answered last first; those that never did at the end.
fn by_answer(a: &ProviderRow, b: &ProviderRow) -> Ordering {
    b.provider.last_answer_at.cmp(&a.provider.last_answer_at)
}

/// The youngest first.
fn by_birth(a: &ProviderRow, b: &ProviderRow) -> Ordering {
    b.provider.created_at.cmp(&a.provider.created_at)
}

fn name(row: &ProviderRow) -> AnyView {
    let provider = &row.provider;
    let shown = title(provider).to_owned();
    view! {
        <div class="two">
            <a class="cut" href=screen(&provider.name)>{shown}</a>
            <span class="soft cut">{provider.name.clone()}</span>
        </div>
    }
    .into_any()
}

fn protocol(row: &ProviderRow) -> AnyView {
    let words = Protocol::of(&row.provider.spec).map_or("unknown", Protocol::words);
    view! { <span class="cut">{words}</span> }.into_any()
}

/// Whether people can sign in with it.
pub(super) fn door_badge(enabled: bool) -> AnyView {
    let (tone, words) = if enabled {
        (Tone::Good, "enabled")
    } else {
        (Tone::Neutral, "disabled")
    };
    view! { <Badge tone=tone words=words.to_owned()/> }.into_any()
}

fn door(row: &ProviderRow) -> AnyView {
    door_badge(is_enabled(&row.provider.spec))
}

fn standing(row: &ProviderRow) -> AnyView {
    let Readiness {
        standing,
        words,
        why,
    } = row.readiness.clone();
    let why = why.unwrap_or_default();
    view! {
        <div class="two">
            <Badge tone=tone(standing) words=words/>
            <span class="soft cut" title=why.clone()>{why.clone()}</span>
        </div>
    }
    .into_any()
}

/// How long ago, with the whole time for who asks.
pub(super) fn time(at: Option<Timestamp>) -> AnyView {
    let clock = expect_context::<Clock>();
    match at {
        Some(at) => {
            view! { <span class="cut" title=in_full(at)>{move || ago(at, clock.now())}</span> }
                .into_any()
        }
        None => view! { <span class="soft">"never"</span> }.into_any(),
    }
}

fn last_answer(row: &ProviderRow) -> AnyView {
    time(row.provider.last_answer_at)
}

fn made(row: &ProviderRow) -> AnyView {
    time(Some(row.provider.created_at))
}
