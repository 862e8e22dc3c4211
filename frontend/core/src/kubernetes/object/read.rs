//! Reads fields of JSON values. Missing and malformed fields are treated as absent, without an
//! error.

use std::borrow::Cow;

use jiff::Timestamp;
use serde_json::Value;

/// Returns the value at a JSON pointer (RFC 6901), or `null`.
pub(crate) fn at<'a>(value: &'a Value, pointer: &str) -> &'a Value {
    value.pointer(pointer).unwrap_or(&Value::Null)
}

/// Returns the string at a JSON pointer. Returns `None` if the string is empty.
pub(crate) fn text<'a>(value: &'a Value, pointer: &str) -> Option<&'a str> {
    at(value, pointer).as_str().filter(|text| !text.is_empty())
}

/// Returns an owned copy of the string at a JSON pointer. Returns `None` if the string is empty.
pub(crate) fn owned(value: &Value, pointer: &str) -> Option<String> {
    text(value, pointer).map(str::to_owned)
}

/// Returns the integer at a JSON pointer.
pub(crate) fn number(value: &Value, pointer: &str) -> Option<i64> {
    at(value, pointer).as_i64()
}

/// Returns the count at a JSON pointer; 0 if missing, as in Kubernetes.
pub(crate) fn count(value: &Value, pointer: &str) -> i64 {
    number(value, pointer).unwrap_or_default()
}

/// Reports whether the value at a JSON pointer is `true`.
pub(crate) fn is_true(value: &Value, pointer: &str) -> bool {
    at(value, pointer).as_bool().unwrap_or_default()
}

/// Returns the items of the array at a JSON pointer.
pub(crate) fn list<'a>(value: &'a Value, pointer: &str) -> &'a [Value] {
    at(value, pointer).as_array().map_or(&[], Vec::as_slice)
}

/// Returns the entries of a map whose values are strings or numbers, sorted by key.
pub(crate) fn entries<'a>(value: &'a Value, pointer: &str) -> Vec<(&'a str, Cow<'a, str>)> {
    let map = at(value, pointer).as_object();
    let entries = map.into_iter().flatten();
    entries
        .filter_map(|(key, value)| Some((key.as_str(), scalar(value)?)))
        .collect()
}

/// Returns the entries of a map in the format `key=value`.
pub(crate) fn assignments(value: &Value, pointer: &str) -> Vec<String> {
    let entries = entries(value, pointer).into_iter();
    entries
        .map(|(key, value)| format!("{key}={value}"))
        .collect()
}

/// Formats a string or a number (`IntOrString`, quantities) as text.
pub(crate) fn scalar(value: &Value) -> Option<Cow<'_, str>> {
    match value {
        Value::String(text) => Some(Cow::Borrowed(text)),
        Value::Number(number) => Some(Cow::Owned(number.to_string())),
        Value::Bool(is) => Some(Cow::Borrowed(if *is { "true" } else { "false" })),
        Value::Null | Value::Array(_) | Value::Object(_) => None,
    }
}

/// Returns the timestamp at a JSON pointer.
pub(crate) fn time(value: &Value, pointer: &str) -> Option<Timestamp> {
    text(value, pointer)?.parse().ok()
}

/// Returns the string at a pointer within each item of an array.
pub(crate) fn each(value: &Value, list_at: &str, pointer: &str) -> Vec<String> {
    let things = list(value, list_at).iter();
    things.filter_map(|thing| owned(thing, pointer)).collect()
}
