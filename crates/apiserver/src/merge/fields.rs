//! `FieldsV1`: the JSON form of a [`Set`] in `metadata.managedFields`.

use std::fmt::Write as _;

use serde_json::{Map, Number, Value, json};

use super::path::PathElement;
use super::set::Set;

/// The reason why `fieldsV1` cannot be parsed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum FieldsError {
    /// The value or a nested value is not a JSON object.
    #[error("fields must be nested objects")]
    NotAnObject,
    /// The key has no colon after its type.
    #[error("missing colon: {cause}", cause = .0)]
    NoColon(String),
    /// The value in the key is malformed.
    #[error("parsing key as path element: {cause}", cause = .0)]
    Element(String),
    /// The nesting exceeds the limit.
    #[error("fields are nested too deep")]
    TooDeep,
}

/// Maximum nesting depth. JSON parsers have the same limit.
const MAX_DEPTH: usize = 128;

impl Set {
    /// Parses `fieldsV1`.
    pub fn from_fields(fields: &Value) -> Result<Self, FieldsError> {
        Ok(read(fields, 0)?.0)
    }

    /// Serializes the set as `fieldsV1`.
    pub fn to_fields(&self) -> Value {
        self.write(false)
    }

    fn write(&self, member: bool) -> Value {
        let mut out = Map::new();
        if member && !self.is_empty() {
            out.insert(".".to_owned(), json!({}));
        }
        for (element, branch) in self.branches() {
            out.insert(element.to_key(), branch.children.write(branch.member));
        }
        Value::Object(out)
    }

    /// Serializes the set as JSON text, in kube-apiserver's order.
    pub fn to_json(&self) -> String {
        let mut out = String::new();
        self.write_tree(false, &mut out);
        out
    }

    fn write_tree(&self, member: bool, out: &mut String) {
        out.push('{');
        let mut separator = "";
        if member && !self.is_empty() {
            out.push_str("\".\":{}");
            separator = ",";
        }
        for (element, branch) in self.branches() {
            out.push_str(separator);
            separator = ",";
            write_name(&element.to_key(), out);
            out.push(':');
            branch.children.write_tree(branch.member, out);
        }
        out.push('}');
    }
}

/// Parses the fields below a path element. The boolean is true if the element itself is a member of
/// the set.
fn read(fields: &Value, depth: usize) -> Result<(Set, bool), FieldsError> {
    if depth > MAX_DEPTH {
        return Err(FieldsError::TooDeep);
    }
    let map = match fields {
        Value::Object(map) => map,
        Value::Null => return Ok((Set::default(), true)),
        _ => return Err(FieldsError::NotAnObject),
    };
    let mut set = Set::default();
    let mut member = false;
    for (key, inside) in map {
        if key == "." {
            member = true;
            continue;
        }
        let Some(element) = PathElement::from_key(key)? else {
            continue;
        };
        let (children, is_member) = read(inside, depth + 1)?;
        // Two spellings of an element (1 and 1.0) are merged.
        let mut one = Set::default();
        one.graft(element, is_member, children);
        set.absorb(&one);
    }
    member |= set.is_empty();
    Ok((set, member))
}

impl PathElement {
    /// Parses a key such as `f:spec`. Returns `None` for unknown types of elements.
    pub fn from_key(key: &str) -> Result<Option<Self>, FieldsError> {
        let bad = |reason: &dyn std::fmt::Display| FieldsError::Element(reason.to_string());
        if key.len() < 2 {
            return Err(FieldsError::Element(
                "key must be 2 characters long:".to_owned(),
            ));
        }
        if key.as_bytes()[1] != b':' {
            return Err(FieldsError::NoColon(key.to_owned()));
        }
        let Some((kind, rest)) = key.split_once(':') else {
            return Err(FieldsError::NoColon(key.to_owned()));
        };
        let element = match kind {
            "f" => Self::field(rest),
            "v" => Self::Value(
                as_floats(serde_json::from_str(rest).map_err(|error| bad(&error))?).into(),
            ),
            "k" => {
                let fields: Map<String, Value> =
                    serde_json::from_str(rest).map_err(|error| bad(&error))?;
                Self::key(
                    fields
                        .into_iter()
                        .map(|(name, value)| (name, as_floats(value)))
                        .collect(),
                )
            }
            "i" => Self::Index(rest.parse().map_err(|error| bad(&error))?),
            _ => return Ok(None),
        };
        Ok(Some(element))
    }

