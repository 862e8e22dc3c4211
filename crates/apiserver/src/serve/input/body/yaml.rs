//! YAML as Kubernetes reads it (sigs.k8s.io/yaml): plain words and numbers mean what they mean in
//! YAML 1.1, so that `yes` is true and `010` is eight; keys become text; of several documents the
//! first counts.

use std::collections::HashMap;

use granit_parser::{Event, Parser, ScalarStyle, ScanError, Span};
use serde_json::{Map, Number, Value};

/// Duplicate keys that are reported; a body can hold very many.
const REPORTED: usize = 100;
/// Bytes of memory that values with anchors, and what aliases stand for, may take in all: each is
/// copied.
const ALIASED: usize = 16 << 20;
/// How deep values may be inside of each other, aliases included: what is deeper is not stored
/// anyway, and whoever looks at it would need as much stack.
const DEEPEST: usize = 100;
const TOO_MANY_ALIASES: &str = "yaml: document contains excessive aliasing";
/// Whole numbers up to this are written as such whatever they were read as: 2^53.
const MOST_EXACT: f64 = 9_007_199_254_740_992.0;
/// A key whose value is a mapping's, to begin with.
const MERGE: &str = "<<";

/// What a document says.
#[derive(Debug, Default)]
pub(super) struct Document {
    /// The last of duplicate keys counts.
    pub(super) value: Value,
    /// Such as `line 3: key "data" already set in map`.
    pub(super) duplicates: Vec<String>,
}

/// Reads the first document.
///
/// # Errors
/// What the parser says.
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

/// A value, about how many bytes of memory it takes, and how many values are inside of each other.
#[derive(Clone)]
struct Weighed {
    value: Value,
    weight: usize,
    depth: usize,
}

impl Weighed {
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

    /// Takes note of what is put into it.
    fn grow(&mut self, weight: usize, depth: usize) -> Result<(), String> {
        self.weight = self.weight.saturating_add(weight);
        self.depth = self.depth.max(depth + 1);
        within(self.depth)
    }
}

fn within(depth: usize) -> Result<(), String> {
    if depth > DEEPEST {
        return Err(format!("yaml: exceeded max depth of {DEEPEST}"));
    }
    Ok(())
}

struct Reader<I> {
    events: I,
    anchors: HashMap<usize, Weighed>,
    aliased: usize,
    /// How many values the reader is inside of.
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

    fn value(&mut self, event: Event<'i>, span: Span) -> Result<Weighed, String> {
        let (anchor, made) = match event {
            Event::Scalar(text, style, anchor, tag) => {
                let tag = tag.as_ref().and_then(|tag| tag.core_suffix());
                let value = resolve(&text, style, tag).map_err(|why| at_line(span, &why))?;
                (anchor, Weighed::scalar(value))
            }
            Event::SequenceStart(_, anchor, _) => (anchor, self.deeper(Self::sequence)?),
            Event::MappingStart(_, anchor, _) => (anchor, self.deeper(Self::mapping)?),
            Event::Alias(id) => return self.alias(id),
            _ => return Err(at_line(span, "did not find expected node content")),
        };
        if anchor != 0 {
            self.pay(made.weight)?;
            self.anchors.insert(anchor, made.clone());
        }
        Ok(made)
    }

    fn pay(&mut self, weight: usize) -> Result<(), String> {
        self.aliased = self.aliased.saturating_add(weight);
        if self.aliased > ALIASED {
            return Err(TOO_MANY_ALIASES.to_owned());
        }
        Ok(())
    }

    fn alias(&mut self, id: usize) -> Result<Weighed, String> {
        let weight = self.anchors.get(&id).map(|found| found.weight);
        self.pay(weight.unwrap_or_default())?;
        let found = self.anchors.get(&id).cloned();
        found.ok_or_else(|| "yaml: anchor value contains itself".to_owned())
    }

    fn deeper(
        &mut self,
        read: impl FnOnce(&mut Self) -> Result<Weighed, String>,
    ) -> Result<Weighed, String> {
        self.inside += 1;
        within(self.inside)?;
        let made = read(self)?;
        self.inside -= 1;
        Ok(made)
    }

    fn sequence(&mut self) -> Result<Weighed, String> {
        let mut items = Vec::new();
        let mut made = Weighed::empty(Value::Null);
        loop {
            match self.next()? {
                (Event::SequenceEnd, _) => {
                    made.value = Value::Array(items);
                    return Ok(made);
                }
                (event, span) => {
                    let item = self.value(event, span)?;
                    made.grow(item.weight, item.depth)?;
                    items.push(item.value);
                }
            }
        }
    }

