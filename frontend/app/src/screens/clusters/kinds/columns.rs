//! The columns of a list: the columns of the Kubernetes Table response, and columns that the page
//! adds.

use std::sync::Arc;

use drover_rows::usage::Resource;
use drover_rows::{Columns, Content, Note, Row, Severity};
use drover_ui_core::action::ObjectKey;
use drover_ui_core::age::age;
use drover_ui_core::kind::Kind;
use drover_ui_core::list::sparkline;
use drover_ui_core::list::usage::{UsageText, usage_text};
use drover_ui_core::messages::t;
use drover_ui_core::note::NoteText;
use drover_ui_core::visible::{ColumnSource, ListScope, VisibleColumn, visible};
use drover_ui_core::widths::text_width;
use drover_ui_kit::badge::Badge;
use drover_ui_kit::chart::sparkline::Sparkline;
use drover_ui_kit::table::{self, Sorting, TableColumn};
use leptos::prelude::*;

use super::tone_of;
use super::view::usual;
use crate::clock::Clock;
use drover_ui_core::cluster::screen as cluster_screen;

/// A row of the Kubernetes Table response, for the table component.
#[derive(Clone, Debug)]
pub(super) struct Line(Arc<Row>);

impl Line {
    pub(super) const fn new(row: Arc<Row>) -> Self {
        Self(row)
    }
}

impl PartialEq for Line {
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0) || self.0 == other.0
    }
}

impl table::Row for Line {
    /// Returns the identity of the object. The selection survives new connections to the server,
    /// which change the IDs of rows.
    fn key(&self) -> String {
        ObjectKey::of_row(&self.0).to_string()
    }

    fn name(&self) -> String {
        self.0.name().to_owned()
    }
}

/// A visible column, for the table component.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct ListColumn {
    kind: Kind,
    column: VisibleColumn,
    /// True if the table has a status column.
    has_status: bool,
}

