//! Decodes and encodes built-in objects as their Go types do: removes unknown fields, checks types,
//! normalizes times and quantities, and removes or adds empty fields by the Go struct tags.

use std::fmt::Write as _;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use jiff::Timestamp;
use serde_json::{Map, Value};

use super::definition::is_zero;
use super::{FieldEncoding, GoStruct, Node, Shape, report_unknown};
use drover_quantity::{Quantity, QuantityError};

/// The reason why a built-in object cannot be decoded.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum DecodeError {
    /// The value has the wrong type.
    #[error("json: cannot unmarshal {is} into Go {into} of type {expected}")]
    Type {
        /// The JSON type of the value, or the number if it is out of range.
        is: String,
        /// The target of the decoding: `struct field Type.path`, or `value`.
        into: String,
        /// The expected Go type.
        expected: String,
    },
    /// The value is not a time.
    #[error("parsing time {text:?} as {layout:?}: cannot parse {rest:?} as {part:?}")]
    Time {
        /// The value that is not a time.
        text: String,
        /// The expected layout, in the notation of Go's package `time`.
        layout: &'static str,
        /// The part of the value that does not match.
        rest: String,
        /// The part of the layout that does not match.
        part: &'static str,
    },
    /// The value is not base64. The number is the position of the error.
    #[error("illegal base64 data at input byte {offset}", offset = .0)]
    Base64(usize),
    /// The value is not a quantity.
    #[error(transparent)]
    Quantity(#[from] QuantityError),
}

impl Node {
    /// Decodes a built-in object. Returns the findings of strict decoding (`unknown field
    /// "spec.foo"`).
    ///
    /// # Errors
    /// See [`DecodeError`].
    pub fn decode(&self, value: &mut Value) -> Result<Vec<String>, DecodeError> {
        let mut walk = Walk::default();
        walk.value(self, value)?;
        Ok(walk.unknown)
    }
}

#[derive(Default)]
struct Walk<'a> {
    /// The current path with indexes, for the findings of strict decoding.
    at: String,
    /// The current path without indexes, for type errors.
    fields: Vec<String>,
    /// The name of the current Go struct.
    owner: Option<&'a str>,
    unknown: Vec<String>,
}

impl<'a> Walk<'a> {
    fn value(&mut self, node: &'a Node, value: &mut Value) -> Result<(), DecodeError> {
        if value.is_null() {
            return Ok(());
        }
        match (&node.shape, &mut *value) {
            (Shape::Any, _)
            | (Shape::Boolean, Value::Bool(_))
            | (Shape::Number, Value::Number(_))
            | (Shape::IntOrString, Value::String(_)) => Ok(()),
            (Shape::Object { .. }, Value::Object(map)) => match &node.go {
                Some(go) => self.object(node, go, map),
                None => self.map(node, map),
            },
            (Shape::Array { items, .. }, Value::Array(list)) => self.array(items, list),
            (Shape::String { format }, Value::String(text)) => text_of(format, text),
            (Shape::Integer { format }, Value::Number(number)) => {
                let number = number.clone();
                self.integer(format, &number, value)
            }
            (Shape::IntOrString, Value::Number(number)) => {
                let number = number.clone();
                self.integer("int32", &number, value)
            }
            (Shape::Quantity, Value::String(text)) => {
                *text = Quantity::canonical(text)?;
                Ok(())
            }
            (Shape::Quantity, Value::Number(number)) => {
                *value = Quantity::canonical(&number.to_string())?.into();
                Ok(())
            }
            _ => Err(self.wrong(value_type(value).to_owned(), node)),
        }
    }

    fn object(
        &mut self,
        node: &'a Node,
        go: &'a GoStruct,
        map: &mut Map<String, Value>,
    ) -> Result<(), DecodeError> {
        let outer = self.owner.replace(&go.name);
        let before = self.at.len();
        let keys: Vec<String> = map.keys().cloned().collect();
        for key in keys {
            let Some(inner) = node.field(&key) else {
                map.remove(&key);
                report_unknown(&mut self.unknown, &self.at, &key);
                continue;
            };
            let Some(value) = map.get_mut(&key) else {
                continue;
            };
            self.enter(&key);
            self.fields.push(key);
            self.value(inner, value)?;
            self.fields.pop();
            self.at.truncate(before);
            self.owner = Some(&go.name);
        }
        self.owner = outer;
        write_fields(node, go, map);
        Ok(())
    }

