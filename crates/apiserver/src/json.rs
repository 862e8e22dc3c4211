//! Accessors for JSON objects. An absent field has the zero value of its type, as in Go.

use serde_json::{Map, Value};

/// Returns a string field. The result is empty if the field is absent.
pub(crate) fn text<'a>(value: &'a Value, name: &str) -> &'a str {
    value.get(name).and_then(Value::as_str).unwrap_or_default()
}

/// Returns a list field. The result is empty if the field is absent.
pub(crate) fn list<'a>(value: &'a Value, name: &str) -> &'a [Value] {
    value
        .get(name)
        .and_then(Value::as_array)
        .map_or(&[], Vec::as_slice)
}

/// Returns the strings in a list field.
pub(crate) fn texts<'a>(value: &'a Value, name: &str) -> impl Iterator<Item = &'a str> {
    list(value, name).iter().filter_map(Value::as_str)
}

/// Returns an integer field.
pub(crate) fn number(value: &Value, name: &str) -> Option<i64> {
    value.get(name)?.as_i64()
}

/// Returns a boolean field. The result is false if the field is absent.
pub(crate) fn flag(value: &Value, name: &str) -> bool {
    value.get(name).and_then(Value::as_bool).unwrap_or_default()
}

/// Returns an object field.
pub(crate) fn object<'a>(value: &'a Value, name: &str) -> Option<&'a Map<String, Value>> {
    value.get(name)?.as_object()
}

/// Returns a field. The result is `null` if the field is absent.
pub(crate) fn field<'a>(value: &'a Value, name: &str) -> &'a Value {
    static NOTHING: Value = Value::Null;
    value.get(name).unwrap_or(&NOTHING)
}

/// Returns the value at a dotted path. The result is `null` if the value is absent.
pub(crate) fn at<'a>(value: &'a Value, path: &str) -> &'a Value {
    path.split('.').fold(value, field)
}

/// Sets a field if the field is absent, null or an empty string.
pub(crate) fn default(value: &mut Value, name: &str, set: impl Into<Value>) {
    if let Some(map) = value.as_object_mut() {
        let unset = match map.get(name) {
            None | Some(Value::Null) => true,
            Some(Value::String(text)) => text.is_empty(),
            Some(_) => false,
        };
        if unset {
            map.insert(name.to_owned(), set.into());
        }
    }
}

/// Returns an object field. Creates an absent field. Returns `None` if `value` is not an object.
pub(crate) fn make<'a>(value: &'a mut Value, name: &str) -> Option<&'a mut Value> {
    let map = value.as_object_mut()?;
    let inside = map.entry(name).or_insert(Value::Null);
    if inside.is_null() {
        *inside = Value::Object(Map::new());
    }
    inside.is_object().then_some(inside)
}

/// Returns mutable access to a list field. The result is empty if the field is absent.
pub(crate) fn items<'a>(value: &'a mut Value, name: &str) -> &'a mut [Value] {
    value
        .get_mut(name)
        .and_then(Value::as_array_mut)
        .map_or(&mut [], Vec::as_mut_slice)
}

/// Sets a field, or removes it when the value is `None` or null.
pub(crate) fn put(value: &mut Value, name: &str, set: Option<Value>) {
    let Some(map) = value.as_object_mut() else {
        return;
    };
    match set {
        Some(set) if !set.is_null() => map.insert(name.to_owned(), set),
        _ => map.remove(name),
    };
}

/// Sets `metadata.generation`.
pub(crate) fn set_generation(value: &mut Value, generation: i64) {
    if let Some(metadata) = make(value, "metadata") {
        put(metadata, "generation", Some(generation.into()));
    }
}