/// Returns the visible columns.
pub(super) fn columns(told: &Columns, kind: Kind, scope: ListScope, wide: bool) -> Vec<ListColumn> {
    let has_status = told.iter().any(|it| it.content == Content::Status);
    let shown = visible(told, kind, scope, wide).into_iter();
    let columns = shown.map(|column| ListColumn {
        kind,
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
            ColumnSource::Cluster | ColumnSource::Namespace => "list-namespace",
            ColumnSource::Notes => "list-notes",
            ColumnSource::Cell(_, content) => match content {
                Content::Name => "list-name",
                Content::Status | Content::EventType => "list-status",
                Content::Ready if !self.has_status => "list-ready list-first",
                Content::Ready => "list-ready",
                Content::Restarts => "list-restarts",
                Content::Age => "list-age figure",
                Content::Ago | Content::Duration => "list-count",
                Content::Desired
                | Content::Count
                | Content::Suspend
                | Content::Cpu
                | Content::Memory => "list-count figure",
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
            ColumnSource::Cluster => cluster(&row.0),
            ColumnSource::Namespace => text(row.0.namespace().unwrap_or_default().to_owned()),
            ColumnSource::Notes => notes(&row.0.notes),
            ColumnSource::Cell(place, content) => self.told(&row.0, place, content),
        }
    }

    fn width(&self, Line(row): &Line) -> Option<f64> {
        let letters = match self.column.source {
            ColumnSource::Cluster => row.cluster.chars().count(),
            ColumnSource::Namespace => row.namespace().map_or(0, str::len),
            ColumnSource::Notes => NOTES_LETTERS,
            ColumnSource::Cell(place, content) => letters(row, place, content),
        };
        Some(text_width(letters))
    }

    fn extra_width(&self) -> f64 {
        match self.column.source {
            ColumnSource::Cell(_, Content::Cpu | Content::Memory) => LINE_WIDTH,
            _ => 0.0,
        }
    }

    fn share(&self) -> f64 {
        match self.column.source {
            ColumnSource::Cell(_, Content::Name | Content::Status) => 2.0,
            ColumnSource::Cell(_, Content::Cpu | Content::Memory) => 1.5,
            _ => 1.0,
        }
    }

    fn unsorted(&self) -> Option<Sorting<String>> {
        Some(usual())
    }
}

impl ListColumn {
    /// Renders a cell of the Kubernetes Table row.
    fn told(&self, row: &Arc<Row>, place: usize, content: Content) -> AnyView {
        if let Some(resource) = content.resource() {
            return usage(row, resource);
        }
        let severity = row.severity_of(place);
        match (content, severity) {
            (Content::Name, _) => self.name(row),
            (Content::Status | Content::EventType, Some(severity)) => badge(row, place, severity),
            (Content::Ready, Some(severity)) if !self.has_status => badge(row, place, severity),
            (Content::Ready, Some(severity)) => {
                let class = format!("truncate cell-severity {}", tone_of(severity).class());
                view! { <span class=class>{row.cell(place).map(str::to_owned)}</span> }.into_any()
            }
            (Content::Age | Content::Ago | Content::Duration | Content::Restarts, _) => {
                let (clock, row) = (expect_context::<Clock>(), Arc::clone(row));
                view! { <span class="truncate">{move || row.text(place, clock.now(), age)}</span> }
                    .into_any()
            }
            _ => text(row.text(place, jiff::Timestamp::UNIX_EPOCH, age)),
        }
    }

    fn name(&self, row: &Row) -> AnyView {
        let namespace = row.namespace();
        let path = self.kind.object_screen(&row.cluster, namespace, row.name());
        let (name, hint) = (row.name().to_owned(), row.name().to_owned());
        view! {
            <div class="two-lines">
                <a class="truncate" href=path title=hint>{name}</a>
                <span class="muted truncate list-second-line">{namespace.map(str::to_owned)}</span>
            </div>
        }
        .into_any()
    }
}

/// The width of the line of the usage and its distance from the text, in pixels.
const LINE_WIDTH: f64 = sparkline::WIDTH + 8.0;
/// The assumed length of notes, which have two lines.
const NOTES_LETTERS: usize = 24;
/// The maximum length of an age, such as `100d`.
const AGE_LETTERS: usize = 5;
/// The width of the dot before a state, in letters.
const DOT_LETTERS: usize = 3;

/// Returns the length of the text of a cell.
fn letters(row: &Row, place: usize, content: Content) -> usize {
    if let Some(resource) = content.resource() {
        let text = usage_text(row, resource);
        return text.map_or(0, |text| text.letters());
    }
    let cell = row.cell(place).unwrap_or_default();
    match content {
        Content::Age => AGE_LETTERS,
        Content::Status | Content::EventType | Content::Ready => {
            status(cell).chars().count() + DOT_LETTERS
        }
        _ => cell.chars().count(),
    }
}

/// Returns the text of a status. The status of a cordoned node contains two values.
fn status(cell: &str) -> String {
    cell.replace(",SchedulingDisabled", t().kinds.cordoned())
}

fn badge(row: &Row, place: usize, severity: Severity) -> AnyView {
    let words = status(row.cell(place).unwrap_or_default());
    let hint = words.clone();
    view! { <span title=hint><Badge tone=tone_of(severity) words=words/></span> }.into_any()
}

fn usage(row: &Row, resource: Resource) -> AnyView {
    let Some(UsageText { amount, percent }) = usage_text(row, resource) else {
        return text("–".to_owned());
    };
    let percent = percent.map(|percent| view! { <span class="muted">" "{percent}</span> });
    let line = sparkline::sparkline(row, resource);
    let (points, hint) = line.map(|it| (it.points, it.summary)).unzip();
    view! {
        <span class="usage" title=hint>
            <span class="truncate">{amount}{percent}</span>
            <Sparkline points=points.unwrap_or_default()/>
        </span>
    }
    .into_any()
}

fn cluster(row: &Row) -> AnyView {
    let (path, name) = (cluster_screen(&row.cluster), row.cluster.to_string());
    let hint = name.clone();
    view! { <a class="truncate" href=path title=hint>{name}</a> }.into_any()
}

fn notes(notes: &[Note]) -> AnyView {
    let worst = notes.iter().map(Note::severity).min();
    let texts: Vec<NoteText> = notes.iter().map(NoteText::of).collect();
    let words: Vec<&str> = texts.iter().map(|note| note.words.as_str()).collect();
    let hints: Vec<String> = texts
        .iter()
        .map(|note| format!("{}. {}", note.words, note.hint))
        .collect();
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
