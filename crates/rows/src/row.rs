//! Rows of Kubernetes tables: severity and cells.

use std::cmp::Ordering;
use std::sync::Arc;

use jiff::Timestamp;

use crate::column::{Column, Columns, Content, index_of};
use crate::natural::natural;
use crate::note::Note;
use crate::query::{Searched, contains};
use crate::samples::UsageSamples;
use crate::severity::Severity;
use crate::span;
use crate::texts::Texts;
use crate::usage::{Amounts, Resource};

/// A row of a Kubernetes table.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Row {
    /// The cluster of the object.
    pub cluster: Arc<str>,
    /// The columns of the table.
    pub columns: Columns,
    /// Namespace, name, cells, and then the keys and values of labels.
    texts: Arc<Texts>,
    cells: usize,
    /// The creation time of the object.
    pub created: Option<Timestamp>,
    /// The arrival time of the response. Ages in the cells are relative to this time.
    pub observed: Timestamp,
    /// The notes about the object, such as the taints of a node.
    pub notes: Box<[Note]>,
    /// The severity of the object's state.
    pub severity: Severity,
    /// The requested amounts of a pod, or the allocatable amounts of a node. 0 if not set.
    pub reserved: Amounts,
    /// The usage, if the cluster has metrics of the object.
    pub usage: Option<Amounts>,
    /// The last samples of the usage. Only the rows of a page have samples.
    pub samples: Option<Arc<UsageSamples>>,
}

/// The index of the first cell in [`Row::texts`].
const FIRST_CELL: usize = 2;

/// The content of a new row.
#[derive(Clone, Debug, Default)]
pub struct RowContent {
    /// The namespace; empty for cluster-scoped objects.
    pub namespace: String,
    /// The name of the object.
    pub name: String,
    /// The cells as the server sent them, in the order of the columns.
    pub cells: Vec<String>,
    /// The labels of the object.
    pub labels: Vec<(String, String)>,
    /// The notes about the object.
    pub notes: Vec<Note>,
    /// The creation time of the object.
    pub created: Option<Timestamp>,
    /// The requested amounts of a pod, or the allocatable amounts of a node.
    pub reserved: Amounts,
}

impl Row {
    /// Creates a row. `observed` is the arrival time of the response.
    pub fn new(
        cluster: Arc<str>,
        columns: Columns,
        content: RowContent,
        observed: Timestamp,
    ) -> Self {
        let labels = content.labels.iter().flat_map(|(key, value)| [key, value]);
        let names = [&content.namespace, &content.name];
        let texts = names.into_iter().chain(&content.cells).chain(labels);
        let mut row = Self {
            cluster,
            columns,
            texts: Arc::new(texts.collect()),
            cells: content.cells.len(),
            created: content.created,
            observed,
            notes: content.notes.into_boxed_slice(),
            severity: Severity::Healthy,
            reserved: content.reserved,
            usage: None,
            samples: None,
        };
        let worst = row.notes.iter().map(Note::severity);
        row.severity = worst.fold(row.judge(), Severity::min);
        row
    }

    /// Returns the namespace. Returns `None` for cluster-scoped objects.
    pub fn namespace(&self) -> Option<&str> {
        self.texts.get(0).filter(|namespace| !namespace.is_empty())
    }

    /// Returns the name of the object.
    pub fn name(&self) -> &str {
        self.texts.get(1).unwrap_or_default()
    }

    /// Returns a cell as the server sent it.
    pub fn cell(&self, place: usize) -> Option<&str> {
        let place = Some(place).filter(|place| *place < self.cells)?;
        self.texts.get(FIRST_CELL + place)
    }

    /// Returns all cells, in the order of the columns.
    pub fn cells(&self) -> impl Iterator<Item = &str> {
        (0..self.cells).filter_map(|place| self.cell(place))
    }

    /// Returns the labels.
    pub fn labels(&self) -> impl Iterator<Item = (&str, &str)> {
        let first = FIRST_CELL + self.cells;
        let keys = (first..self.texts.len()).step_by(2);
        keys.filter_map(|at| self.texts.get(at).zip(self.texts.get(at + 1)))
    }