    /// Formats the element as a key of `fieldsV1`, such as `k:{"name":"web"}`.
    pub fn to_key(&self) -> String {
        match self {
            Self::Field(name) => format!("f:{name}"),
            Self::Index(index) => format!("i:{index}"),
            Self::Value(value) => {
                let mut out = "v:".to_owned();
                write_json(value, &mut out);
                out
            }
            Self::Key(fields) => {
                let mut out = "k:{".to_owned();
                for (index, (name, value)) in fields.iter().enumerate() {
                    if index > 0 {
                        out.push(',');
                    }
                    write_name(name, &mut out);
                    out.push(':');
                    write_json(value, &mut out);
                }
                out.push('}');
                out
            }
        }
    }
}

/// Converts numbers in keys to floating point, as Go's JSON decoder does.
fn as_floats(value: Value) -> Value {
    match value {
        Value::Number(number) => number
            .as_f64()
            .and_then(Number::from_f64)
            .map_or(Value::Number(number), Value::Number),
        Value::Array(items) => items.into_iter().map(as_floats).collect(),
        Value::Object(map) => map.into_iter().map(|(k, v)| (k, as_floats(v))).collect(),
        other => other,
    }
}

/// Writes JSON as Go does: integers without fraction, and `<`, `>` and `&` escaped.
pub(super) fn write_json(value: &Value, out: &mut String) {
    match value {
        Value::Null => out.push_str("null"),
        Value::Bool(flag) => out.push_str(if *flag { "true" } else { "false" }),
        Value::Number(number) => write_number(number, out),
        Value::String(text) => write_string(text, out),
        Value::Array(items) => {
            out.push('[');
            for (index, item) in items.iter().enumerate() {
                if index > 0 {
                    out.push(',');
                }
                write_json(item, out);
            }
            out.push(']');
        }
        Value::Object(map) => {
            out.push('{');
            let mut entries: Vec<_> = map.iter().collect();
            entries.sort_unstable_by_key(|(key, _)| *key);
            for (index, (key, item)) in entries.into_iter().enumerate() {
                if index > 0 {
                    out.push(',');
                }
                write_string(key, out);
                out.push(':');
                write_json(item, out);
            }
            out.push('}');
        }
    }
}

fn write_number(number: &Number, out: &mut String) {
    let Some(float) = number.as_f64().filter(|_| number.is_f64()) else {
        let _ = write!(out, "{number}");
        return;
    };
    if float == 0.0 || (1e-6..1e21).contains(&float.abs()) {
        let _ = write!(out, "{float}");
        return;
    }
    let scientific = format!("{float:e}");
    let (digits, exponent) = scientific.split_once('e').unwrap_or((&scientific, "0"));
    let sign = if exponent.starts_with('-') { "" } else { "+" };
    let _ = write!(out, "{digits}e{sign}{exponent}");
}

fn write_string(text: &str, out: &mut String) {
    quoted(text, out, |letter| {
        matches!(letter, '<' | '>' | '&' | '\u{2028}' | '\u{2029}')
    });
}

/// Writes a field name, without escapes for HTML.
fn write_name(text: &str, out: &mut String) {
    quoted(text, out, |_| false);
}

fn quoted(text: &str, out: &mut String, is_unsafe: impl Fn(char) -> bool) {
    out.push('"');
    for letter in text.chars() {
        match letter {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\t' => out.push_str("\\t"),
            letter if letter < ' ' || is_unsafe(letter) => {
                let _ = write!(out, "\\u{:04x}", letter as u32);
            }
            letter => out.push(letter),
        }
    }
    out.push('"');
}
