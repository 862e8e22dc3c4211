//! Columns of Kubernetes tables. The content of a column selects its rendering and its sort order.

use std::sync::Arc;

/// The columns of a table, shared by all rows of the table.
pub type Columns = Arc<[Column]>;

/// A column of a Kubernetes table.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Column {
    /// The heading of the column. The heading is also the column's key in URLs.
    pub name: String,
    /// The description of the column from the server.
    pub description: String,
    /// True if only the wide view shows the column (`kubectl get -o wide`).
    pub wide: bool,
    /// The kind of the values in the column. The kind selects the rendering and the sort order.
    pub content: Content,
}

/// The kind of the values in a column. The kind selects the rendering and the sort order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
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
    /// The time since an event.
    Ago,
    /// A duration, such as the run time of a job.
    Duration,
    /// A text without a special format.
    Text,
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
            name,
            description,
            wide,
            content,
        }
    }

    /// Returns the key of the column in URLs.
    pub fn key(&self) -> String {
        self.name.to_lowercase().replace(' ', "-")
    }
}
