//! JSON patch (RFC 6902) and JSON merge patch (RFC 7396), with the deviations of kube-apiserver's
//! library: negative indexes count from the end, and `replace` creates absent fields.

use std::sync::LazyLock;

use serde_json::{Map, Value};

use super::error::{MAX_OPERATIONS, PatchError};
use super::value::{json_kind, quote};

/// Maximum size of values that all `copy` operations add, in bytes of JSON.
const MAX_COPIED: usize = 3 * 1024 * 1024;

/// Maximum depth of the result. The server cannot parse deeper objects.
const MAX_DEPTH: usize = 120;

/// Applies a JSON patch.
///
/// # Errors
/// [`PatchError::Malformed`] if the patch is not a list of operations,
/// [`PatchError::TooManyOperations`], and [`PatchError::Unprocessable`] if an operation fails.
pub fn json_patch(live: &Value, patch: &Value) -> Result<Value, PatchError> {
    let operations = decode(patch)?;
    if operations.len() > MAX_OPERATIONS {
        return Err(PatchError::TooManyOperations(operations.len()));
    }
    let mut document = live.clone();
    let mut copied = 0;
    for operation in operations {
        step(&mut document, operation, &mut copied).map_err(PatchError::Unprocessable)?;
    }
    if !document.is_object() {
        return Err(PatchError::Unprocessable(
            "the patched document is not an object".to_owned(),
        ));
    }
    Ok(document)
}

/// The operation for a `null` entry in a patch: an empty operation.
static NOTHING: LazyLock<Map<String, Value>> = LazyLock::new(Map::new);

fn decode(patch: &Value) -> Result<Vec<&Map<String, Value>>, PatchError> {
    let refuse = |value: &Value, ty: &str| {
        let kind = json_kind(value);
        PatchError::Malformed(format!(
            "json: cannot unmarshal {kind} into Go value of type {ty}"
        ))
    };
    match patch {
        Value::Null => Ok(Vec::new()),
        Value::Array(operations) => operations
            .iter()
            .map(|operation| match operation {
                Value::Object(operation) => Ok(operation),
                Value::Null => Ok(&*NOTHING),
                other => Err(refuse(other, "jsonpatch.Operation")),
            })
            .collect(),
        other => Err(refuse(other, "jsonpatch.Patch")),
    }
}

/// Returns the unknown fields of operations, in the form of strict decoding errors.
pub fn unknown_operation_fields(patch: &Value) -> Vec<String> {
    let known = ["op", "path", "from", "value"];
    let operations = patch.as_array().into_iter().flatten().enumerate();
    operations
        .filter_map(|(index, operation)| Some((index, operation.as_object()?)))
        .flat_map(|(index, operation)| operation.keys().map(move |key| (index, key)))
        .filter(|(_, key)| !known.contains(&key.as_str()))
        .map(|(index, key)| {
            format!(
                "json patch unknown field {}",
                quote(&format!("[{index}].{key}"))
            )
        })
        .collect()
}

fn step(
    document: &mut Value,
    operation: &Map<String, Value>,
    copied: &mut usize,
) -> Result<(), String> {
    let value = || operation.get("value").cloned().unwrap_or(Value::Null);
    match operation.get("op").and_then(Value::as_str) {
        Some("add") => add(document, pointer(operation, "path")?, value()),
        Some("remove") => remove(document, pointer(operation, "path")?).map(drop),
        Some("replace") => replace(document, pointer(operation, "path")?, value()),
        Some("test") => test(document, pointer(operation, "path")?, &value()),
        Some("move") => {
            let moved = remove(document, pointer(operation, "from")?)?;
            add(document, pointer(operation, "path")?, moved)
        }
        Some("copy") => {
            let copy = get(document, pointer(operation, "from")?)?.cloned();
            let copy = copy.unwrap_or(Value::Null);
            *copied += copy.to_string().len();
            if *copied > MAX_COPIED {
                return Err(format!(
                    "Unable to complete the copy, the accumulated size increase of copy is \
                     {copied}, exceeding the limit {MAX_COPIED}"
                ));
            }
            add(document, pointer(operation, "path")?, copy)
        }
        other => Err(format!("Unexpected kind: {}", other.unwrap_or("unknown"))),
    }
}

fn pointer<'a>(operation: &'a Map<String, Value>, field: &str) -> Result<&'a str, String> {
    operation
        .get(field)
        .and_then(Value::as_str)
        .ok_or_else(|| format!("operation missing {field} field: missing value"))
}

/// Splits a pointer into parent segments and the last segment. Returns `None` for a pointer to the
/// whole document.
fn split(pointer: &str) -> Option<(Vec<String>, String)> {
    // Text before the first slash is ignored.
    let (_, inside) = pointer.split_once('/')?;
    let mut segments: Vec<String> = inside
        .split('/')
        .map(|segment| segment.replace("~1", "/").replace("~0", "~"))
        .collect();
    let last = segments.pop()?;
    Some((segments, last))
}

fn missing(pointer: &str) -> String {
    format!("doc is missing path: \"{pointer}\": missing value")
}

