//! YAML decoding as in Kubernetes (sigs.k8s.io/yaml). Plain scalars have their YAML 1.1 meaning:
//! `yes` is true, and `010` is eight. Keys become strings. Only the first document is decoded.

use std::collections::HashMap;

use granit_parser::{Event, Parser, ScalarStyle, ScanError, Span};
use serde_json::{Map, Number, Value};

/// Maximum number of reported duplicate keys.
const MAX_REPORTED: usize = 100;
/// Maximum memory of anchored values and alias expansions, in bytes. The parser copies these
/// values.
const MAX_ALIASED_BYTES: usize = 16 << 20;
/// Maximum nesting depth, including aliases. The server cannot store deeper values.
const MAX_DEPTH: usize = 100;
const TOO_MANY_ALIASES: &str = "yaml: document contains excessive aliasing";
/// Maximum absolute value of floating-point numbers that the decoder converts to integers: 2^53.
const MAX_EXACT: f64 = 9_007_199_254_740_992.0;
/// The YAML merge key.
const MERGE: &str = "<<";

/// A parsed YAML document.
#[derive(Debug, Default)]
pub(super) struct Document {
    /// The decoded value, with the last value of each duplicate key.
    pub(super) value: Value,
    /// The duplicate keys, as findings such as `line 3: key "data" already set in map`.
    pub(super) duplicates: Vec<String>,
}

/// Parses the first document.
///
/// # Errors
///
/// Returns the message of the parser.
pub(super) fn read(text: &str) -> Result<Document, String> {
    let mut reader = Reader {
        events: Parser::new_from_str(text),
        anchors: HashMap::new(),
        aliased: 0,
        inside: 0,
        duplicates: Vec::new(),
    };
    let value = loop {
        match reader.next()? {
            (Event::StreamStart | Event::DocumentStart(..), _) => {}
            (Event::StreamEnd | Event::DocumentEnd, _) => break Value::Null,
            (event, span) => break reader.value(event, span)?.value,
        }
    };
    Ok(Document {
        value,
        duplicates: reader.duplicates,
    })
}

/// A value with its approximate memory size and nesting depth.
#[derive(Clone)]
struct MeasuredValue {
    value: Value,
    weight: usize,
    depth: usize,
}

impl MeasuredValue {
    fn scalar(value: Value) -> Self {
        let text = value.as_str().map_or(0, str::len);
        Self {
            value,
            weight: size_of::<Value>() + text,
            depth: 0,
        }
    }

    const fn empty(value: Value) -> Self {
        Self {
            value,
            weight: size_of::<Value>(),
            depth: 1,
        }
    }

    /// Adds the size and depth of a contained value to this value.
    fn grow(&mut self, weight: usize, depth: usize) -> Result<(), String> {
        self.weight = self.weight.saturating_add(weight);
        self.depth = self.depth.max(depth + 1);
        within(self.depth)
    }
}

fn within(depth: usize) -> Result<(), String> {
    if depth > MAX_DEPTH {
        return Err(format!("yaml: exceeded max depth of {MAX_DEPTH}"));
    }
    Ok(())
}

struct Reader<I> {
    events: I,
    anchors: HashMap<usize, MeasuredValue>,
    aliased: usize,
    /// The current nesting depth.
    inside: usize,
    duplicates: Vec<String>,
}

impl<'i, I: Iterator<Item = Result<(Event<'i>, Span), ScanError>>> Reader<I> {
    fn next(&mut self) -> Result<(Event<'i>, Span), String> {
        loop {
            match self.events.next() {
                Some(Ok((Event::Comment(..), _))) => {}
                Some(Ok(found)) => return Ok(found),
                Some(Err(error)) => {
                    let line = error.marker().line();
                    return Err(format!("yaml: line {line}: {}", error.info()));
                }
                None => return Err("yaml: unexpected end of the document".to_owned()),
            }
        }
    }

