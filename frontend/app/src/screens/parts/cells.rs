//! Table cells that several lists use.

use drover_ui_core::messages::t;
use drover_ui_core::readiness::{Readiness, Status};
use drover_ui_core::token::ago;
use drover_ui_kit::badge::{Badge, Tone};
use jiff::Timestamp;
use leptos::prelude::*;

use crate::clock::{Clock, in_full};

/// Renders a value, with a second line of muted text that is truncated to the width of the cell.
pub(crate) fn two(first: impl IntoView + 'static, second: &str) -> AnyView {
    let second = second.to_owned();
    view! {
        <div class="two-lines">
            {first.into_any()}
            <span class="muted truncate" title=second.clone()>{second.clone()}</span>
        </div>
    }
    .into_any()
}

/// Returns the badge color for a readiness status.
pub(crate) const fn tone(status: Status) -> Tone {
    match status {
        Status::Failing => Tone::Bad,
        Status::Coming => Tone::Busy,
        Status::Ready => Tone::Good,
    }
}

/// Renders the readiness with its cause.
pub(crate) fn status(readiness: &Readiness) -> AnyView {
    let badge = view! { <Badge tone=tone(readiness.status) words=readiness.words.clone()/> };
    two(badge, readiness.why.as_deref().unwrap_or_default())
}

/// Renders an age, with the date and time in the tooltip.
pub(crate) fn time(at: Timestamp) -> AnyView {
    let clock = expect_context::<Clock>();
    view! { <span class="truncate" title=in_full(at).to_string()>{move || ago(at, clock.now())}</span> }
        .into_any()
}

/// Renders an age, or `never` without a time.
pub(crate) fn time_or_never(at: Option<Timestamp>) -> AnyView {
    match at {
        Some(at) => time(at),
        None => view! { <span class="muted">{t().labels.never()}</span> }.into_any(),
    }
}
