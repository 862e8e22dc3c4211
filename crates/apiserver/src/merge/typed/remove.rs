//! Removal of fields from a value.

use serde_json::{Map, Value};

use super::{Form, ListKind, Type};
use crate::merge::path::PathElement;
use crate::merge::set::Set;

/// Removes these fields from the value. A value without remaining fields becomes `null`.
pub(in crate::merge) fn remove(value: &Value, gone: &Set, ty: Type<'_>) -> Value {
    match (ty.form(value), value) {
        (Form::Scalar(_), value) => value.clone(),
        (Form::List(list), Value::Array(items)) if list.kind != ListKind::Atomic => {
            let kept: Vec<Value> = items
                .iter()
                .filter_map(|item| match list.element_of(item) {
                    Ok(element) => remove_at(item, &element, gone, Some(list.element)),
                    Err(_) => Some(item.clone()),
                })
                .collect();
            if kept.is_empty() {
                Value::Null
            } else {
                Value::Array(kept)
            }
        }
        (Form::Map(map), Value::Object(entries)) if !map.atomic => {
            let kept: Map<String, Value> = entries
                .iter()
                .filter_map(|(key, item)| {
                    let element = PathElement::field(key);
                    let item = remove_at(item, &element, gone, map.at(key))?;
                    Some((key.clone(), item))
                })
                .collect();
            if kept.is_empty() {
                Value::Null
            } else {
                Value::Object(kept)
            }
        }
        (Form::List(_) | Form::Map(_), _) => Value::Null,
    }
}

fn remove_at(
    item: &Value,
    element: &PathElement,
    gone: &Set,
    ty: Option<Type<'_>>,
) -> Option<Value> {
    let Some(branch) = gone.branch(element) else {
        return Some(item.clone());
    };
    if branch.member {
        return None;
    }
    Some(ty.map_or(Value::Null, |ty| remove(item, &branch.children, ty)))
}
