//! Strategic merge patch: a JSON merge patch that merges lists by the kind's schema, with the
//! directives `$patch`, `$retainKeys`, `$setElementOrder/…` and `$deleteFromPrimitiveList/…`.

mod lists;
mod lookup;
mod order;

use serde_json::{Map, Value};

use super::error::PatchError;
use super::typed::go_plain;
use super::value::json_kind;
use crate::schema::Node;
use lookup::{field, list_field};

const DIRECTIVE: &str = "$patch";
const RETAIN_KEYS: &str = "$retainKeys";
const SET_ORDER: &str = "$setElementOrder";
const DELETE_FROM: &str = "$deleteFromPrimitiveList";

type Object = Map<String, Value>;

/// Applies a strategic merge patch to a built-in object.
///
/// # Errors
/// [`PatchError::Malformed`] for malformed directives, [`PatchError::Unprocessable`] and
/// [`PatchError::Failed`] if the patch does not fit the object.
pub fn strategic(live: &Value, patch: &Value, schema: &Node) -> Result<Value, PatchError> {
    let Value::Object(patch) = patch else {
        return Err(PatchError::Malformed(format!(
            "json: cannot unmarshal {} into Go value of type map[string]interface {{}}",
            json_kind(patch)
        )));
    };
    let live = live.as_object().cloned().unwrap_or_default();
    merge_object(live, patch.clone(), schema).map(Value::Object)
}

/// Returns the type name of a value in Go's errors.
fn go_type(value: &Value) -> &'static str {
    match value {
        Value::Null => "%!s(<nil>)",
        Value::Bool(_) => "bool",
        Value::Number(number) if number.is_f64() => "float64",
        Value::Number(_) => "int64",
        Value::String(_) => "string",
        Value::Array(_) => "[]interface {}",
        Value::Object(_) => "map[string]interface {}",
    }
}

fn failed(reason: impl Into<String>) -> PatchError {
    PatchError::Failed(reason.into())
}

fn expected(expected_type: &str, value: &Value) -> PatchError {
    failed(format!(
        "expected a {expected_type}, but received a {}",
        go_type(value)
    ))
}

fn no_merge_key(item: &Object, key: &str) -> PatchError {
    failed(format!(
        "map: {} does not contain declared merge key: {key}",
        go_plain(&Value::Object(item.clone()))
    ))
}

fn unknown_directive(directive: &Value, patch: &Object) -> PatchError {
    let shown = match directive {
        Value::String(text) => text.clone(),
        other => format!("%!s({}={})", go_type(other), go_plain(other)),
    };
    failed(format!(
        "unknown patch type: {shown} in map: {}",
        go_plain(&Value::Object(patch.clone()))
    ))
}

fn merge_object(
    mut original: Object,
    mut patch: Object,
    schema: &Node,
) -> Result<Object, PatchError> {
    if let Some(directive) = patch.get(DIRECTIVE) {
        return match directive.as_str() {
            Some("replace") => {
                patch.remove(DIRECTIVE);
                Ok(patch)
            }
            Some("delete") => Ok(Object::new()),
            _ => Err(unknown_directive(directive, &patch)),
        };
    }
    retain_keys(&mut original, &mut patch)?;
    order::set_orders(&mut original, &mut patch, schema)?;
    for (key, value) in patch {
        merge_field(&mut original, &key, value, schema)?;
    }
    Ok(original)
}

/// Applies `$retainKeys`: removes all fields that the directive does not list. The patch must not
/// set other fields.
fn retain_keys(original: &mut Object, patch: &mut Object) -> Result<(), PatchError> {
    let malformed = || PatchError::Malformed("invalid patch format of retainKeys".to_owned());
    let Some(listed) = patch.remove(RETAIN_KEYS) else {
        return Ok(());
    };
    let Value::Array(listed) = listed else {
        return Err(malformed());
    };
    let is_listed = |key: &str| listed.iter().any(|one| one.as_str() == Some(key));
    let unlisted = patch.iter().any(|(key, value)| {
        !value.is_null()
            && !key.starts_with(DELETE_FROM)
            && !key.starts_with(SET_ORDER)
            && !is_listed(key)
    });
    if unlisted {
        return Err(malformed());
    }
    original.retain(|key, _| is_listed(key));
    Ok(())
}

/// Returns the field name after the slash of a directive.
fn directed<'k>(key: &'k str, prefix: &str, directive: &str) -> Result<&'k str, PatchError> {
    match key.split_once('/') {
        Some((before, field)) if before == prefix => Ok(field),
        _ => Err(PatchError::Malformed(format!(
            "invalid patch format of {directive}"
        ))),
    }
}

fn merge_field(
    original: &mut Object,
    key: &str,
    mut value: Value,
    schema: &Node,
) -> Result<(), PatchError> {
    let deletes = key.starts_with(DELETE_FROM);
    let key = if deletes {
        directed(key, DELETE_FROM, "primitive list")?
    } else {
        key
    };
    if value.is_null() {
        original.remove(key);
        return Ok(());
    }
    let merged = match (original.get_mut(key), &mut value) {
        (Some(Value::Object(before)), Value::Object(patch)) => {
            let inside = field(schema, key)?;
            Value::Object(merge_object(
                std::mem::take(before),
                std::mem::take(patch),
                inside,
            )?)
        }
        (Some(Value::Array(before)), Value::Array(patch)) => {
            let list = list_field(schema, key)?;
            let (before, patch) = (std::mem::take(before), std::mem::take(patch));
            Value::Array(lists::merge(before, patch, &list, deletes)?)
        }
        _ if deletes => return Ok(()),
        (before, _) => {
            if before.is_none_or(|before| go_type(before) != go_type(&value)) {
                discard_nulls(&mut value);
            }
            let Some(value) = without_directives(value) else {
                original.remove(key);
                return Ok(());
            };
            value
        }
    };
    original.insert(key.to_owned(), merged);
    Ok(())
}

/// Removes the `null` values from a value that the patch adds.
fn discard_nulls(value: &mut Value) {
    match value {
        Value::Object(map) => {
            map.retain(|_, item| !item.is_null());
            map.values_mut().for_each(discard_nulls);
        }
        Value::Array(items) => items.iter_mut().for_each(discard_nulls),
        _ => {}
    }
}

/// Removes directives from a value that the patch adds. Returns `None` for an object with `$patch`.
fn without_directives(value: Value) -> Option<Value> {
    match value {
        Value::Object(map) if map.contains_key(DIRECTIVE) => None,
        Value::Object(map) => Some(
            map.into_iter()
                .filter_map(|(key, item)| Some((key, without_directives(item)?)))
                .collect(),
        ),
        Value::Array(items) => Some(Value::Array(
            items.into_iter().filter_map(without_directives).collect(),
        )),
        other => Some(other),
    }
}