    /// Decodes a Go map, in which a `null` value becomes the zero value.
    fn map(&mut self, node: &'a Node, map: &mut Map<String, Value>) -> Result<(), DecodeError> {
        let before = self.at.len();
        for (key, value) in map.iter_mut() {
            let Some(inner) = node.field(key) else {
                continue;
            };
            self.enter(key);
            if value.is_null() {
                *value = inner.zero();
            }
            self.value(inner, value)?;
            self.at.truncate(before);
        }
        Ok(())
    }

    fn array(&mut self, items: &'a Node, list: &mut [Value]) -> Result<(), DecodeError> {
        let before = self.at.len();
        for (index, item) in list.iter_mut().enumerate() {
            let _ = write!(self.at, "[{index}]");
            if item.is_null() {
                *item = items.zero();
            }
            self.value(items, item)?;
            self.at.truncate(before);
        }
        Ok(())
    }

    fn integer(
        &self,
        format: &str,
        number: &serde_json::Number,
        value: &mut Value,
    ) -> Result<(), DecodeError> {
        let fits = |number: i64| format != "int32" || i32::try_from(number).is_ok();
        if number.as_i64().is_some_and(fits) {
            return Ok(());
        }
        let go = if format == "int32" { "int32" } else { "int64" };
        let _ = value;
        Err(self.mismatch(format!("number {number}"), go.to_owned()))
    }

    fn wrong(&self, is: String, node: &Node) -> DecodeError {
        self.mismatch(is, go_type(node))
    }

    fn mismatch(&self, is: String, expected: String) -> DecodeError {
        let into = match (self.owner, self.fields.as_slice()) {
            (_, []) | (None, _) => "value".to_owned(),
            (Some(owner), fields) => format!("struct field {owner}.{}", fields.join(".")),
        };
        DecodeError::Type { is, into, expected }
    }

    fn enter(&mut self, key: &str) {
        if !self.at.is_empty() {
            self.at.push('.');
        }
        self.at.push_str(key);
    }
}

impl Node {
    /// Encodes a changed object as its Go type does.
    pub fn encode(&self, value: &mut Value) {
        match (&self.shape, value) {
            (Shape::Object { .. }, Value::Object(map)) => {
                for (key, inside) in map.iter_mut() {
                    if let Some(node) = self.field(key) {
                        node.encode(inside);
                    }
                }
                if let Some(go) = &self.go {
                    write_fields(self, go, map);
                }
            }
            (Shape::Array { items, .. }, Value::Array(list)) => {
                for item in list {
                    items.encode(item);
                }
            }
            _ => {}
        }
    }

    /// Returns the value that Go decodes from `null` in a list or map.
    fn zero(&self) -> Value {
        match &self.shape {
            Shape::Object { .. } => {
                let mut value = Value::Object(Map::new());
                self.encode(&mut value);
                value
            }
            Shape::String { .. } => "".into(),
            Shape::Integer { .. } | Shape::Number | Shape::IntOrString => 0.into(),
            Shape::Boolean => false.into(),
            Shape::Quantity => "0".into(),
            Shape::Any | Shape::Array { .. } => Value::Null,
        }
    }
}

/// Removes and adds fields by the Go struct tags.
fn write_fields(node: &Node, go: &GoStruct, map: &mut Map<String, Value>) {
    map.retain(|key, value| match go.fields.get(key) {
        Some(FieldEncoding::UnlessEmpty) => !is_zero(value),
        Some(FieldEncoding::Always(_)) => true,
        None => !value.is_null(),
    });
    for (key, written) in &go.fields {
        let FieldEncoding::Always(zero) = written else {
            continue;
        };
        if map.get(key).is_some_and(|value| !value.is_null()) {
            continue;
        }
        let mut value = zero.clone();
        if let Some(inner) = node.field(key) {
            inner.encode(&mut value);
        }
        map.insert(key.clone(), value);
    }
}

