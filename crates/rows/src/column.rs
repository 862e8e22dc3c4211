//! Columns of Kubernetes tables. The content of a column selects its rendering and its sort order.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::usage::Resource;

/// The columns of a table, shared by all rows of the table.
pub type Columns = Arc<[Column]>;

/// A column of a Kubernetes table.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Column {
    /// The key of the column in URLs.
    pub key: String,
    /// The heading of the column.
    pub name: String,
    /// The description of the column from the server.
    pub description: String,
    /// True if only the wide view shows the column (`kubectl get -o wide`).
    pub wide: bool,
    /// The kind of the values in the column. The kind selects the rendering and the sort order.
    pub content: Content,
}

/// The kind of the values in a column. The kind selects the rendering and the sort order.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Content {
    /// The name of the object.
    Name,
    /// A status: `Running`, `CrashLoopBackOff`, `Ready,SchedulingDisabled`.
    Status,
    /// The ready count, alone or with the desired count (`1/2`).
    Ready,
    /// The desired count of replicas.
    Desired,
    /// `True` if the object is suspended, else `False`.
    Suspend,
    /// A number, or a count of a total (`1/2`).
    Count,
    /// A count of restarts with an optional age: `3 (5m ago)`.
    Restarts,
    /// The time since the creation of the object.
    Age,
    /// The time since an event: a duration before the response, or an exact time.
    Ago,
    /// A duration, such as the run time of a job.
    Duration,
    /// The usage of CPU, from another API than the table.
    Cpu,
    /// The usage of memory, from another API than the table.
    Memory,
    /// The type of an event: `Normal` or `Warning`.
    EventType,
    /// A text without a special format.
    Text,
}

impl Content {
    /// Returns the resource whose usage a column shows.
    pub const fn resource(self) -> Option<Resource> {
        match self {
            Self::Cpu => Some(Resource::Cpu),
            Self::Memory => Some(Resource::Memory),
            _ => None,
        }
    }
}

impl Column {
    /// Creates a column from a column definition of the server.
    pub fn new(name: String, kind: &str, description: String, wide: bool) -> Self {
        let content = match (name.as_str(), kind) {
            ("Name", _) => Content::Name,
            ("Status", _) => Content::Status,
            ("Ready", _) => Content::Ready,
            ("Desired", _) => Content::Desired,
            ("Suspend", _) => Content::Suspend,
            ("Restarts", _) => Content::Restarts,
            ("Age", _) => Content::Age,
            ("Last Schedule", _) | (_, "date") => Content::Ago,
            ("Duration", _) => Content::Duration,
            ("Completions" | "Up-to-date" | "Available", _) | (_, "integer" | "number") => {
                Content::Count
            }
            _ => Content::Text,
        };
        Self {
            key: name.to_lowercase().replace(' ', "-"),
            name,
            description,
            wide,
            content,
        }
    }
}

/// Returns the columns of a table with the columns of the usage of CPU and memory.
pub fn with_usage(columns: &[Column]) -> Columns {
    let column = |name: &str, content| Column {
        key: format!("{}-usage", name.to_lowercase()),
        name: name.to_owned(),
        description: format!("The usage of {name}, from metrics.k8s.io."),
        wide: false,
        content,
    };
    let usage = [
        column("CPU", Content::Cpu),
        column("Memory", Content::Memory),
    ];
    columns.iter().cloned().chain(usage).collect()
}

/// Returns the index of the column with this key.
pub fn index_of(columns: &[Column], key: &str) -> Option<usize> {
    columns.iter().position(|column| column.key == key)
}
