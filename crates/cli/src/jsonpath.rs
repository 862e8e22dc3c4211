//! JSONPath templates of kubectl, such as `{range .items[*]}{.metadata.name}{"\n"}{end}`.
//!
//! The crate `jsonpath-rust` evaluates the paths (RFC 9535). This module translates kubectl's
//! notation of paths, and evaluates texts and `range`.

mod nesting;

use jsonpath_rust::JsonPath as _;
use serde_json::Value;

pub(crate) use nesting::Nesting;

/// Maximum number of `range` actions inside of each other.
const MAX_DEPTH: usize = 16;
/// Maximum length of a template, in bytes.
const MAX_TEMPLATE_BYTES: usize = 64 * 1024;
/// Maximum length of the output of a template, in bytes.
const MAX_OUTPUT_BYTES: usize = 256 * 1024 * 1024;

/// A parsed template.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Template(Vec<Action>);

/// A parsed path, relative to a value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Path(String);

#[derive(Clone, Debug, PartialEq, Eq)]
enum Action {
    Text(String),
    Print(Path),
    Range(Path, Vec<Self>),
}

/// The error of a JSONPath template.
#[derive(Debug, thiserror::Error, PartialEq, Eq)]
#[error("cannot use the JSONPath {text:?}: {reason}")]
pub struct JsonPathError {
    text: String,
    reason: String,
}

fn wrong(text: &str, reason: impl Into<String>) -> JsonPathError {
    JsonPathError {
        text: text.to_owned(),
        reason: reason.into(),
    }
}

impl Template {
    /// Parses a template. A template without braces is a path.
    pub fn parse(text: &str) -> Result<Self, JsonPathError> {
        if text.len() > MAX_TEMPLATE_BYTES {
            return Err(wrong("", "the template is too long"));
        }
        if !text.contains('{') {
            return Ok(Self(vec![Action::Print(Path::parse(text)?)]));
        }
        let mut rest = text;
        // The actions of the template, and of each open `range`.
        let mut open: Vec<(Option<Path>, Vec<Action>)> = vec![(None, Vec::new())];
        while let Some((before, action, after)) = next_action(rest)? {
            push_text(&mut open, before);
            rest = after;
            match action.trim() {
                "end" => {
                    let closed = open.pop();
                    let (Some((Some(path), actions)), Some((_, outer))) = (closed, open.last_mut())
                    else {
                        return Err(wrong(text, "{end} closes no {range}"));
                    };
                    outer.push(Action::Range(path, actions));
                }
                action => match action.strip_prefix("range ") {
                    Some(path) if open.len() <= MAX_DEPTH => {
                        open.push((Some(Path::parse(path)?), Vec::new()));
                    }
                    Some(_) => return Err(wrong(text, "too many {range} inside of each other")),
                    None => push(&mut open, print(action)?),
                },
            }
        }
        push_text(&mut open, rest);
        match (open.pop(), open.is_empty()) {
            (Some((None, actions)), true) => Ok(Self(actions)),
            _ => Err(wrong(text, "{range} is not closed by {end}")),
        }
    }

    /// Evaluates the template. Missing fields are empty.
    pub fn render(&self, value: &Value) -> Result<String, JsonPathError> {
        let mut output = String::new();
        render(&self.0, value, value, &mut output)?;
        Ok(output)
    }
}

fn push(open: &mut [(Option<Path>, Vec<Action>)], action: Action) {
    if let Some((_, actions)) = open.last_mut() {
        actions.push(action);
    }
}

fn push_text(open: &mut [(Option<Path>, Vec<Action>)], text: &str) {
    if !text.is_empty() {
        push(open, Action::Text(text.to_owned()));
    }
}

/// Returns the text before the next `{…}`, the content of the braces, and the rest.
fn next_action(text: &str) -> Result<Option<(&str, &str, &str)>, JsonPathError> {
    let Some((before, rest)) = text.split_once('{') else {
        return Ok(None);
    };
    let mut nesting = Nesting::default();
    for (at, c) in rest.char_indices() {
        if nesting.read(c) && c == '}' {
            return Ok(Some((before, &rest[..at], &rest[at + 1..])));
        }
    }
    Err(wrong(text, "a brace is not closed"))
}

/// Parses a quoted text or a path.
fn print(action: &str) -> Result<Action, JsonPathError> {
    let quoted = ['"', '\''].into_iter().find_map(|quote| {
        let inner = action.strip_prefix(quote)?.strip_suffix(quote)?;
        Some(inner)
    });
    match quoted {
        Some(inner) => Ok(Action::Text(unescape(inner))),
        None => Ok(Action::Print(Path::parse(action)?)),
    }
}

fn unescape(text: &str) -> String {
    let mut result = String::new();
    let mut characters = text.chars();
    while let Some(c) = characters.next() {
        match (c, c == '\\') {
            (_, true) => match characters.next() {
                Some('n') => result.push('\n'),
                Some('t') => result.push('\t'),
                Some('r') => result.push('\r'),
                Some(other) => result.push(other),
                None => result.push('\\'),
            },
            (c, false) => result.push(c),
        }
    }
    result
}

