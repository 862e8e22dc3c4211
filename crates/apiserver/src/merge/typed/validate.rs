//! Validation of values before a merge.

use std::collections::BTreeSet;

use serde_json::{Map, Value};

use super::{Form, ListAtom, ListKind, MapAtom, Scalar, Type, TypeMismatches, value};
use crate::merge::path::PathElement;

/// Determines whether a list with duplicate keys is an error. Stored objects sometimes contain such
/// lists.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::merge) enum Duplicates {
    Allowed,
    Refused,
}

/// Validates a value against its type, and returns all errors.
pub(in crate::merge) fn validate(
    value: &Value,
    ty: Type<'_>,
    duplicates: Duplicates,
) -> Result<(), TypeMismatches> {
    let mut walk = Walk {
        path: Vec::new(),
        duplicates,
        mismatches: TypeMismatches::default(),
    };
    walk.value(value, ty);
    walk.mismatches.into_result(())
}

struct Walk {
    path: Vec<PathElement>,
    duplicates: Duplicates,
    mismatches: TypeMismatches,
}

impl Walk {
    fn value(&mut self, value: &Value, ty: Type<'_>) {
        match ty.form(value) {
            Form::Scalar(scalar) => {
                if let Some(message) = scalar_misfit(scalar, value) {
                    self.mismatches.add(&self.path, message);
                }
            }
            Form::List(list) => match value {
                Value::Array(items) => self.list(items, list),
                Value::Null => {}
                other => self.wrong("list", other),
            },
            Form::Map(map) => match value {
                Value::Object(entries) => self.map(entries, map),
                Value::Null => {}
                other => self.wrong("map", other),
            },
        }
    }

    fn wrong(&mut self, expected: &str, value: &Value) {
        let message = format!("expected {expected}, got {}", go_value(value));
        self.mismatches.add(&self.path, message);
    }

    fn list(&mut self, items: &[Value], list: ListAtom<'_>) {
        let mut seen = BTreeSet::new();
        for (index, item) in items.iter().enumerate() {
            let element = if list.kind == ListKind::Atomic {
                PathElement::Index(i64::try_from(index).unwrap_or(i64::MAX))
            } else {
                match list.element_of(item) {
                    Ok(element) => element,
                    Err(reason) => {
                        self.mismatches
                            .add(&self.path, format!("element {index}: {reason}"));
                        return;
                    }
                }
            };
            if !seen.insert(element.clone()) && self.duplicates == Duplicates::Refused {
                self.mismatches
                    .add(&self.path, format!("duplicate entries for key {element}"));
            }
            self.path.push(element);
            self.value(item, list.element);
            self.path.pop();
        }
    }

    fn map(&mut self, entries: &Map<String, Value>, map: MapAtom<'_>) {
        for (key, item) in entries {
            self.path.push(PathElement::field(key));
            let known = map.at(key);
            match known {
                Some(ty) => self.value(item, ty),
                None => self
                    .mismatches
                    .add(&self.path, "field not declared in schema"),
            }
            self.path.pop();
            if known.is_none() {
                return;
            }
        }
    }
}

/// Returns the error for a value that is not of the scalar type.
pub(super) fn scalar_misfit(scalar: Scalar, value: &Value) -> Option<String> {
    let fits = match (scalar, value) {
        (_, Value::Null) => true,
        (Scalar::Numeric, value) => value.is_number(),
        (Scalar::String, value) => value.is_string(),
        (Scalar::Boolean, value) => value.is_boolean(),
        (Scalar::Untyped, value) => !value.is_array() && !value.is_object(),
    };
    if fits {
        return None;
    }
    Some(match scalar {
        Scalar::Numeric => format!("expected numeric (int or float), got {}", go_type(value)),
        Scalar::String => format!(
            "expected string, got &value.valueUnstructured{{Value:{}}}",
            go_syntax(value)
        ),
        Scalar::Boolean => format!("expected boolean, got &{{{}}}", go_plain(value)),
        Scalar::Untyped => format!("expected any scalar, got &{{{}}}", go_plain(value)),
    })
}

/// Returns the type name of a value in Go.
fn go_type(value: &Value) -> &'static str {
    match value {
        Value::Null => "<nil>",
        Value::Bool(_) => "bool",
        Value::Number(number) if number.is_f64() => "float64",
        Value::Number(_) => "int64",
        Value::String(_) => "string",
        Value::Array(_) => "[]interface {}",
        Value::Object(_) => "map[string]interface {}",
    }
}

/// Formats a nested value as Go's `%v` does.
fn go_value(value: &Value) -> String {
    format!("&{{{}}}", go_plain(value))
}

/// Formats a value as Go's `%v` does.
pub(in crate::merge) fn go_plain(value: &Value) -> String {
    match value {
        Value::Null => "<nil>".to_owned(),
        Value::Bool(flag) => flag.to_string(),
        Value::Number(number) => {
            let mut out = String::new();
            value::show_number(number, &mut out);
            out
        }
        Value::String(text) => text.clone(),
        Value::Array(items) => {
            let items: Vec<String> = items.iter().map(go_plain).collect();
            format!("[{}]", items.join(" "))
        }
        Value::Object(map) => {
            let mut entries: Vec<_> = map.iter().collect();
            entries.sort_unstable_by_key(|(key, _)| *key);
            let entries: Vec<String> = entries
                .into_iter()
                .map(|(key, value)| format!("{key}:{}", go_plain(value)))
                .collect();
            format!("map[{}]", entries.join(" "))
        }
    }
}

/// Formats a value as Go's `%#v` does.
fn go_syntax(value: &Value) -> String {
    match value {
        Value::String(text) => value::quote(text),
        Value::Array(items) => {
            let items: Vec<String> = items.iter().map(go_syntax).collect();
            format!("[]interface {{}}{{{}}}", items.join(", "))
        }
        Value::Object(map) => {
            let mut entries: Vec<_> = map.iter().collect();
            entries.sort_unstable_by_key(|(key, _)| *key);
            let entries: Vec<String> = entries
                .into_iter()
                .map(|(key, value)| format!("{}:{}", value::quote(key), go_syntax(value)))
                .collect();
            format!("map[string]interface {{}}{{{}}}", entries.join(", "))
        }
        Value::Null => "interface {}(nil)".to_owned(),
        other => go_plain(other),
    }
}
