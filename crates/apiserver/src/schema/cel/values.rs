//! Conversion of JSON to CEL values: escapes field names, and converts formats to types.

use std::collections::HashMap;
use std::sync::{Arc, LazyLock};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use kube_cel::cel::objects::{Key, Map, OptionalValue};
use kube_cel::cel::{Context, Program, Value as Cel};
use serde_json::{Number, Value};

use crate::schema::{Node, Shape};

/// Reserved words of CEL (apiserver `pkg/cel/escaping.go`).
const RESERVED: [&str; 21] = [
    "true",
    "false",
    "null",
    "in",
    "as",
    "break",
    "const",
    "continue",
    "else",
    "for",
    "function",
    "if",
    "import",
    "let",
    "loop",
    "package",
    "namespace",
    "return",
    "var",
    "void",
    "while",
];

/// Converts a JSON value to CEL by its schema.
pub(super) fn to_cel(node: &Node, value: &Value) -> Cel {
    match value {
        Value::Null => Cel::Null,
        Value::Bool(set) => Cel::Bool(*set),
        Value::Number(number) => of_number(node, number),
        Value::String(text) => of_text(node, text),
        Value::Array(items) => {
            let inside = node.items();
            let items = items.iter().map(|item| inner(inside, item));
            Cel::List(Arc::new(items.collect()))
        }
        Value::Object(map) => {
            let mut entries = HashMap::with_capacity(map.len());
            for (name, value) in map {
                let key = match &node.shape {
                    Shape::Object { properties, .. } if !properties.contains_key(name) => {
                        name.clone()
                    }
                    _ => escape(name),
                };
                let value = inner(node.field(name), value);
                entries.insert(Key::String(Arc::new(key)), value);
            }
            Cel::Map(Map {
                map: Arc::new(entries),
            })
        }
    }
}

/// Returns the CEL value `optional.of(value)` or `optional.none()`.
pub(super) fn optional(value: Option<Cel>) -> Cel {
    Cel::Opaque(Arc::new(match value {
        Some(value) => OptionalValue::of(value),
        None => OptionalValue::none(),
    }))
}

fn inner(node: Option<&Node>, value: &Value) -> Cel {
    match node {
        Some(node) => to_cel(node, value),
        None => to_cel(&Node::default(), value),
    }
}

fn of_number(node: &Node, number: &Number) -> Cel {
    let float = || Cel::Float(number.as_f64().unwrap_or(f64::NAN));
    if matches!(node.shape, Shape::Number) {
        return float();
    }
    match (number.as_i64(), number.as_u64()) {
        (Some(number), _) => Cel::Int(number),
        (None, Some(number)) => Cel::UInt(number),
        (None, None) => float(),
    }
}

fn of_text(node: &Node, text: &str) -> Cel {
    let plain = || Cel::String(Arc::new(text.to_owned()));
    let Shape::String { format } = &node.shape else {
        return plain();
    };
    match format.as_str() {
        "date-time" => call(TIMESTAMP.as_ref(), text).unwrap_or_else(plain),
        "date" => call(TIMESTAMP.as_ref(), &format!("{text}T00:00:00Z")).unwrap_or_else(plain),
        "duration" => call(DURATION.as_ref(), text).unwrap_or_else(plain),
        "byte" => match STANDARD.decode(text) {
            Ok(bytes) => Cel::Bytes(Arc::new(bytes)),
            Err(_) => plain(),
        },
        _ => plain(),
    }
}

static TIMESTAMP: LazyLock<Option<Program>> =
    LazyLock::new(|| Program::compile("timestamp(text)").ok());
static DURATION: LazyLock<Option<Program>> =
    LazyLock::new(|| Program::compile("duration(text)").ok());

/// Evaluates a CEL conversion function on a text, so that JSON values and CEL expressions use the
/// same parser.
fn call(program: Option<&Program>, text: &str) -> Option<Cel> {
    let mut context = Context::default();
    context.add_variable_from_value("text", text.to_owned());
    program?.execute(&context).ok()
}

pub(super) fn escape(name: &str) -> String {
    if RESERVED.contains(&name) {
        return format!("__{name}__");
    }
    if !name.contains(['.', '-', '/']) && !name.contains("__") {
        return name.to_owned();
    }
    // Underscores are escaped first, because the other escape sequences contain underscores.
    let mut escaped = name.to_owned();
    for (text, written) in ESCAPES {
        escaped = escaped.replace(text, written);
    }
    escaped
}

/// Characters that CEL identifiers cannot contain, and their escape sequences.
const ESCAPES: [(&str, &str); 4] = [
    ("__", "__underscores__"),
    (".", "__dot__"),
    ("-", "__dash__"),
    ("/", "__slash__"),
];

/// Reverts [`escape`]. Returns `None` if the text is not a result of [`escape`].
pub(super) fn unescape(escaped: &str) -> Option<String> {
    let inside = escaped
        .strip_prefix("__")
        .and_then(|rest| rest.strip_suffix("__"));
    if let Some(reserved) = inside.filter(|inside| RESERVED.contains(inside)) {
        return Some(reserved.to_owned());
    }
    let mut name = String::with_capacity(escaped.len());
    let mut rest = escaped;
    while let Some(first) = rest.chars().next() {
        let found = ESCAPES.iter().find_map(|(text, written)| {
            let rest = rest.strip_prefix(written)?;
            Some((*text, rest))
        });
        if let Some((text, after)) = found {
            name.push_str(text);
            rest = after;
        } else {
            name.push(first);
            rest = &rest[first.len_utf8()..];
        }
    }
    (escape(&name) == escaped).then_some(name)
}

#[cfg(test)]
mod tests {
    use super::{escape, unescape};

    #[test]
    fn cel_name_unescaping_accepts_only_escaped_names() {
        for name in [
            "a",
            "a__b",
            "namespace",
            "x/y-z.w",
            "a_.__b",
            "___",
            "__dot__",
        ] {
            assert_eq!(unescape(&escape(name)).as_deref(), Some(name));
        }
        for never in ["namespace", "a__b", "x-y", "__namespace"] {
            assert_eq!(unescape(never), None, "{never}");
        }
    }

    #[test]
    fn cel_field_names_are_escaped_as_in_kube_apiserver() {
        assert_eq!(escape("my_field"), "my_field");
        assert_eq!(escape("a__b"), "a__underscores__b");
        assert_eq!(escape("namespace"), "__namespace__");
        assert_eq!(escape("x/y-z.w"), "x__slash__y__dash__z__dot__w");
    }
}