    fn value(&mut self, event: Event<'i>, span: Span) -> Result<MeasuredValue, String> {
        let (anchor, made) = match event {
            Event::Scalar(text, style, anchor, tag) => {
                let tag = tag.as_ref().and_then(|tag| tag.core_suffix());
                let value = resolve(&text, style, tag).map_err(|reason| at_line(span, &reason))?;
                (anchor, MeasuredValue::scalar(value))
            }
            Event::SequenceStart(_, anchor, _) => (anchor, self.deeper(Self::sequence)?),
            Event::MappingStart(_, anchor, _) => (anchor, self.deeper(Self::mapping)?),
            Event::Alias(id) => return self.alias(id),
            _ => return Err(at_line(span, "did not find expected node content")),
        };
        if anchor != 0 {
            self.charge(made.weight)?;
            self.anchors.insert(anchor, made.clone());
        }
        Ok(made)
    }

    fn charge(&mut self, weight: usize) -> Result<(), String> {
        self.aliased = self.aliased.saturating_add(weight);
        if self.aliased > MAX_ALIASED_BYTES {
            return Err(TOO_MANY_ALIASES.to_owned());
        }
        Ok(())
    }

    fn alias(&mut self, id: usize) -> Result<MeasuredValue, String> {
        let weight = self.anchors.get(&id).map(|found| found.weight);
        self.charge(weight.unwrap_or_default())?;
        let found = self.anchors.get(&id).cloned();
        found.ok_or_else(|| "yaml: anchor value contains itself".to_owned())
    }

    fn deeper(
        &mut self,
        read: impl FnOnce(&mut Self) -> Result<MeasuredValue, String>,
    ) -> Result<MeasuredValue, String> {
        self.inside += 1;
        within(self.inside)?;
        let value = read(self)?;
        self.inside -= 1;
        Ok(value)
    }

    fn sequence(&mut self) -> Result<MeasuredValue, String> {
        let mut items = Vec::new();
        let mut value = MeasuredValue::empty(Value::Null);
        loop {
            match self.next()? {
                (Event::SequenceEnd, _) => {
                    value.value = Value::Array(items);
                    return Ok(value);
                }
                (event, span) => {
                    let item = self.value(event, span)?;
                    value.grow(item.weight, item.depth)?;
                    items.push(item.value);
                }
            }
        }
    }

    fn mapping(&mut self) -> Result<MeasuredValue, String> {
        let mut map = Map::new();
        let mut value = MeasuredValue::empty(Value::Null);
        loop {
            let (event, span) = match self.next()? {
                (Event::MappingEnd, _) => {
                    value.value = Value::Object(map);
                    return Ok(value);
                }
                found => found,
            };
            let merges = matches!(
                &event,
                Event::Scalar(text, ScalarStyle::Plain, ..) if text == MERGE
            );
            let key = self.value(event, span)?;
            let (event, span) = self.next()?;
            let inside = self.value(event, span)?;
            value.grow(key.weight.saturating_add(inside.weight), inside.depth)?;
            if merges {
                merge(&mut map, inside.value).map_err(|reason| at_line(span, reason))?;
                continue;
            }
            let shown = key.value.to_string();
            let key = key_text(key.value).map_err(|reason| at_line(span, &reason))?;
            if map.insert(key, inside.value).is_some() && self.duplicates.len() < MAX_REPORTED {
                let line = span.start.line();
                let message = format!("line {line}: key {shown} already set in map");
                self.duplicates.push(message);
            }
        }
    }
}

fn at_line(span: Span, reason: &str) -> String {
    format!("yaml: line {}: {reason}", span.start.line())
}

fn merge(map: &mut Map<String, Value>, value: Value) -> Result<(), &'static str> {
    match value {
        Value::Object(inside) => map.extend(inside),
        Value::Array(all) => {
            // The first merged mapping has precedence.
            for one in all.into_iter().rev() {
                match one {
                    Value::Object(inside) => map.extend(inside),
                    _ => return Err("map merge requires map or sequence of maps as the value"),
                }
            }
        }
        _ => return Err("map merge requires map or sequence of maps as the value"),
    }
    Ok(())
}

/// Converts a key to a string, as JSON requires.
fn key_text(key: Value) -> Result<String, String> {
    match key {
        Value::String(text) => Ok(text),
        Value::Bool(_) | Value::Number(_) => Ok(key.to_string()),
        Value::Null => Err("unsupported map key of type: %!s(<nil>), key: <nil>".to_owned()),
        Value::Array(_) | Value::Object(_) => Err(format!("invalid map key: {key}")),
    }
}