fn text_of(format: &str, text: &mut String) -> Result<(), DecodeError> {
    match format {
        "date-time" => {
            let time = time_of(text, TIME)?;
            *text = time.strftime("%Y-%m-%dT%H:%M:%SZ").to_string();
        }
        super::MICRO_TIME => {
            let time = time_of(text, MICRO)?;
            *text = time.strftime("%Y-%m-%dT%H:%M:%S.%6fZ").to_string();
        }
        "byte" => {
            let compact: String = text.chars().filter(|c| !matches!(c, '\r' | '\n')).collect();
            let bytes = STANDARD.decode(&compact).map_err(|error| {
                DecodeError::Base64(match error {
                    base64::DecodeError::InvalidByte(at, _)
                    | base64::DecodeError::InvalidLastSymbol(at, _) => at,
                    _ => compact.len(),
                })
            })?;
            *text = STANDARD.encode(bytes);
        }
        _ => {}
    }
    Ok(())
}

const TIME: &str = "2006-01-02T15:04:05Z07:00";
const MICRO: &str = "2006-01-02T15:04:05.000000Z07:00";

/// Parses a time as Go does for the layout: any number of fractional digits is accepted.
fn time_of(text: &str, layout: &'static str) -> Result<Timestamp, DecodeError> {
    let wrong = |rest: &str, part| DecodeError::Time {
        text: text.to_owned(),
        layout,
        rest: rest.to_owned(),
        part,
    };
    let mut rest = text;
    for part in [
        "2006", "-", "01", "-", "02", "T", "15", ":", "04", ":", "05",
    ] {
        let is_number = part.len() > 1;
        let fits = |c: &char| {
            if is_number {
                c.is_ascii_digit()
            } else {
                part.starts_with(*c)
            }
        };
        let taken = rest.chars().take(part.len()).filter(fits).count();
        if taken < part.len() {
            return Err(wrong(rest, part));
        }
        rest = &rest[part.len()..];
    }
    let digits = rest.strip_prefix('.').map_or(0, |after| {
        after.chars().take_while(char::is_ascii_digit).count()
    });
    let zone = match layout {
        MICRO if digits < 6 => return Err(wrong(rest, ".000000")),
        MICRO => &rest[7..],
        _ if digits > 0 => &rest[1 + digits..],
        _ => rest,
    };
    let is_zone = zone == "Z" || zone.len() == 6 && zone.starts_with(['+', '-']);
    if !is_zone {
        return Err(wrong(zone, "Z07:00"));
    }
    text.parse().map_err(|_| wrong(zone, "Z07:00"))
}

fn value_type(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "bool",
        Value::Number(_) => "number",
        Value::String(_) => "string",
        Value::Array(_) => "array",
        Value::Object(_) => "object",
    }
}

/// Returns the name of the Go type, derived from the schema.
fn go_type(node: &Node) -> String {
    match &node.shape {
        Shape::Any => "interface {}".to_owned(),
        Shape::Object { additional, .. } => match (&node.go, additional) {
            (Some(go), _) => format!("v1.{}", go.name),
            (None, Some(values)) => format!("map[string]{}", go_type(values)),
            (None, None) => "struct {}".to_owned(),
        },
        Shape::Array { items, .. } => format!("[]{}", go_type(items)),
        Shape::String { format } if format == "byte" => "[]uint8".to_owned(),
        Shape::String { format } if format == "date-time" => "v1.Time".to_owned(),
        Shape::String { .. } => "string".to_owned(),
        Shape::Integer { format } if format == "int32" => "int32".to_owned(),
        Shape::Integer { .. } => "int64".to_owned(),
        Shape::Number => "float64".to_owned(),
        Shape::Boolean => "bool".to_owned(),
        Shape::IntOrString => "intstr.IntOrString".to_owned(),
        Shape::Quantity => "resource.Quantity".to_owned(),
    }
}
