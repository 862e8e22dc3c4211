//! YAML text of Helm values before templates are rendered.
//!
//! Templates see the text of the values, so a text with a template must be unquoted where Fleet writes
//! it unquoted. Then `${ .ClusterLabels.replicas }` can become a number.

use std::fmt::Write as _;

use serde_json::Value;

use crate::ids::go_json;
use crate::yaml;

/// Returns the YAML text of a value. The text equals the output of Fleet's YAML library, except for long
/// lines, which this function does not wrap.
#[must_use]
pub fn write(value: &Value) -> String {
    let mut text = String::new();
    match value {
        Value::Object(map) if !map.is_empty() => write_object(&mut text, value, 0),
        Value::Array(items) if !items.is_empty() => write_array(&mut text, items, 0),
        _ => {
            text.push_str(&scalar(value, 0));
            text.push('\n');
        }
    }
    text
}

fn write_object(text: &mut String, value: &Value, indent: usize) {
    let Value::Object(map) = value else { return };
    for (index, (key, value)) in map.iter().enumerate() {
        if index > 0 || !text.ends_with("- ") {
            text.extend(std::iter::repeat_n(' ', indent));
        }
        text.push_str(&quoted(key, indent));
        text.push(':');
        write_child(text, value, indent);
    }
}

fn write_array(text: &mut String, items: &[Value], indent: usize) {
    for (index, item) in items.iter().enumerate() {
        if index > 0 || !text.ends_with("- ") {
            text.extend(std::iter::repeat_n(' ', indent));
        }
        text.push_str("- ");
        match item {
            Value::Object(map) if !map.is_empty() => write_object(text, item, indent + 2),
            Value::Array(items) if !items.is_empty() => write_array(text, items, indent + 2),
            _ => {
                text.push_str(&scalar(item, indent + 2));
                text.push('\n');
            }
        }
    }
}

/// Writes the value of a key.
fn write_child(text: &mut String, value: &Value, indent: usize) {
    match value {
        Value::Object(map) if !map.is_empty() => {
            text.push('\n');
            write_object(text, value, indent + 2);
        }
        // Lists are not indented, as in Go.
        Value::Array(items) if !items.is_empty() => {
            text.push('\n');
            write_array(text, items, indent);
        }
        _ => {
            text.push(' ');
            text.push_str(&scalar(value, indent + 2));
            text.push('\n');
        }
    }
}

fn scalar(value: &Value, indent: usize) -> String {
    match value {
        Value::String(text) if text.contains('\n') && is_printable(text) => literal(text, indent),
        Value::String(text) => quoted(text, indent),
        Value::Number(number) => number
            .as_f64()
            .map_or_else(|| number.to_string(), go_json::float),
        Value::Array(_) => "[]".to_owned(),
        Value::Object(_) => "{}".to_owned(),
        Value::Null | Value::Bool(_) => value.to_string(),
    }
}

/// Writes a text with several lines in the literal style.
fn literal(text: &str, indent: usize) -> String {
    if text.starts_with([' ', '\n']) || text.trim_end_matches('\n').is_empty() {
        return double_quoted(text);
    }
    let body = text.trim_end_matches('\n');
    let header = match text.len() - body.len() {
        0 => "|-",
        1 => "|",
        _ => "|+",
    };
    let mut result = header.to_owned();
    for line in text.strip_suffix('\n').unwrap_or(text).split('\n') {
        result.push('\n');
        if !line.is_empty() {
            result.extend(std::iter::repeat_n(' ', indent.max(2)));
            result.push_str(line);
        }
    }
    result
}

/// Writes a text with one line: plain if possible, else with quotes.
fn quoted(text: &str, _indent: usize) -> String {
    if !is_printable(text) || text.contains('\n') {
        return double_quoted(text);
    }
    // Text that YAML reads as another type has double quotes in Go, other text has single quotes.
    if !yaml::is_text(text) {
        return double_quoted(text);
    }
    if is_plain(text) {
        return text.to_owned();
    }
    format!("'{}'", text.replace('\'', "''"))
}

fn is_printable(text: &str) -> bool {
    text.chars()
        .all(|char| char == '\n' || char == '\t' || !char.is_control() && char != '\u{feff}')
}

/// Reports whether a text needs no quotes in a block.
fn is_plain(text: &str) -> bool {
    let Some(first) = text.chars().next() else {
        return false;
    };
    let second = text.chars().nth(1);
    let starts_indicator = match first {
        '#' | ',' | '[' | ']' | '{' | '}' | '&' | '*' | '!' | '|' | '>' | '\'' | '"' | '%'
        | '@' | '`' => true,
        '?' | ':' | '-' => second.is_none_or(char::is_whitespace),
        _ => false,
    };
    let has_indicator = text.contains(": ")
        || text.contains(":\t")
        || text.ends_with(':')
        || text.contains(" #")
        || text.contains("\t#");
    !starts_indicator
        && !has_indicator
        && !text.starts_with([' ', '\t'])
        && !text.ends_with([' ', '\t'])
        && !text.contains('\t')
        && !text.starts_with("---")
        && !text.starts_with("...")
}

fn double_quoted(text: &str) -> String {
    let mut result = String::from("\"");
    for char in text.chars() {
        match char {
            '"' => result.push_str("\\\""),
            '\\' => result.push_str("\\\\"),
            '\n' => result.push_str("\\n"),
            '\t' => result.push_str("\\t"),
            char if char.is_control() || char == '\u{feff}' => {
                // A write to a String does not fail.
                let _ = write!(result, "\\U{:08x}", u32::from(char));
            }
            char => result.push(char),
        }
    }
    result.push('"');
    result
}
