//! Lenient JSON access: missing or malformed values are absent, never an error.

use std::borrow::Cow;

use jiff::Timestamp;
use serde_json::Value;

/// The value at a JSON pointer (RFC 6901), or `null`.
pub(crate) fn at<'a>(value: &'a Value, pointer: &str) -> &'a Value {
    value.pointer(pointer).unwrap_or(&Value::Null)
}

/// A non-empty string.
pub(crate) fn text<'a>(value: &'a Value, pointer: &str) -> Option<&'a str> {
    at(value, pointer).as_str().filter(|text| !text.is_empty())
}

/// An owned non-empty string.
pub(crate) fn owned(value: &Value, pointer: &str) -> Option<String> {
    text(value, pointer).map(str::to_owned)
}

/// An integer.
pub(crate) fn number(value: &Value, pointer: &str) -> Option<i64> {
    at(value, pointer).as_i64()
}

/// A count; 0 if missing, as in Kubernetes.
pub(crate) fn count(value: &Value, pointer: &str) -> i64 {
    number(value, pointer).unwrap_or_default()
}

/// Whether it is `true`.
pub(crate) fn is_true(value: &Value, pointer: &str) -> bool {
    at(value, pointer).as_bool().unwrap_or_default()
}

/// The items of an array.
pub(crate) fn list<'a>(value: &'a Value, pointer: &str) -> &'a [Value] {
    at(value, pointer).as_array().map_or(&[], Vec::as_slice)
}

/// The entries of a map whose values are texts or numbers, by key.
pub(crate) fn entries<'a>(value: &'a Value, pointer: &str) -> Vec<(&'a str, Cow<'a, str>)> {
    let map = at(value, pointer).as_object();
    let entries = map.into_iter().flatten();
    entries
        .filter_map(|(key, value)| Some((key.as_str(), scalar(value)?)))
        .collect()
}

/// The entries of a map, each as `key=value`.
pub(crate) fn assignments(value: &Value, pointer: &str) -> Vec<String> {
    let entries = entries(value, pointer).into_iter();
    entries
        .map(|(key, value)| format!("{key}={value}"))
        .collect()
}

/// A text or a number (Kubernetes' `IntOrString`, quantities) as text.
pub(crate) fn scalar(value: &Value) -> Option<Cow<'_, str>> {
    match value {
        Value::String(text) => Some(Cow::Borrowed(text)),
        Value::Number(number) => Some(Cow::Owned(number.to_string())),
        Value::Bool(is) => Some(Cow::Borrowed(if *is { "true" } else { "false" })),
        Value::Null | Value::Array(_) | Value::Object(_) => None,
    }
}

/// A time.
pub(crate) fn time(value: &Value, pointer: &str) -> Option<Timestamp> {
    text(value, pointer)?.parse().ok()
}

/// The strings at a pointer within each item of an array.
pub(crate) fn each(value: &Value, list_at: &str, pointer: &str) -> Vec<String> {
    let things = list(value, list_at).iter();
    things.filter_map(|thing| owned(thing, pointer)).collect()
}
