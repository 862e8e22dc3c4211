//! What somebody else changed while a role was worked on.

use std::collections::BTreeSet;

use serde::Serialize;
use serde_json::Value;

use super::draft::text_of;

/// A field that somebody else changed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Change {
    /// Its name.
    pub field: String,
    /// What it spec when the work began, as YAML; empty if nothing.
    pub before: String,
    /// What it says now.
    pub now: String,
}

/// What differs between what a role spec and what it says now; nothing if only the server wrote of
/// how it stands.
pub fn changes(before: &impl Serialize, now: &impl Serialize) -> Vec<Change> {
    let value = |spec: Value| match spec {
        Value::Object(fields) => fields,
        _ => serde_json::Map::new(),
    };
    let before = value(serde_json::to_value(before).unwrap_or_default());
    let now = value(serde_json::to_value(now).unwrap_or_default());
    let fields: BTreeSet<&String> = before.keys().chain(now.keys()).collect();
    let differing = fields
        .into_iter()
        .filter(|field| before.get(*field) != now.get(*field));
    let text = |value: Option<&Value>| value.map(text_of).unwrap_or_default().trim_end().to_owned();
    let changes = differing.map(|field| Change {
        field: field.clone(),
        before: text(before.get(field)),
        now: text(now.get(field)),
    });
    changes.collect()
}
