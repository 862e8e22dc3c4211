//! The order of rows for `--sort-by`.

use std::cmp::Ordering;

use serde_json::Value;

/// Compares two values: missing values first, then booleans, numbers, texts and all other values.
pub(super) fn compare(a: &Value, b: &Value) -> Ordering {
    const fn class(value: &Value) -> u8 {
        match value {
            Value::Null => 0,
            Value::Bool(_) => 1,
            Value::Number(_) => 2,
            Value::String(_) => 3,
            Value::Array(_) | Value::Object(_) => 4,
        }
    }
    class(a).cmp(&class(b)).then_with(|| match (a, b) {
        (Value::Bool(a), Value::Bool(b)) => a.cmp(b),
        (Value::String(a), Value::String(b)) => a.cmp(b),
        (a, b) => match (a.as_f64(), b.as_f64()) {
            (Some(a), Some(b)) => a.total_cmp(&b),
            _ => Ordering::Equal,
        },
    })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn sort_keys_are_compared_by_their_type() {
        let mut keys = [
            json!("b"),
            json!(10),
            json!(null),
            json!("a"),
            json!(9.5),
            json!(true),
        ];
        keys.sort_by(compare);
        let sorted = [
            json!(null),
            json!(true),
            json!(9.5),
            json!(10),
            json!("a"),
            json!("b"),
        ];
        assert_eq!(keys, sorted);
    }
}
