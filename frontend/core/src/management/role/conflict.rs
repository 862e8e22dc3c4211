//! Lists the changes of a different user to a role during an edit.

use std::collections::BTreeSet;

use serde::Serialize;
use serde_json::Value;

use super::draft::text_of;

/// A field that a different user changed during the edit.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Change {
    /// The path of the field in the spec.
    pub field: String,
    /// The value before the edit, as YAML; empty if unset.
    pub before: String,
    /// The stored value, as YAML; empty if unset.
    pub now: String,
}

/// Returns the fields that differ between two specs.
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
