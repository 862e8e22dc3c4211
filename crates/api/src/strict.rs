//! Detection of unknown fields in JSON that a client sent.

use serde_json::Value;

/// Returns the path of a field in `sent` that is absent from `known`, which is the parsed value
/// serialized again. The path begins with `path`.
pub fn unknown_field(sent: &Value, known: &Value, path: &str) -> Option<String> {
    match (sent, known) {
        (Value::Object(sent), Value::Object(known)) => sent
            .iter()
            .filter(|(_, value)| !is_omitted(value))
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

/// Reports whether serialization omits the value.
fn is_omitted(value: &Value) -> bool {
    match value {
        Value::Null => true,
        Value::Array(items) => items.is_empty(),
        Value::Object(fields) => fields.is_empty(),
        _ => false,
    }
}
