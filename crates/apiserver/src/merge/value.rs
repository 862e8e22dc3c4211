//! Comparison and formatting of values as in structured-merge-diff: numbers by value, different
//! types in a fixed order.

use std::cmp::Ordering;
use std::fmt::Write as _;

use serde_json::{Map, Number, Value};

/// Compares two values. Equal values are the same set element.
pub(super) fn compare(left: &Value, right: &Value) -> Ordering {
    match (left, right) {
        (Value::Number(left), Value::Number(right)) => compare_numbers(left, right),
        (Value::String(left), Value::String(right)) => left.as_bytes().cmp(right.as_bytes()),
        (Value::Bool(left), Value::Bool(right)) => left.cmp(right),
        (Value::Array(left), Value::Array(right)) => compare_lists(left, right),
        (Value::Object(left), Value::Object(right)) => compare_maps(left, right),
        (left, right) => rank(left).cmp(&rank(right)),
    }
}

/// Reports whether two values are equal for field ownership.
pub(super) fn equal(left: &Value, right: &Value) -> bool {
    match (left, right) {
        (Value::Number(left), Value::Number(right)) => {
            compare_numbers(left, right) == Ordering::Equal
        }
        (Value::Array(left), Value::Array(right)) => {
            left.len() == right.len() && left.iter().zip(right).all(|(l, r)| equal(l, r))
        }
        (Value::Object(left), Value::Object(right)) => {
            left.len() == right.len()
                && left
                    .iter()
                    .all(|(key, l)| right.get(key).is_some_and(|r| equal(l, r)))
        }
        (left, right) => left == right,
    }
}

fn rank(value: &Value) -> u8 {
    match value {
        Value::Number(_) => 0,
        Value::String(_) => 1,
        Value::Bool(_) => 2,
        Value::Array(_) => 3,
        Value::Object(_) => 4,
        Value::Null => 5,
    }
}

fn compare_numbers(left: &Number, right: &Number) -> Ordering {
    if let (Some(left), Some(right)) = (left.as_i64(), right.as_i64()) {
        return left.cmp(&right);
    }
    let float = |number: &Number| number.as_f64().unwrap_or(f64::INFINITY);
    float(left)
        .partial_cmp(&float(right))
        .unwrap_or(Ordering::Equal)
}

fn compare_lists(left: &[Value], right: &[Value]) -> Ordering {
    for (l, r) in left.iter().zip(right) {
        let order = compare(l, r);
        if order != Ordering::Equal {
            return order;
        }
    }
    left.len().cmp(&right.len())
}

fn compare_maps(left: &Map<String, Value>, right: &Map<String, Value>) -> Ordering {
    let sorted = |map| {
        let mut keys: Vec<&String> = Map::keys(map).collect();
        keys.sort_unstable();
        keys
    };
    let (left_keys, right_keys) = (sorted(left), sorted(right));
    for (l, r) in left_keys.iter().zip(&right_keys) {
        let order = l
            .cmp(r)
            .then_with(|| compare(&left[l.as_str()], &right[r.as_str()]));
        if order != Ordering::Equal {
            return order;
        }
    }
    left_keys.len().cmp(&right_keys.len())
}

/// Returns the name of the value's JSON type, such as `bool`.
pub(super) fn json_kind(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "bool",
        Value::Number(_) => "number",
        Value::String(_) => "string",
        Value::Array(_) => "array",
        Value::Object(_) => "object",
    }
}

/// Formats a value for paths, with quotes around strings.
pub(super) fn show(value: &Value, out: &mut String) {
    match value {
        Value::Null => out.push_str("null"),
        Value::Bool(flag) => out.push_str(if *flag { "true" } else { "false" }),
        Value::Number(number) => show_number(number, out),
        Value::String(text) => out.push_str(&quote(text)),
        Value::Array(items) => {
            out.push('[');
            for (index, item) in items.iter().enumerate() {
                if index > 0 {
                    out.push(',');
                }
                show(item, out);
            }
            out.push(']');
        }
        Value::Object(map) => {
            for (key, item) in map {
                out.push_str(key);
                out.push('=');
                show(item, out);
            }
        }
    }
}

