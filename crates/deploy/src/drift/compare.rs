//! Compares the fields of a desired value with a live value.

use drover_quantity::Quantity;
use serde_json::{Map, Value};

/// Fields that identify the elements of a list, in the order of preference.
const LIST_KEYS: [&str; 8] = [
    "name",
    "key",
    "containerPort",
    "port",
    "mountPath",
    "devicePath",
    "ip",
    "topologyKey",
];

/// Returns the JSON merge patch from `live` to `desired`.
pub(super) fn difference(desired: &Value, live: &Value) -> Option<Value> {
    match (desired, live) {
        (Value::Object(desired), Value::Object(live)) => difference_of_maps(desired, live),
        _ if is_covered(desired, live) => None,
        _ => Some(desired.clone()),
    }
}

fn difference_of_maps(desired: &Map<String, Value>, live: &Map<String, Value>) -> Option<Value> {
    let mut patch = Map::new();
    for (name, value) in desired {
        let changed = match live.get(name) {
            Some(present) => difference(value, present),
            None if is_empty(value) => None,
            None => Some(value.clone()),
        };
        if let Some(changed) = changed {
            patch.insert(name.clone(), changed);
        }
    }
    (!patch.is_empty()).then_some(Value::Object(patch))
}

/// Returns true if the API server omits the value.
fn is_empty(value: &Value) -> bool {
    match value {
        Value::Null | Value::Bool(false) => true,
        Value::String(text) => text.is_empty(),
        Value::Array(list) => list.is_empty(),
        Value::Object(map) => map.values().all(is_empty),
        Value::Number(number) => number.as_f64() == Some(0.0),
        Value::Bool(true) => false,
    }
}

/// Returns true if `live` has all fields of `desired`.
fn is_covered(desired: &Value, live: &Value) -> bool {
    match (desired, live) {
        (Value::Object(desired), Value::Object(live)) => {
            difference_of_maps(desired, live).is_none()
        }
        (Value::Array(desired), Value::Array(live)) => is_covered_list(desired, live),
        (Value::Null, _) => true,
        _ => is_same_scalar(desired, live),
    }
}

fn is_covered_list(desired: &[Value], live: &[Value]) -> bool {
    if desired.len() != live.len() {
        return false;
    }
    if let Some(key) = list_key(desired).filter(|key| list_key(live) == Some(key)) {
        return desired.iter().all(|element| {
            let same = live.iter().find(|other| other.get(key) == element.get(key));
            same.is_some_and(|other| is_covered(element, other))
        });
    }
    desired
        .iter()
        .zip(live)
        .all(|(desired, live)| is_covered(desired, live))
}

/// Returns the field that identifies each element of the list.
fn list_key(list: &[Value]) -> Option<&'static str> {
    LIST_KEYS.into_iter().find(|key| {
        let mut values: Vec<String> = Vec::new();
        list.iter().all(|element| {
            element.get(*key).is_some_and(|value| {
                let text = value.to_string();
                let is_new = !values.contains(&text);
                values.push(text);
                is_new
            })
        })
    })
}

/// Compares numbers by amount, and quantities such as `1000m` and `1` by amount.
fn is_same_scalar(desired: &Value, live: &Value) -> bool {
    if desired == live {
        return true;
    }
    if let (Value::Number(desired), Value::Number(live)) = (desired, live) {
        return desired.as_f64() == live.as_f64();
    }
    let amount = |value: &Value| {
        let text = match value {
            Value::String(text) => text.clone(),
            Value::Number(number) => number.to_string(),
            _ => return None,
        };
        Quantity::parse(&text).ok().map(|quantity| quantity.nano())
    };
    amount(desired).is_some_and(|desired| amount(live) == Some(desired))
}
