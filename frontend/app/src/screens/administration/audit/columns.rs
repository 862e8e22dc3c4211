//! The columns of the audit log.

use std::sync::Arc;

use drover_api::rest::{AuditStage, AuditView};
use drover_ui_core::audit::{OutcomeSeverity, end, subject_text, weight};
use drover_ui_core::messages::t;
use drover_ui_core::token::ago;
use drover_ui_kit::badge::{Badge, Tone};
use drover_ui_kit::table::{Column, Row, Sorting};
use leptos::prelude::*;

use super::record::Opened;
use crate::clock::{Clock, in_full, time_of_day};
use crate::screens::cells::two;

/// The default order: newest records first, as in the log.
pub(super) const BY_TIME: Sorting = Sorting {
    column: "time",
    descending: true,
};

/// A row of the list of audit records.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct AuditRow {
    /// The number of log records that are newer than this record.
    pub(super) place: usize,
    pub(super) record: Arc<AuditView>,
}

impl Row for AuditRow {
    fn key(&self) -> String {
        self.place.to_string()
    }
}

/// Returns the columns of the list of audit records.
pub(super) fn columns() -> Vec<Column<AuditRow>> {
    vec![
        Column::new("time", t().audit.time(), "col-record-time", time),
        Column::new("who", t().labels.user(), "col-request-user", user_cell),
        Column::new("what", t().audit.request_column(), "col-request", action),
        Column::new("where", t().labels.cluster(), "col-scope", place),
        Column::new("end", t().audit.outcome(), "col-outcome", ended),
    ]
}

/// Returns the badge color for the outcome of a request.
pub(super) const fn tone(record: &AuditView) -> Tone {
    match weight(record) {
        OutcomeSeverity::Fine => match record.stage {
            AuditStage::Begin => Tone::Busy,
            AuditStage::End => Tone::Good,
        },
        OutcomeSeverity::Refused => Tone::Warning,
        OutcomeSeverity::Failed => Tone::Bad,
        OutcomeSeverity::Left => Tone::Neutral,
    }
}

/// Renders the time as a button that opens the record.
fn time(row: &AuditRow) -> AnyView {
    let (clock, opened) = (expect_context::<Clock>(), expect_context::<Opened>());
    let (record, at) = (Arc::clone(&row.record), row.record.time);
    let open = move |_| opened.show(Arc::clone(&record));
    let button = view! {
        <button type="button" class="link-button truncate" aria-haspopup="dialog" title=in_full(at).to_string() on:click=open>{time_of_day(at).to_string()}</button>
    };
    let since = move || ago(at, clock.now());
    view! { <div class="two-lines">{button}<span class="muted truncate">{since}</span></div> }
        .into_any()
}

fn user_cell(row: &AuditRow) -> AnyView {
    let record = &row.record;
    let source = record.source.clone();
    let second = match (&record.acting_as, source) {
        (Some(name), _) => t().audit.impersonating(name),
        (None, source) => source.unwrap_or_default(),
    };
    let first = match &record.user {
        Some(user) => view! { <b class="truncate">{user.clone()}</b> }.into_any(),
        None => view! { <span class="truncate">{t().audit.unknown_user()}</span> }.into_any(),
    };
    two(first, &second)
}

fn action(row: &AuditRow) -> AnyView {
    let record = &row.record;
    let verb = record.verb.clone().or_else(|| record.method.clone());
    let verb = view! { <span class="truncate">{verb.unwrap_or_default()}</span> };
    two(verb, &subject_text(record))
}

fn place(row: &AuditRow) -> AnyView {
    let cluster = row.record.cluster.clone().unwrap_or_default();
    view! { <span class="truncate" title=cluster.clone()>{cluster.clone()}</span> }.into_any()
}

fn ended(row: &AuditRow) -> AnyView {
    let record = &row.record;
    let badge = view! { <Badge tone=tone(record) words=end(record)/> };
    two(badge, record.reason.as_deref().unwrap_or_default())
}