/// Resolves a scalar. `tag` is a standard YAML tag such as `str`.
fn resolve(text: &str, style: ScalarStyle, tag: Option<&str>) -> Result<Value, String> {
    let is_text = tag.map_or(style != ScalarStyle::Plain, |tag| {
        !["bool", "int", "float", "null"].contains(&tag)
    });
    if is_text {
        return Ok(text.into());
    }
    let value = plain(text)?;
    let fits = match (tag, &value) {
        (Some("bool"), value) => value.is_boolean(),
        (Some("int"), Value::Number(number)) => !number.is_f64(),
        (Some("float"), value) => value.is_number(),
        (Some("int"), _) => false,
        (Some("null"), value) => value.is_null(),
        _ => true,
    };
    if fits {
        Ok(value)
    } else {
        let tag = tag.unwrap_or_default();
        Err(format!("cannot decode `{text}` as a !!{tag}"))
    }
}

/// Resolves an unquoted scalar.
fn plain(text: &str) -> Result<Value, String> {
    Ok(match text {
        "y" | "Y" | "yes" | "Yes" | "YES" | "true" | "True" | "TRUE" | "on" | "On" | "ON" => {
            true.into()
        }
        "n" | "N" | "no" | "No" | "NO" | "false" | "False" | "FALSE" | "off" | "Off" | "OFF" => {
            false.into()
        }
        "" | "~" | "null" | "Null" | "NULL" => Value::Null,
        ".nan" | ".NaN" | ".NAN" | ".inf" | ".Inf" | ".INF" | "+.inf" | "+.Inf" | "+.INF"
        | "-.inf" | "-.Inf" | "-.INF" => {
            return Err(format!("json: unsupported value: {text}"));
        }
        text => number(text).map_or_else(|| text.into(), Value::Number),
    })
}

fn number(text: &str) -> Option<Number> {
    let first = text.bytes().next()?;
    if !first.is_ascii_digit() && !matches!(first, b'+' | b'-' | b'.') {
        return None;
    }
    // Scalars that start with a point can only be decimal numbers.
    let bare: String = match first {
        b'.' => text.to_owned(),
        _ => text.chars().filter(|c| *c != '_').collect(),
    };
    let (negative, digits) = match bare.strip_prefix(['+', '-']) {
        Some(rest) => (bare.starts_with('-'), rest),
        None => (false, bare.as_str()),
    };
    integer(negative, digits).or_else(|| {
        let number: f64 = bare.parse().ok().filter(|_| is_float(digits))?;
        // Go writes integral numbers without a fraction.
        let whole = format!("{number:.0}").parse::<i64>().ok();
        match whole.filter(|_| number.fract() == 0.0 && number.abs() < MAX_EXACT) {
            Some(whole) => Some(whole.into()),
            None => Number::from_f64(number),
        }
    })
}

/// Parses an integer as Go's `ParseInt` with base 0 does.
fn integer(negative: bool, digits: &str) -> Option<Number> {
    let lower = digits.to_ascii_lowercase();
    let (digits, radix) = if let Some(rest) = lower.strip_prefix("0x") {
        (rest, 16)
    } else if let Some(rest) = lower.strip_prefix("0b") {
        (rest, 2)
    } else if let Some(rest) = lower.strip_prefix("0o") {
        (rest, 8)
    } else if lower.len() > 1 && lower.starts_with('0') {
        (&lower[1..], 8)
    } else {
        (lower.as_str(), 10)
    };
    if !digits.bytes().next()?.is_ascii_alphanumeric() {
        return None;
    }
    if negative {
        i64::from_str_radix(&format!("-{digits}"), radix)
            .ok()
            .map(Number::from)
    } else {
        u64::from_str_radix(digits, radix).ok().map(Number::from)
    }
}

