//! YAML as Go's YAML library of Kubernetes reads it.

use serde_json::{Map, Value};

/// YAML that cannot be read.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub struct YamlError(String);

/// Maximum depth of a document.
const MAX_DEPTH: usize = 100;

/// Reads a YAML document. An empty document is `null`.
pub(crate) fn value(text: &str) -> Result<Value, YamlError> {
    if text.trim().is_empty() {
        return Ok(Value::Null);
    }
    let options = serde_saphyr::options! {
        duplicate_keys: serde_saphyr::options::DuplicateKeyPolicy::LastWins,
        legacy_octal_numbers: true,
        with_snippet: false,
    };
    let value: Value = serde_saphyr::from_str_with_options(text, options)
        .map_err(|error| YamlError(error.to_string()))?;
    if depth(&value) > MAX_DEPTH {
        return Err(YamlError(format!(
            "the document has more than {MAX_DEPTH} levels"
        )));
    }
    Ok(value)
}

/// Reads a YAML document with an object. An empty document is an empty object.
pub(crate) fn object(text: &str) -> Result<Map<String, Value>, YamlError> {
    match value(text)? {
        Value::Null => Ok(Map::new()),
        Value::Object(map) => Ok(map),
        _ => Err(YamlError(
            "the document is not an object with keys".to_owned(),
        )),
    }
}

/// Reports whether YAML reads an unquoted text as text.
pub(crate) fn is_text(text: &str) -> bool {
    if text.is_empty() || text.trim() != text || text.starts_with("<<") {
        return false;
    }
    let starts_other = text.starts_with(|char: char| {
        char.is_ascii_digit() || "+-.~=".contains(char) || "yYnNtTfFoO".contains(char)
    });
    if !starts_other {
        return true;
    }
    // Only simple scalars can have another type.
    let is_simple = text
        .chars()
        .all(|char| char.is_ascii_alphanumeric() || "+-.~=_:".contains(char));
    !is_simple || matches!(value(text), Ok(Value::String(_)))
}

fn depth(value: &Value) -> usize {
    match value {
        Value::Array(items) => 1 + items.iter().map(depth).max().unwrap_or(0),
        Value::Object(map) => 1 + map.values().map(depth).max().unwrap_or(0),
        _ => 0,
    }
}
