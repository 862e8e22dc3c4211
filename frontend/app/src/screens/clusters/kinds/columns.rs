//! The columns of a list: the columns of the Kubernetes Table response, and columns that the page
//! adds.

use std::sync::Arc;

use drover_ui_core::column::{Columns, Content};
use drover_ui_core::kind::Kind;
use drover_ui_core::messages::t;
use drover_ui_core::row::{Note, Row};
use drover_ui_core::severity::Severity;
use drover_ui_core::visible::{ColumnSource, VisibleColumn, visible};
use drover_ui_kit::badge::Badge;
use drover_ui_kit::table::{self, Sorting, TableColumn};
use leptos::prelude::*;

use super::tone_of;
use super::view::usual;
use crate::clock::Clock;

/// A row of the Kubernetes Table response, for the table component.
#[derive(Clone, Debug)]
pub(super) struct Line(pub(super) Arc<Row>);

impl PartialEq for Line {
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0) || self.0 == other.0
    }
}

impl table::Row for Line {
    fn key(&self) -> String {
        let namespace = self.0.namespace.as_deref().unwrap_or_default();
        format!("{namespace}/{}", self.0.name)
    }
}

/// A visible column, for the table component.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct ListColumn {
    kind: Kind,
    cluster: Arc<str>,
    column: VisibleColumn,
    /// True if the table has a status column.
    has_status: bool,
}

/// Returns the visible columns.
pub(super) fn columns(
    told: &Columns,
    kind: Kind,
    cluster: &Arc<str>,
    all_namespaces: bool,
    wide: bool,
) -> Vec<ListColumn> {
    let has_status = told.iter().any(|it| it.content == Content::Status);
    let shown = visible(told, kind, all_namespaces, wide).into_iter();
    let columns = shown.map(|column| ListColumn {
        kind,
        cluster: Arc::clone(cluster),
        column,
        has_status,
    });
    columns.collect()
}

impl TableColumn for ListColumn {
    type Row = Line;
    type Key = String;

    fn key(&self) -> String {
        self.column.key.clone()
    }

    fn heading(&self) -> String {
        self.column.heading.clone()
    }

    fn hint(&self) -> Option<String> {
        self.column.hint.clone()
    }

    fn class(&self) -> String {
        match self.column.source {
            ColumnSource::Namespace => "list-namespace",
            ColumnSource::Notes => "list-notes",
            ColumnSource::Cell(_, content) => match content {
                Content::Name => "list-name",
                Content::Status => "list-status",
                Content::Ready if !self.has_status => "list-ready list-first",
                Content::Ready => "list-ready",
                Content::Restarts => "list-restarts",
                Content::Age => "list-age figure",
                Content::Ago | Content::Duration => "list-count",
                Content::Desired | Content::Count | Content::Suspend => "list-count figure",
                Content::Text => "list-text",
            },
        }
        .to_owned()
    }

    fn sorts(&self) -> bool {
        self.column.source != ColumnSource::Notes
    }

    fn cell(&self, row: &Line) -> AnyView {
        match self.column.source {
            ColumnSource::Namespace => text(row.0.namespace.clone().unwrap_or_default()),
            ColumnSource::Notes => notes(&row.0.notes),
            ColumnSource::Cell(place, content) => self.told(&row.0, place, content),
        }
    }

    fn unsorted(&self) -> Option<Sorting<String>> {
        Some(usual())
    }
}

impl ListColumn {
    /// Renders a cell of the Kubernetes Table row.
    fn told(&self, row: &Arc<Row>, place: usize, content: Content) -> AnyView {
        let severity = row.severity_of(place);
        match (content, severity) {
            (Content::Name, _) => self.name(row),
            (Content::Status, Some(severity)) => badge(row, place, severity),
            (Content::Ready, Some(severity)) if !self.has_status => badge(row, place, severity),
            (Content::Ready, Some(severity)) => {
                let class = format!("truncate cell-severity {}", tone_of(severity).class());
                view! { <span class=class>{row.cells.get(place).cloned()}</span> }.into_any()
            }
            (Content::Age | Content::Ago | Content::Duration | Content::Restarts, _) => {
                let (clock, row) = (expect_context::<Clock>(), Arc::clone(row));
                view! { <span class="truncate">{move || row.text(place, clock.now())}</span> }
                    .into_any()
            }
            _ => text(row.text(place, jiff::Timestamp::UNIX_EPOCH)),
        }
    }

    fn name(&self, row: &Row) -> AnyView {
        let namespace = row.namespace.as_deref();
        let path = self.kind.object_screen(&self.cluster, namespace, &row.name);
        let (name, hint) = (row.name.clone(), row.name.clone());
        view! {
            <div class="two-lines">
                <a class="truncate" href=path title=hint>{name}</a>
                <span class="muted truncate list-second-line">{namespace.map(str::to_owned)}</span>
            </div>
        }
        .into_any()
    }
}

fn badge(row: &Row, place: usize, severity: Severity) -> AnyView {
    let words = row.cells.get(place).cloned().unwrap_or_default();
    // The status of a cordoned node contains two values.
    let words = words.replace(",SchedulingDisabled", t().kinds.cordoned());
    let hint = words.clone();
    view! { <span title=hint><Badge tone=tone_of(severity) words=words/></span> }.into_any()
}

fn notes(notes: &[Note]) -> AnyView {
    let words: Vec<&str> = notes.iter().map(|note| note.words.as_str()).collect();
    let hints: Vec<String> = notes
        .iter()
        .map(|note| format!("{}. {}", note.words, note.hint))
        .collect();
    let worst = notes.iter().map(|note| note.severity).min();
    let class = match worst.filter(|worst| *worst < Severity::Healthy) {
        Some(worst) => format!("lines cell-severity {}", tone_of(worst).class()),
        None => "lines muted".to_owned(),
    };
    view! { <span class=class title=hints.join("\n")>{words.join("; ")}</span> }.into_any()
}

fn text(words: String) -> AnyView {
    let hint = words.clone();
    view! { <span class="truncate" title=hint>{words}</span> }.into_any()
}