/// Formats a number as Go's `%v` does. Integers have all digits. Floating-point numbers have as few
/// digits as possible, and large numbers have an exponent.
pub(super) fn show_number(number: &Number, out: &mut String) {
    let Some(float) = number.as_f64().filter(|_| number.is_f64()) else {
        let _ = write!(out, "{number}");
        return;
    };
    let scientific = format!("{float:e}");
    let (digits, exponent) = scientific.split_once('e').unwrap_or((&scientific, "0"));
    let power: i32 = exponent.parse().unwrap_or(0);
    if (-4..6).contains(&power) {
        let _ = write!(out, "{float}");
    } else {
        let sign = if power < 0 { '-' } else { '+' };
        let _ = write!(out, "{digits}e{sign}{:02}", power.abs());
    }
}

/// Formats a string as Go's `%q` does.
pub(crate) fn quote(text: &str) -> String {
    let mut out = String::with_capacity(text.len() + 2);
    out.push('"');
    for letter in text.chars() {
        match letter {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            '\u{7}' => out.push_str("\\a"),
            '\u{8}' => out.push_str("\\b"),
            '\u{c}' => out.push_str("\\f"),
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\t' => out.push_str("\\t"),
            '\u{b}' => out.push_str("\\v"),
            letter if (letter as u32) < 0x20 || letter as u32 == 0x7f => {
                let _ = write!(out, "\\x{:02x}", letter as u32);
            }
            letter if letter == '\u{ad}' || letter == '\u{feff}' || is_unprintable(letter) => {
                let code = letter as u32;
                let _ = if code < 0x1_0000 {
                    write!(out, "\\u{code:04x}")
                } else {
                    write!(out, "\\U{code:08x}")
                };
            }
            letter => out.push(letter),
        }
    }
    out.push('"');
    out
}

/// Reports whether Go's `strconv.IsPrint` returns false for this character.
pub(super) fn is_unprintable(letter: char) -> bool {
    letter.is_control()
        || (letter.is_whitespace() && letter != ' ')
        || matches!(letter as u32,
            0x200b..=0x200f | 0x202a..=0x202e | 0x2060..=0x206f | 0xd800..=0xf8ff
            | 0xfff0..=0xfffb | 0xe_0000..=0x10_ffff)
        || (letter as u32) & 0xfffe == 0xfffe
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn numbers_are_compared_by_value() {
        assert!(equal(&json!(1), &json!(1.0)));
        assert!(equal(&json!({"a": [1]}), &json!({"a": [1.0]})));
        assert!(!equal(&json!(1), &json!("1")));
        assert!(equal(&json!(-0.0), &json!(0)));
    }

    #[test]
    fn values_of_different_types_have_a_fixed_order() {
        let sorted = [
            json!(-1),
            json!(0.5),
            json!(2),
            json!("a"),
            json!("b"),
            json!(false),
            json!(true),
            json!([1]),
            json!([1, 2]),
            json!({"a": 1}),
            json!(null),
        ];
        for (index, left) in sorted.iter().enumerate() {
            for (other, right) in sorted.iter().enumerate() {
                assert_eq!(compare(left, right), index.cmp(&other), "{left} {right}");
            }
        }
    }

    #[test]
    fn field_values_are_formatted_as_in_go() {
        let shown = |value: Value| {
            let mut out = String::new();
            show(&value, &mut out);
            out
        };
        assert_eq!(shown(json!(8080)), "8080");
        assert_eq!(shown(json!(8080.0)), "8080");
        assert_eq!(shown(json!(1_000_000.0)), "1e+06");
        assert_eq!(shown(json!(0.00001)), "1e-05");
        assert_eq!(shown(json!(["a", null, true])), "[\"a\",null,true]");
        assert_eq!(
            quote("a\"\\\n\u{1}\u{200b}é"),
            "\"a\\\"\\\\\\n\\x01\\u200bé\""
        );
    }
}
