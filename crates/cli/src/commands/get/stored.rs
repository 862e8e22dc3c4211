//! The limit of the memory for rows and objects that a command stores until its end.

use serde_json::Value;

use crate::failure::Failure;

/// Maximum memory of all stored rows or objects, in bytes.
const MAX_BYTES: usize = 512 << 20;

/// The memory of rows or objects that the command stores until its end.
#[derive(Debug, Default)]
pub(super) struct StoredBytes(usize);

impl StoredBytes {
    /// Adds rows or objects. Returns an error above the limit.
    pub(super) fn add(&mut self, bytes: usize, option: &str) -> Result<(), Failure> {
        self.0 = self.0.saturating_add(bytes);
        if self.0 <= MAX_BYTES {
            return Ok(());
        }
        let mib = MAX_BYTES >> 20;
        Err(Failure::Other(format!(
            "{option} reads at most {mib} MiB; select fewer objects with -l, -n or --clusters"
        )))
    }
}

/// Returns the approximate memory of a JSON value, in bytes.
pub(super) fn value_bytes(value: &Value) -> usize {
    let content = match value {
        Value::Null | Value::Bool(_) | Value::Number(_) => 0,
        Value::String(text) => text.len(),
        Value::Array(items) => items.iter().map(value_bytes).sum(),
        Value::Object(fields) => {
            let entries = fields.iter();
            entries
                .map(|(key, value)| size_of::<String>() + key.len() + value_bytes(value))
                .sum()
        }
    };
    size_of::<Value>() + content
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn stored_objects_have_a_memory_limit() {
        let object = json!({"name": "x".repeat(1 << 20), "list": [1, {"a": null}]});
        let bytes = value_bytes(&object);
        assert!((1 << 20..1 << 21).contains(&bytes), "{bytes}");
        let mut stored = StoredBytes::default();
        let mut add = || stored.add(bytes, "-o jsonpath");
        let stored = (0..1024).take_while(|_| add().is_ok()).count();
        assert_eq!(stored, MAX_BYTES / bytes);
        assert!(add().unwrap_err().text().contains("512 MiB"));
    }
}
