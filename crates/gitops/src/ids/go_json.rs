//! JSON as Go's `encoding/json` writes it.

use std::io::{self, Write};

use serde::Serialize;
use serde_json::ser::{Formatter, Serializer};
use serde_json::{Number, Value};

/// Returns the compact JSON of a value. HTML characters are escaped, as in Go.
///
/// # Panics
///
/// The function does not panic for types of this workspace, whose map keys are texts.
#[must_use]
pub fn to_string<T: Serialize>(value: &T) -> String {
    let mut bytes = Vec::new();
    value
        .serialize(&mut Serializer::with_formatter(&mut bytes, Go))
        .expect("maps have texts as keys, and a vector accepts all writes");
    String::from_utf8(bytes).expect("the serializer writes UTF-8")
}

/// Replaces all numbers by floating-point numbers, because Go reads free-form JSON this way. Large
/// integers lose their last digits, as in Fleet.
pub fn numbers_as_floats(value: &mut Value) {
    match value {
        Value::Number(number) => {
            if let Some(float) = number.as_f64().and_then(Number::from_f64) {
                *number = float;
            }
        }
        Value::Array(items) => items.iter_mut().for_each(numbers_as_floats),
        Value::Object(map) => map.values_mut().for_each(numbers_as_floats),
        Value::Null | Value::Bool(_) | Value::String(_) => {}
    }
}

/// Writes a number in the form of Go's JSON: a decimal, or an exponent for very small and very large
/// numbers.
#[must_use]
pub(crate) fn float(value: f64) -> String {
    let magnitude = value.abs();
    if magnitude != 0.0 && !(1e-6..1e21).contains(&magnitude) {
        let text = format!("{value:e}");
        return match text.split_once('e') {
            Some((digits, exponent)) if !exponent.starts_with('-') => {
                format!("{digits}e+{exponent}")
            }
            _ => text,
        };
    }
    format!("{value}")
}

struct Go;

impl Formatter for Go {
    fn write_f64<W: ?Sized + Write>(&mut self, writer: &mut W, value: f64) -> io::Result<()> {
        writer.write_all(float(value).as_bytes())
    }

    fn write_string_fragment<W: ?Sized + Write>(
        &mut self,
        writer: &mut W,
        fragment: &str,
    ) -> io::Result<()> {
        let mut rest = fragment;
        while let Some(start) = rest.find(['<', '>', '&', '\u{2028}', '\u{2029}']) {
            let (before, from) = rest.split_at(start);
            writer.write_all(before.as_bytes())?;
            let mut chars = from.chars();
            if let Some(char) = chars.next() {
                write!(writer, "\\u{:04x}", u32::from(char))?;
            }
            rest = chars.as_str();
        }
        writer.write_all(rest.as_bytes())
    }
}
