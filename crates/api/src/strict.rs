//! What somebody wrote, and nobody reads.

use serde_json::Value;

/// A field that was sent and that what was read of it, written again, does not have: its path, which
/// begins with `path`.
pub fn unknown_field(sent: &Value, known: &Value, path: &str) -> Option<String> {
    match (sent, known) {
        (Value::Object(sent), Value::Object(known)) => sent
            .iter()
            .filter(|(_, value)| !is_nothing(value))
            .find_map(|(name, value)| {
                let path = format!("{path}.{name}");
                match known.get(name) {
                    None => Some(path),
                    Some(known) => unknown_field(value, known, &path),
                }
            }),
        (Value::Array(sent), Value::Array(known)) => {
            let mut pairs = sent.iter().zip(known).enumerate();
            pairs.find_map(|(index, (sent, known))| {
                unknown_field(sent, known, &format!("{path}[{index}]"))
            })
        }
        _ => None,
    }
}

/// What a spec leaves out when it is written.
fn is_nothing(value: &Value) -> bool {
    match value {
        Value::Null => true,
        Value::Array(items) => items.is_empty(),
        Value::Object(fields) => fields.is_empty(),
        _ => false,
    }
}
