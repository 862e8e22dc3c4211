//! Detects unknown fields in JSON from a client.

use serde_json::Value;

/// Returns the path of a field that `sent` contains and `known` does not contain. `sent` is the
/// client's JSON. `known` is the JSON of the parsed value. The returned path begins with `path`.
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

/// Reports whether serialization can omit the value: null, an empty list or an empty object.
fn is_omitted(value: &Value) -> bool {
    match value {
        Value::Null => true,
        Value::Array(items) => items.is_empty(),
        Value::Object(fields) => fields.is_empty(),
        _ => false,
    }
}
