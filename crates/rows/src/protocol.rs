//! The messages of the row service: JSON texts in one WebSocket for all lists of a page.
//!
//! The page subscribes to a list with a view. The server sends an update when the window of the
//! view, a count or the state of a source changes. An update contains only rows that the page does
//! not have.

use std::sync::Arc;

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use crate::column::{Column, Columns};
use crate::note::Note;
use crate::row::{Row, RowContent};
use crate::samples::UsageSamples;
use crate::severity::Severity;
use crate::usage::Amounts;

/// The maximum number of rows of a window.
pub const MAX_WINDOW: usize = 300;
/// The maximum time between two messages of the server.
pub const HEARTBEAT_SECONDS: u64 = 15;

/// The identity of a row in one WebSocket. A changed row keeps its ID.
pub type RowId = u64;

/// A message of the page.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub enum ClientMessage {
    /// Starts a list. The page selects the ID.
    Subscribe {
        /// The ID of the subscription in all messages.
        id: u32,
        /// The objects of the list.
        list: ListSpec,
        /// The filter, the sort order and the window.
        view: ViewSpec,
    },
    /// Changes the view of a list.
    View {
        /// The ID of the subscription.
        id: u32,
        /// The new view.
        view: ViewSpec,
    },
    /// Ends a list.
    Unsubscribe {
        /// The ID of the subscription.
        id: u32,
    },
}

/// The objects of a list.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ListSpec {
    /// Group and version, as in `apiVersion`: `v1`, `apps/v1`.
    pub api_version: String,
    /// The plural, as in API paths.
    pub plural: String,
    /// The names of the clusters.
    pub clusters: Vec<String>,
    /// The namespaces. An empty list selects all namespaces and cluster-scoped objects.
    #[serde(default)]
    pub namespaces: Vec<String>,
}

/// The filter, the sort order and the window of a list.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ViewSpec {
    /// The text filter ([`Query`](crate::query::Query)).
    #[serde(default)]
    pub filter: String,
    /// The severity of all rows; `None` for all severities.
    #[serde(default)]
    pub severity: Option<Severity>,
    /// The key of the column by which the list is sorted. The empty key sorts by severity.
    #[serde(default)]
    pub sort: String,
    /// True for descending order.
    #[serde(default)]
    pub descending: bool,
    /// The index of the first row of the window.
    #[serde(default)]
    pub first: usize,
    /// The number of rows of the window, at most [`MAX_WINDOW`].
    pub count: usize,
}

/// A message of the server.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum ServerMessage {
    /// The changes of a list.
    Update(Box<Update>),
    /// The server refuses a subscription or a view.
    Refused {
        /// The ID of the subscription.
        id: u32,
        /// The reason and the fix.
        message: String,
    },
    /// The connection is alive. The server sends this message if it has no other message.
    Alive,
    /// The server ends the connection.
    Ended(ListProblem),
}

/// The changes of a list since the previous update of its subscription.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Update {
    /// The ID of the subscription.
    pub id: u32,
    /// The columns, if they changed. New columns are followed by all rows of the window.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub columns: Option<Vec<Column>>,
    /// The number of rows that match the view.
    pub shown: usize,
    /// The number of rows of the list.
    pub all: usize,
    /// The number of rows of the list for each severity, worst first.
    pub severities: [usize; Severity::ALL.len()],
    /// The index of the first row of the window.
    pub first: usize,
    /// The IDs of the rows of the window in their order, if they changed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub order: Option<Vec<RowId>>,
    /// The rows of the window that are new or changed.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub rows: Vec<WireRow>,
    /// The samples of the usage of rows of the window, if they changed. Empty samples replace
    /// samples that the server no longer has.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub samples: Vec<(RowId, UsageSamples)>,
    /// The states of all sources, if a state changed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sources: Option<Vec<SourceStatus>>,
}