    fn mapping(&mut self) -> Result<Weighed, String> {
        let mut map = Map::new();
        let mut made = Weighed::empty(Value::Null);
        loop {
            let (event, span) = match self.next()? {
                (Event::MappingEnd, _) => {
                    made.value = Value::Object(map);
                    return Ok(made);
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
            made.grow(key.weight.saturating_add(inside.weight), inside.depth)?;
            if merges {
                merge(&mut map, inside.value).map_err(|why| at_line(span, why))?;
                continue;
            }
            let shown = key.value.to_string();
            let key = key_text(key.value).map_err(|why| at_line(span, &why))?;
            if map.insert(key, inside.value).is_some() && self.duplicates.len() < REPORTED {
                let line = span.start.line();
                let said = format!("line {line}: key {shown} already set in map");
                self.duplicates.push(said);
            }
        }
    }
}

fn at_line(span: Span, why: &str) -> String {
    format!("yaml: line {}: {why}", span.start.line())
}

fn merge(map: &mut Map<String, Value>, value: Value) -> Result<(), &'static str> {
    match value {
        Value::Object(inside) => map.extend(inside),
        Value::Array(all) => {
            // The first of them counts most.
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

/// A key as text: JSON has no others.
fn key_text(key: Value) -> Result<String, String> {
    match key {
        Value::String(text) => Ok(text),
        Value::Bool(_) | Value::Number(_) => Ok(key.to_string()),
        Value::Null => Err("unsupported map key of type: %!s(<nil>), key: <nil>".to_owned()),
        Value::Array(_) | Value::Object(_) => Err(format!("invalid map key: {key}")),
    }
}

/// What a scalar means. `tag` is one of YAML's own, such as `str`.
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

/// A word without quotes.
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
    // Of those that begin with a point, only digits and an exponent are meant.
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
        // Go writes these without a fraction.
        let whole = format!("{number:.0}").parse::<i64>().ok();
        match whole.filter(|_| number.fract() == 0.0 && number.abs() < MOST_EXACT) {
            Some(whole) => Some(whole.into()),
            None => Number::from_f64(number),
        }
    })
}

/// Go's `ParseInt` with base 0.
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

/// `[0-9]+(\.[0-9]*)?` or `\.[0-9]+`, and an exponent.
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
    fn plain_words_mean_what_they_mean_in_yaml_1_1() {
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
    fn keys_become_text() {
        assert_eq!(
            value("{y: a, 1: b, 0x10: c, \"on\": d}"),
            json!({"true": "a", "1": "b", "16": "c", "on": "d"})
        );
        assert!(read("{[a]: b}").is_err());
        assert!(read("~: b").is_err());
    }

    #[test]
    fn the_last_of_duplicate_keys_counts_and_each_is_told() {
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
    fn aliases_and_merges_are_what_they_stand_for() {
        assert_eq!(
            value("a: &a {x: 1, y: 2}\nb: *a\nc: {<<: *a, \"z\": 3}\n"),
            json!({"a": {"x": 1, "true": 2}, "b": {"x": 1, "true": 2},
                   "c": {"x": 1, "true": 2, "z": 3}})
        );
    }

    #[test]
    fn aliases_of_aliases_end_before_memory_does() {
        let levels = (1..9).map(|level| {
            let before = format!("*a{},", level - 1).repeat(10);
            format!("a{level}: &a{level} [{before}]\n")
        });
        let text = format!("a0: &a0 [x, x]\n{}", levels.collect::<String>());
        assert_eq!(read(&text).unwrap_err(), TOO_MANY_ALIASES);
    }

    #[test]
    fn aliases_of_a_long_text_end_before_memory_does() {
        let long = "x".repeat(1 << 20);
        let text = format!("a: &a \"{long}\"\nb: [{}]\n", "*a,".repeat(100));
        assert_eq!(read(&text).unwrap_err(), TOO_MANY_ALIASES);
        let keys = format!("a: &a\n  ? \"{long}\"\n  : 1\nb: [{}]\n", "*a,".repeat(100));
        assert_eq!(read(&keys).unwrap_err(), TOO_MANY_ALIASES);
    }

    #[test]
    fn what_is_too_deep_is_refused_with_and_without_aliases() {
        let nested = |depth: usize| format!("{}1{}", "[".repeat(depth), "]".repeat(depth));
        assert!(read(&nested(DEEPEST)).is_ok());
        let error = read(&nested(DEEPEST + 1)).unwrap_err();
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
    fn the_first_document_counts_and_none_is_nothing() {
        assert_eq!(value("a: 1\n---\nb: 2\n"), json!({"a": 1}));
        assert_eq!(value(""), Value::Null);
        assert_eq!(value("# nothing\n"), Value::Null);
    }

    #[test]
    fn a_fault_says_its_line() {
        let error = read("a: 1\nb: [\n").unwrap_err();
        assert!(error.starts_with("yaml: line "), "{error}");
    }
}