fn container<'d>(
    document: &'d mut Value,
    pointer: &str,
) -> Result<(&'d mut Value, String, usize), String> {
    let (way, last) = split(pointer).ok_or_else(|| missing(pointer))?;
    let depth = way.len() + 1;
    let mut at = document;
    for segment in way {
        let next = match at {
            Value::Object(map) => map.get_mut(&segment),
            Value::Array(items) => {
                let index = index(&segment, items.len(), items.len())?;
                items.get_mut(index)
            }
            _ => None,
        };
        at = next.ok_or_else(|| missing(pointer))?;
    }
    if at.is_object() || at.is_array() {
        Ok((at, last, depth))
    } else {
        Err(missing(pointer))
    }
}

/// Parses an index below `count`. Negative indexes count from the end.
fn index(segment: &str, count: usize, below: usize) -> Result<usize, String> {
    let invalid = || format!("Unable to access invalid index: {segment}: invalid index referenced");
    let position: i64 = segment
        .parse()
        .map_err(|_| format!("value was not a proper array index: '{segment}'"))?;
    let position = if position < 0 {
        let back = usize::try_from(position.unsigned_abs()).map_err(|_| invalid())?;
        count.checked_sub(back).ok_or_else(invalid)?
    } else {
        usize::try_from(position).map_err(|_| invalid())?
    };
    if position < below {
        Ok(position)
    } else {
        Err(invalid())
    }
}

fn depth(value: &Value) -> usize {
    match value {
        Value::Array(items) => 1 + items.iter().map(depth).max().unwrap_or(0),
        Value::Object(map) => 1 + map.values().map(depth).max().unwrap_or(0),
        _ => 0,
    }
}

fn add(document: &mut Value, pointer: &str, value: Value) -> Result<(), String> {
    let (at, last, level) = container(document, pointer)?;
    if level + depth(&value) > MAX_DEPTH {
        return Err("the patched document is nested too deep".to_owned());
    }
    match at {
        Value::Object(map) => {
            map.insert(last, value);
        }
        Value::Array(items) if last == "-" => items.push(value),
        Value::Array(items) => {
            let places = items.len() + 1;
            let index = index(&last, places, places)?;
            items.insert(index, value);
        }
        _ => return Err(missing(pointer)),
    }
    Ok(())
}

fn remove(document: &mut Value, pointer: &str) -> Result<Value, String> {
    let (at, last, _) = container(document, pointer)?;
    match at {
        Value::Object(map) => map
            .remove(&last)
            .ok_or_else(|| format!("Unable to remove nonexistent key: {last}: missing value")),
        Value::Array(items) => {
            let index = index(&last, items.len(), items.len())?;
            Ok(items.remove(index))
        }
        _ => Err(missing(pointer)),
    }
}

fn replace(document: &mut Value, pointer: &str, value: Value) -> Result<(), String> {
    if pointer.is_empty() {
        if !value.is_object() && !value.is_array() {
            return Err("replace operation value must be object or array".to_owned());
        }
        *document = value;
        return Ok(());
    }
    let (at, last, level) = container(document, pointer)?;
    if level + depth(&value) > MAX_DEPTH {
        return Err("the patched document is nested too deep".to_owned());
    }
    match at {
        Value::Object(map) => {
            map.insert(last, value);
        }
        Value::Array(items) => {
            let index = index(&last, items.len(), items.len())?;
            items[index] = value;
        }
        _ => return Err(missing(pointer)),
    }
    Ok(())
}

fn get<'d>(document: &'d mut Value, pointer: &str) -> Result<Option<&'d Value>, String> {
    let (at, last, _) = container(document, pointer)?;
    match &*at {
        Value::Object(map) => Ok(map.get(&last)),
        Value::Array(items) => Ok(items.get(index(&last, items.len(), items.len())?)),
        _ => Ok(None),
    }
}

fn test(document: &mut Value, pointer: &str, expected: &Value) -> Result<(), String> {
    let same = if pointer.is_empty() {
        document == expected
    } else {
        // An absent field equals null.
        get(document, pointer)?.unwrap_or(&Value::Null) == expected
    };
    if same {
        Ok(())
    } else {
        Err(format!("testing value {pointer} failed: test failed"))
    }
}

/// Applies a JSON merge patch.
///
/// # Errors
/// [`PatchError::Malformed`] if the patch is not an object.
pub fn merge_patch(live: &Value, patch: &Value) -> Result<Value, PatchError> {
    let Value::Object(patch) = patch else {
        return Err(PatchError::Malformed("Invalid JSON Patch".to_owned()));
    };
    let mut merged = live.clone();
    match &mut merged {
        Value::Object(live) => merge_into(live, patch),
        _ => return Err(PatchError::Failed("Invalid JSON Document".to_owned())),
    }
    Ok(merged)
}

fn merge_into(live: &mut Map<String, Value>, patch: &Map<String, Value>) {
    for (key, value) in patch {
        match (live.get_mut(key), value) {
            (_, Value::Null) => {
                live.remove(key);
            }
            (Some(Value::Object(live)), Value::Object(patch)) => merge_into(live, patch),
            // A list that replaces an object keeps its nulls.
            (Some(Value::Object(_)), value) => {
                live.insert(key.clone(), value.clone());
            }
            (_, value) => {
                live.insert(key.clone(), without_nulls(value));
            }
        }
    }
}

/// Removes the `null` values from a value that the patch adds.
fn without_nulls(value: &Value) -> Value {
    match value {
        Value::Object(map) => map
            .iter()
            .filter(|(_, item)| !item.is_null())
            .map(|(key, item)| (key.clone(), without_nulls(item)))
            .collect(),
        Value::Array(items) => items.iter().map(without_nulls).collect(),
        other => other.clone(),
    }
}
