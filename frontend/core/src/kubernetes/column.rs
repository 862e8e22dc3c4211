//! Columns of the server's tables: what is in them decides how they are shown and sorted.

use std::sync::Arc;

/// The columns of a table, as all of its rows share them.
pub type Columns = Arc<[Column]>;

/// A column.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Column {
    /// The heading, which also stands for it in URLs.
    pub name: String,
    /// What the server says of it.
    pub description: String,
    /// Whether only those see it who ask for more (`kubectl get -o wide`).
    pub wide: bool,
    /// What is in it.
    pub content: Content,
}

/// What is in a column.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Content {
    /// The thing's name.
    Name,
    /// How it is: `Running`, `CrashLoopBackOff`, `Ready,SchedulingDisabled`.
    Status,
    /// How many of how many are ready (`1/2`), or how many.
    Ready,
    /// How many of them there should be.
    Desired,
    /// Whether it is paused.
    Suspend,
    /// A number, or `1/2`.
    Count,
    /// A number, and perhaps since when: `3 (5m ago)`.
    Restarts,
    /// The time since the thing was made.
    Age,
    /// How long ago something was.
    Ago,
    /// How long something took, or takes.
    Duration,
    /// Words.
    Text,
}

impl Column {
    /// A column as the server tells it.
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