/// A row in an update.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct WireRow {
    /// The ID of the row.
    pub id: RowId,
    /// The cluster of the object.
    pub cluster: String,
    /// The namespace; empty for cluster-scoped objects.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub namespace: String,
    /// The name of the object.
    pub name: String,
    /// The creation time of the object.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub created: Option<Timestamp>,
    /// The arrival time of the cells at the server.
    pub observed: Timestamp,
    /// The cells in the order of the columns of the update.
    pub cells: Vec<String>,
    /// The notes about the object.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub notes: Vec<Note>,
    /// The usage of CPU and memory.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub usage: Option<Amounts>,
    /// The requested amounts of a pod, or the allocatable amounts of a node.
    #[serde(default, skip_serializing_if = "Amounts::is_zero")]
    pub reserved: Amounts,
}

impl WireRow {
    /// Creates the message for a row. Cells of other columns than `columns` are omitted.
    pub fn new(id: RowId, row: &Row, columns: &Columns) -> Self {
        let cells = if Arc::ptr_eq(&row.columns, columns) {
            row.cells().map(str::to_owned).collect()
        } else {
            let place = |key: &str| crate::column::index_of(&row.columns, key);
            let cell = |key: &str| place(key).and_then(|place| row.cell(place));
            let cells = columns.iter().map(|column| cell(&column.key));
            cells
                .map(|cell| cell.unwrap_or_default().to_owned())
                .collect()
        };
        Self {
            id,
            cluster: row.cluster.to_string(),
            namespace: row.namespace().unwrap_or_default().to_owned(),
            name: row.name().to_owned(),
            created: row.created,
            observed: row.observed,
            cells,
            notes: row.notes.to_vec(),
            usage: row.usage,
            reserved: row.reserved,
        }
    }

    /// Converts the message to a row with the columns of the update.
    pub fn into_row(self, columns: &Columns) -> Row {
        let content = RowContent {
            namespace: self.namespace,
            name: self.name,
            cells: self.cells,
            labels: Vec::new(),
            notes: self.notes,
            created: self.created,
            reserved: self.reserved,
        };
        let mut row = Row::new(
            self.cluster.into(),
            Arc::clone(columns),
            content,
            self.observed,
        );
        row.usage = self.usage;
        row
    }
}

/// The state of a source: the objects of a cluster, or of a namespace of a cluster.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct SourceStatus {
    /// The name of the cluster.
    pub cluster: String,
    /// The namespace; empty for all namespaces.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub namespace: String,
    /// The state.
    pub state: SourceState,
    /// The number of rows.
    pub rows: usize,
    /// True if the server dropped rows above its limits.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub truncated: bool,
    /// The reason why the rows of pods or nodes have no usage of CPU and memory.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub usage: Option<ListProblem>,
}

/// The state of a source.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum SourceState {
    /// The first list is not complete.
    Loading {
        /// The estimated total number of objects, if the cluster reports it.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        expected: Option<u64>,
    },
    /// The rows are current.
    Live,
    /// The rows can be outdated, and the server retries.
    Stale {
        /// The time since which the rows can be outdated.
        since: Timestamp,
        /// The cause.
        problem: ListProblem,
    },
    /// The source has no rows because of an error, and the server retries if a retry can help.
    Failed(ListProblem),
}

/// The reason why the server cannot list objects.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ListProblem {
    /// The HTTP status code; 0 if no response arrived.
    pub code: u16,
    /// The reason of the `metav1.Status`, such as `Forbidden`.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub reason: String,
    /// The message.
    pub message: String,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn row_with_other_columns_shows_its_cells_under_the_columns_of_the_list() {
        let columns = |names: &[&str]| -> Columns {
            let column =
                |name: &&str| Column::new((*name).to_owned(), "string", String::new(), false);
            names.iter().map(column).collect()
        };
        let (own, list) = (
            columns(&["Name", "Old", "Ready"]),
            columns(&["Name", "Ready", "New"]),
        );
        let content = RowContent {
            name: "a".to_owned(),
            cells: ["a", "x", "1/2"].map(str::to_owned).to_vec(),
            ..RowContent::default()
        };
        let row = Row::new("c".into(), own, content, Timestamp::UNIX_EPOCH);
        let wire = WireRow::new(7, &row, &list);
        assert_eq!(wire.cells, ["a", "1/2", ""]);
        let text = serde_json::to_string(&wire).unwrap();
        let read: WireRow = serde_json::from_str(&text).unwrap();
        let read = read.into_row(&list);
        assert_eq!((read.name(), read.severity), ("a", Severity::Degraded));
    }
}
