//! Columns of the server's tables. Their content decides rendering and order.

use std::sync::Arc;

/// The columns of a table, shared by its rows.
pub type Columns = Arc<[Column]>;

/// A column.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Column {
    /// The heading; also the key in URLs.
    pub name: String,
    /// The description from the server.
    pub description: String,
    /// Whether it is shown only in the wide view (`kubectl get -o wide`).
    pub wide: bool,
    /// The content.
    pub content: Content,
}

/// The content of a column.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Content {
    /// The name.
    Name,
    /// The status: `Running`, `CrashLoopBackOff`, `Ready,SchedulingDisabled`.
    Status,
    /// Ready of desired (`1/2`), or the ready count.
    Ready,
    /// The desired count.
    Desired,
    /// Whether it is suspended.
    Suspend,
    /// A number, or `1/2`.
    Count,
    /// A count with an optional age: `3 (5m ago)`.
    Restarts,
    /// The time since the creation.
    Age,
    /// The age of an event.
    Ago,
    /// A duration.
    Duration,
    /// Text.
    Text,
}

impl Column {
    /// Reads a column of the server.
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

    /// The name in URLs.
    pub fn key(&self) -> String {
        self.name.to_lowercase().replace(' ', "-")
    }
}