/// Reports whether the text matches `[0-9]+(\\.[0-9]*)?` or `\\.[0-9]+`, with an optional exponent.
fn is_float(text: &str) -> bool {
    let all_digits = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
    let (mantissa, exponent) = match text.split_once(['e', 'E']) {
        Some((mantissa, exponent)) => (mantissa, Some(exponent)),
        None => (text, None),
    };
    let (whole, part) = mantissa.split_once('.').unwrap_or((mantissa, ""));
    let exponent = exponent.map(|text| text.strip_prefix(['+', '-']).unwrap_or(text));
    all_digits(whole)
        && all_digits(part)
        && !(whole.is_empty() && part.is_empty())
        && exponent.is_none_or(|digits| !digits.is_empty() && all_digits(digits))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn value(text: &str) -> Value {
        read(text).unwrap().value
    }

    #[test]
    fn plain_scalars_are_decoded_as_yaml_1_1() {
        let text =
            "[yes, Off, 'yes', ~, 010, 0x1F, 0b11, 1_000, -7, 1e3, .5, 1.2.3, 08, a b, 2001-01-01]";
        assert_eq!(
            value(text),
            json!([
                true,
                false,
                "yes",
                null,
                8,
                31,
                3,
                1000,
                -7,
                1000,
                0.5,
                "1.2.3",
                8,
                "a b",
                "2001-01-01"
            ])
        );
        assert_eq!(value("!!str 1"), json!("1"));
        assert_eq!(value("!!float 1"), json!(1));
        assert!(read("!!int x").is_err());
    }

    #[test]
    fn yaml_keys_are_decoded_as_strings() {
        assert_eq!(
            value("{y: a, 1: b, 0x10: c, \"on\": d}"),
            json!({"true": "a", "1": "b", "16": "c", "on": "d"})
        );
        assert!(read("{[a]: b}").is_err());
        assert!(read("~: b").is_err());
    }

    #[test]
    fn last_duplicate_yaml_key_wins_and_all_duplicates_are_reported() {
        let found = read("a: 1\nb: {c: 1, c: 2}\na: 3\n").unwrap();
        assert_eq!(found.value, json!({"a": 3, "b": {"c": 2}}));
        assert_eq!(
            found.duplicates,
            [
                "line 2: key \"c\" already set in map",
                "line 3: key \"a\" already set in map"
            ]
        );
    }

    #[test]
    fn yaml_aliases_and_merge_keys_are_expanded() {
        assert_eq!(
            value("a: &a {x: 1, y: 2}\nb: *a\nc: {<<: *a, \"z\": 3}\n"),
            json!({"a": {"x": 1, "true": 2}, "b": {"x": 1, "true": 2},
                   "c": {"x": 1, "true": 2, "z": 3}})
        );
    }

    #[test]
    fn nested_alias_expansion_is_limited() {
        let levels = (1..9).map(|level| {
            let before = format!("*a{},", level - 1).repeat(10);
            format!("a{level}: &a{level} [{before}]\n")
        });
        let text = format!("a0: &a0 [x, x]\n{}", levels.collect::<String>());
        assert_eq!(read(&text).unwrap_err(), TOO_MANY_ALIASES);
    }

    #[test]
    fn alias_expansion_of_long_text_is_limited() {
        let long = "x".repeat(1 << 20);
        let text = format!("a: &a \"{long}\"\nb: [{}]\n", "*a,".repeat(100));
        assert_eq!(read(&text).unwrap_err(), TOO_MANY_ALIASES);
        let keys = format!("a: &a\n  ? \"{long}\"\n  : 1\nb: [{}]\n", "*a,".repeat(100));
        assert_eq!(read(&keys).unwrap_err(), TOO_MANY_ALIASES);
    }

    #[test]
    fn too_deep_yaml_is_rejected_with_and_without_aliases() {
        let nested = |depth: usize| format!("{}1{}", "[".repeat(depth), "]".repeat(depth));
        assert!(read(&nested(MAX_DEPTH)).is_ok());
        let error = read(&nested(MAX_DEPTH + 1)).unwrap_err();
        assert!(error.contains("depth"), "{error}");
        let links = (1..100).map(|link| {
            let (open, close) = ("[".repeat(20), "]".repeat(20));
            format!("a{link}: &a{link} {open}*a{}{close}\n", link - 1)
        });
        let text = format!("a0: &a0 [x]\n{}", links.collect::<String>());
        let error = read(&text).unwrap_err();
        assert!(error.contains("depth"), "{error}");
    }

    #[test]
    fn only_first_yaml_document_is_decoded_and_empty_text_is_null() {
        assert_eq!(value("a: 1\n---\nb: 2\n"), json!({"a": 1}));
        assert_eq!(value(""), Value::Null);
        assert_eq!(value("# nothing\n"), Value::Null);
    }

    #[test]
    fn yaml_errors_have_line_numbers() {
        let error = read("a: 1\nb: [\n").unwrap_err();
        assert!(error.starts_with("yaml: line "), "{error}");
    }
}