fn render(
    actions: &[Action],
    root: &Value,
    current: &Value,
    output: &mut String,
) -> Result<(), JsonPathError> {
    for action in actions {
        match action {
            Action::Text(text) => output.push_str(text),
            Action::Print(path) => {
                let found = path.find(root, current)?;
                let texts: Vec<String> = found.into_iter().map(text_of).collect();
                output.push_str(&texts.join(" "));
            }
            Action::Range(path, actions) => {
                for value in path.find(root, current)? {
                    render(actions, root, value, output)?;
                }
            }
        }
        if output.len() > MAX_OUTPUT_BYTES {
            return Err(wrong("", "the output is too long"));
        }
    }
    Ok(())
}

/// Returns a value as text: strings without quotes, and all other values as JSON.
pub fn text_of(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        Value::Null => String::new(),
        value => value.to_string(),
    }
}

impl Path {
    /// Parses a path such as `.metadata.labels.app\.kubernetes\.io/name`,
    /// `.items[?(@.kind=="Pod")]` or `$.kind`.
    pub fn parse(text: &str) -> Result<Self, JsonPathError> {
        let text = text.trim();
        let text = text
            .strip_prefix('{')
            .and_then(|text| text.strip_suffix('}'))
            .unwrap_or(text)
            .trim();
        let (prefix, mut rest) = match (text.strip_prefix('$'), text.strip_prefix('@')) {
            (Some(rest), _) => ("$", rest),
            (None, Some(rest)) => ("@", rest),
            (None, None) => ("@", text),
        };
        let mut path = prefix.to_owned();
        // kubectl accepts a path without a leading dot, such as `metadata.name`.
        let mut is_start = !text.starts_with(['$', '@']);
        while !rest.is_empty() {
            rest = if rest.starts_with('[') {
                let (content, after) = brackets(rest).map_err(|reason| wrong(text, reason))?;
                path.push_str(content);
                after
            } else {
                let (name, is_deep, after) = match rest.strip_prefix('.') {
                    Some(after) => match after.strip_prefix('.') {
                        Some(after) => (name(after), true, after),
                        None => (name(after), false, after),
                    },
                    None if is_start => (name(rest), false, rest),
                    None => return Err(wrong(text, "a dot is missing")),
                };
                push_name(&mut path, &name.0, is_deep, after);
                &after[name.1..]
            };
            is_start = false;
        }
        let path = Self(path);
        path.check(text)?;
        Ok(path)
    }

    fn check(&self, text: &str) -> Result<(), JsonPathError> {
        let parsed = jsonpath_rust::parser::parse_json_path(&self.absolute());
        parsed
            .map(drop)
            .map_err(|error| wrong(text, error.to_string()))
    }

    fn absolute(&self) -> String {
        format!("${}", &self.0[1..])
    }

    /// Returns the values at the path. A path that starts with `$` is relative to `root`, and all
    /// other paths are relative to `current`.
    pub fn find<'a>(
        &self,
        root: &'a Value,
        current: &'a Value,
    ) -> Result<Vec<&'a Value>, JsonPathError> {
        let start = if self.0.starts_with('$') {
            root
        } else {
            current
        };
        let found = start.query(&self.absolute());
        found.map_err(|error| wrong(&self.0, error.to_string()))
    }
}

/// Appends a name in the notation of RFC 9535. An empty name is the value itself.
fn push_name(path: &mut String, name: &str, is_deep: bool, rest: &str) {
    if is_deep {
        path.push_str("..");
    }
    if name == "*" {
        path.push_str("[*]");
    } else if !name.is_empty() {
        let quoted = Value::from(name).to_string();
        path.extend(["[", &quoted, "]"]);
    } else if is_deep && !rest.starts_with('[') {
        path.push_str("[*]");
    }
}

/// Returns the name at the start of the text without escapes, and its length with escapes.
fn name(text: &str) -> (String, usize) {
    let mut name = String::new();
    let mut escaped = false;
    for (at, c) in text.char_indices() {
        match c {
            c if escaped => {
                escaped = false;
                name.push(c);
            }
            '\\' => escaped = true,
            '.' | '[' => return (name, at),
            c => name.push(c),
        }
    }
    (name, text.len())
}

/// Returns the brackets at the start of the text, and the rest.
fn brackets(text: &str) -> Result<(&str, &str), &'static str> {
    let mut nesting = Nesting::default();
    for (at, c) in text.char_indices() {
        if nesting.read(c) && c == ']' && nesting.depth() == 0 {
            return Ok((&text[..=at], &text[at + 1..]));
        }
        if nesting.depth() > MAX_DEPTH {
            return Err("too many brackets inside of each other");
        }
    }
    Err("a bracket is not closed")
}

#[cfg(test)]
mod tests;
