//! Rows of Kubernetes tables: severity, cells and order.

mod order;

use jiff::Timestamp;

use crate::age::age;
use crate::column::{Columns, Content};
use crate::search::Searched;
use crate::severity::Severity;
use crate::span;

pub use order::{Order, sort};

/// A row of a Kubernetes table.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Row {
    /// The columns of the table.
    pub columns: Columns,
    /// The cells as the server sent them, in the order of the columns.
    pub cells: Vec<String>,
    /// The namespace; `None` for cluster-scoped objects.
    pub namespace: Option<String>,
    /// The name of the object.
    pub name: String,
    /// The creation time of the object.
    pub made: Option<Timestamp>,
    /// The labels of the object.
    pub labels: Vec<(String, String)>,
    /// The notes about the object, such as the taints of a node.
    pub notes: Vec<Note>,
    /// The severity of the object's state.
    pub severity: Severity,
    /// The arrival time of the response. Ages in the cells are relative to this time.
    told: Timestamp,
}

/// A note about an object, such as a taint of a node.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Note {
    /// The severity of the note.
    pub severity: Severity,
    /// The text of the note.
    pub words: String,
    /// The details of the note, shown in a tooltip.
    pub hint: String,
}

impl Row {
    /// Creates a row from cells and a name.
    pub fn new(
        columns: Columns,
        cells: Vec<String>,
        name: String,
        namespace: Option<String>,
    ) -> Self {
        let mut row = Self {
            columns,
            cells,
            namespace,
            name,
            made: None,
            labels: Vec::new(),
            notes: Vec::new(),
            severity: Severity::Healthy,
            told: Timestamp::UNIX_EPOCH,
        };
        row.severity = row.judge();
        row
    }

    /// Sets the creation time of the object, and the arrival time of the response.
    #[must_use]
    pub fn made(mut self, created: Option<Timestamp>, observed_at: Timestamp) -> Self {
        self.made = created;
        self.told = observed_at;
        self
    }

    /// Sets the labels of the object.
    #[must_use]
    pub fn labelled(mut self, labels: Vec<(String, String)>) -> Self {
        self.labels = labels;
        self
    }

    /// Sets the notes. A note can raise the severity of the row.
    #[must_use]
    pub fn noted(mut self, notes: Vec<Note>) -> Self {
        let worst = notes.iter().map(|note| note.severity);
        self.severity = worst.fold(self.severity, Severity::min);
        self.notes = notes;
        self
    }

    /// Returns the cell of the first column whose values have this kind.
    fn of(&self, content: Content) -> Option<&str> {
        let place = self.columns.iter().position(|it| it.content == content)?;
        self.cells.get(place).map(String::as_str)
    }

    fn judge(&self) -> Severity {
        let ready = self.ready();
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
                let status = Severity::of_status(self.cells.get(place)?);
                // A job with the status Running is in progress.
                let running = status == Severity::Healthy && self.severity == Severity::Progressing;
                Some(if running { self.severity } else { status })
            }
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

    /// Returns the current text of a cell. Ages advance with `now`.
    pub fn text(&self, place: usize, now: Timestamp) -> String {
        let Some((column, cell)) = self.columns.get(place).zip(self.cells.get(place)) else {
            return String::new();
        };
        let since = |text: &str| span::before(text, self.told).map(|then| age(then, now));
        match column.content {
            Content::Age => self.made.map(|created| age(created, now)),
            Content::Ago => since(cell),
            Content::Duration if self.severity == Severity::Progressing => since(cell),
            Content::Restarts => {
                let (count, ago) = restarts(cell);
                let ago = ago.and_then(since);
                ago.map(|ago| format!("{count} ({ago} ago)"))
            }
            _ => None,
        }
        .unwrap_or_else(|| match cell.as_str() {
            "" | "<none>" => "–".to_owned(),
            _ => cell.clone(),
        })
    }
}

/// Splits a cell such as `3 (5m ago)` into count and age.
fn restarts(cell: &str) -> (&str, Option<&str>) {
    match cell.split_once(" (") {
        Some((count, ago)) => (count, ago.strip_suffix(" ago)")),
        None => (cell, None),
    }
}

impl Searched for Row {
    fn contains(&self, text: &str) -> bool {
        let has = |shown: &str| crate::search::contains(shown, text);
        has(&self.name)
            || self.namespace.as_deref().is_some_and(has)
            || self.cells.iter().any(|cell| has(cell))
            || self.notes.iter().any(|note| has(&note.words))
    }

    fn label(&self, key: &str) -> Option<&str> {
        let found = self.labels.iter().find(|(known, _)| known == key);
        found.map(|(_, value)| value.as_str())
    }

    fn is(&self, aspect: &str, value: &str) -> Option<bool> {
        match aspect {
            "state" => Some(self.severity.word().starts_with(value)),
            "namespace" => Some(self.namespace.as_deref() == Some(value)),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests;