    /// Returns the share of the usage in the requested or allocatable amount. The share can exceed 1.
    /// Returns `None` without usage, and without a request.
    #[expect(
        clippy::cast_precision_loss,
        reason = "amounts above 2^53 are not plausible"
    )]
    pub fn usage_share(&self, resource: Resource) -> Option<f64> {
        let reserved = self.reserved.of(resource);
        let used = self.usage.filter(|_| reserved > 0)?.of(resource);
        Some(used as f64 / reserved as f64)
    }

    /// Returns the approximate memory of the row in bytes.
    pub fn bytes(&self) -> usize {
        size_of::<Self>()
            + size_of::<Texts>()
            + self.texts.bytes()
            + self.notes.iter().map(Note::bytes).sum::<usize>()
    }

    /// Compares two rows by cluster, namespace and name. Different objects of a list are never
    /// equal.
    pub fn by_name(&self, other: &Self) -> Ordering {
        let natural = natural(self.name(), other.name());
        (self.namespace().cmp(&other.namespace()))
            .then(natural)
            .then_with(|| self.name().cmp(other.name()))
            .then_with(|| self.cluster.cmp(&other.cluster))
    }

    /// Reports whether a list shows another version of the row in the same way. Times that are
    /// relative to the response differ between responses.
    pub fn looks_like(&self, other: &Self) -> bool {
        let is_relative = |(cell, column): (&str, &Column)| match column.content {
            Content::Ago | Content::Duration => span::parse(cell).is_some(),
            Content::Restarts => span::restarts(cell).1.is_some(),
            _ => false,
        };
        let at_equal_times = Self {
            observed: self.observed,
            ..other.clone()
        };
        *self == at_equal_times && !self.cells().zip(&*self.columns).any(is_relative)
    }

    /// Returns the cell of the first column whose values have this kind.
    fn of(&self, content: Content) -> Option<&str> {
        let place = self.columns.iter().position(|it| it.content == content)?;
        self.cell(place)
    }

    /// Returns the cell of the column with this key.
    pub fn cell_of(&self, key: &str) -> Option<&str> {
        self.cell(index_of(&self.columns, key)?)
    }

    fn judge(&self) -> Severity {
        let ready = self.ready();
        if let Some(kind) = self.of(Content::EventType) {
            return of_event(kind);
        }
        let Some(status) = self.of(Content::Status) else {
            let paused = self.of(Content::Suspend) == Some("True");
            let otherwise = if paused {
                Severity::Idle
            } else {
                Severity::Healthy
            };
            return ready.map_or(otherwise, |(ready, desired)| {
                Severity::of_ready(ready, desired)
            });
        };
        match (Severity::of_status(status), ready) {
            // The container runs but is not ready.
            (Severity::Healthy, Some((ready, desired))) if ready < desired => Severity::Degraded,
            _ if status == "Running" && self.of(Content::Duration).is_some() => {
                Severity::Progressing
            }
            (severity, _) => severity,
        }
    }

    /// Returns the ready and desired counts, if the table has these columns.
    fn ready(&self) -> Option<(u64, u64)> {
        let ready = self.of(Content::Ready)?;
        let (ready, desired) = match ready.split_once('/') {
            Some(parts) => parts,
            None => (ready, self.of(Content::Desired)?),
        };
        Some((ready.parse().ok()?, desired.parse().ok()?))
    }

    /// Returns the severity of a cell. Returns `None` for cells without a state.
    pub fn severity_of(&self, place: usize) -> Option<Severity> {
        match self.columns.get(place)?.content {
            Content::Status => {
                let status = Severity::of_status(self.cell(place)?);
                // A job with the status Running is in progress.
                let running = status == Severity::Healthy && self.severity == Severity::Progressing;
                Some(if running { self.severity } else { status })
            }
            Content::EventType => Some(of_event(self.cell(place)?)),
            Content::Ready if self.of(Content::Status).is_some() => {
                (self.severity == Severity::Degraded && self.ready().is_some_and(|(a, b)| a < b))
                    .then_some(Severity::Degraded)
            }
            Content::Ready => {
                let (ready, desired) = self.ready()?;
                Some(Severity::of_ready(ready, desired))
            }
            _ => None,
        }
    }

    /// Returns the current text of a cell. Ages advance with `now`. `age` formats the time between
    /// two moments.
    pub fn text(
        &self,
        place: usize,
        now: Timestamp,
        age: impl Fn(Timestamp, Timestamp) -> String,
    ) -> String {
        let Some((column, cell)) = self.columns.get(place).zip(self.cell(place)) else {
            return String::new();
        };
        let since = |text: &str| span::before(text, self.observed).map(|then| age(then, now));
        match column.content {
            Content::Age => self.created.map(|created| age(created, now)),
            Content::Ago => since(cell),
            Content::Duration if self.severity == Severity::Progressing => since(cell),
            Content::Restarts => {
                let (count, ago) = span::restarts(cell);
                let ago = ago.and_then(since);
                ago.map(|ago| format!("{count} ({ago} ago)"))
            }
            _ => None,
        }
        .unwrap_or_else(|| match cell {
            "" | "<none>" => "–".to_owned(),
            _ => cell.to_owned(),
        })
    }
}

fn of_event(kind: &str) -> Severity {
    if kind == "Normal" {
        Severity::Healthy
    } else {
        Severity::Degraded
    }
}

impl Searched for Row {
    fn contains(&self, text: &str) -> bool {
        let has = |shown: &str| contains(shown, text);
        has(self.name())
            || self.namespace().is_some_and(has)
            || self.cells().any(has)
            || has(&self.cluster)
            || self
                .notes
                .iter()
                .any(|note| note.texts().into_iter().any(has))
    }

    fn label(&self, key: &str) -> Option<&str> {
        let found = self.labels().find(|(known, _)| *known == key);
        found.map(|(_, value)| value)
    }

    fn is(&self, aspect: &str, value: &str) -> Option<bool> {
        match aspect {
            "state" => Some(self.severity.word().starts_with(value)),
            "namespace" => Some(self.namespace() == Some(value)),
            "cluster" => Some(self.cluster.eq_ignore_ascii_case(value)),
            "name" => Some(contains(self.name(), value)),
            "kind" => {
                // The cell of an event contains the kind and the name: `Pod/web-0`.
                let object = self.cell_of("object").and_then(|it| it.split_once('/'));
                let kind = object
                    .map(|(kind, _)| kind)
                    .or_else(|| self.cell_of("kind"));
                kind.map(|kind| contains(kind, value))
            }
            "image" => Some(self.cell_of("images").is_some_and(|it| contains(it, value))),
            aspect => self.cell_of(aspect).map(|cell| contains(cell, value)),
        }
    }
}

#[cfg(test)]
mod tests;
