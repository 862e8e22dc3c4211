//! Finds the differences between two JSON documents.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use serde_json::Value;

use super::place;

/// Maximum length of a value in the report of a difference.
const MAX_SHOWN: usize = 900;

/// A difference between the responses of the two servers.
#[derive(Clone, Debug, PartialEq)]
pub struct Difference {
    /// Path of the value that differs, such as `body.metadata.labels`.
    pub path: String,
    /// Value in the response of the server under test. `None` if the path does not exist.
    pub ours: Option<Value>,
    /// Value in the response of the reference server. `None` if the path does not exist.
    pub real: Option<Value>,
}

impl fmt::Display for Difference {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(formatter, "    {}", self.path)?;
        writeln!(formatter, "      real: {}", shown(self.real.as_ref()))?;
        write!(formatter, "      ours: {}", shown(self.ours.as_ref()))
    }
}

fn shown(value: Option<&Value>) -> String {
    let Some(value) = value else {
        return "(nothing)".to_owned();
    };
    let mut text = value.to_string();
    if text.len() > MAX_SHOWN {
        let end = text.floor_char_boundary(MAX_SHOWN);
        text.truncate(end);
        text.push('…');
    }
    text
}

/// The member that identifies an item of a list of subresources. These lists are sorted and
/// compared by the member, so that a missing item is one difference and does not shift the
/// following items.
const NAMED_BY: &str = "subresource";
/// The member of a discovery response that contains the list of subresources.
const NAMED_IN: &str = ".subresources";

/// Returns the items of a list by key. Returns `None` if an item has no key or two items have the
/// same key.
fn named(items: &[Value]) -> Option<BTreeMap<&str, &Value>> {
    items
        .iter()
        .map(|item| Some((item.get(NAMED_BY)?.as_str()?, item)))
        .collect::<Option<_>>()
        .filter(|all: &BTreeMap<_, _>| !all.is_empty() && all.len() == items.len())
}

/// Returns all differences between two documents, in the order of the document.
pub(super) fn compare(ours: &Value, real: &Value) -> Vec<Difference> {
    let mut found = Vec::new();
    walk("", Some(ours), Some(real), &mut found);
    found
}

fn walk(path: &str, ours: Option<&Value>, real: Option<&Value>, found: &mut Vec<Difference>) {
    match (ours, real) {
        (Some(Value::Object(remaining)), Some(Value::Object(right))) => {
            let keys: BTreeSet<&String> = remaining.keys().chain(right.keys()).collect();
            for key in keys {
                let path = place::member(path, key);
                walk(&path, remaining.get(key), right.get(key), found);
            }
        }
        (Some(Value::Array(remaining)), Some(Value::Array(right)))
            if path.ends_with(NAMED_IN) && named(remaining).is_some() && named(right).is_some() =>
        {
            let (remaining, right) = (
                named(remaining).unwrap_or_default(),
                named(right).unwrap_or_default(),
            );
            let names: BTreeSet<&str> = remaining.keys().chain(right.keys()).copied().collect();
            for name in names {
                let path = format!("{path}[{NAMED_BY}={name}]");
                let of = |all: &BTreeMap<&str, &Value>| all.get(name).map(|one| (*one).clone());
                walk(&path, of(&remaining).as_ref(), of(&right).as_ref(), found);
            }
        }
        (Some(Value::Array(remaining)), Some(Value::Array(right))) => {
            for index in 0..remaining.len().max(right.len()) {
                let path = format!("{path}[{index}]");
                walk(&path, remaining.get(index), right.get(index), found);
            }
        }
        (ours, real) if ours != real => found.push(Difference {
            path: path.to_owned(),
            ours: ours.cloned(),
            real: real.cloned(),
        }),
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn each_response_difference_contains_its_field_path() {
        let ours = json!({"a": {"b": 1}, "same": [1], "l": [1, 2]});
        let real = json!({"a": {"b": 2, "c.d": true}, "same": [1], "l": [1]});
        let paths: Vec<_> = compare(&ours, &real)
            .into_iter()
            .map(|difference| difference.path)
            .collect();
        assert_eq!(paths, ["a.b", "a[\"c.d\"]", "l[1]"]);
        assert_eq!(compare(&ours, &ours), []);
    }

    #[test]
    fn subresources_are_compared_by_their_names() {
        let one = |name: &str| json!({"subresource": name, "verbs": ["get"]});
        let listed = |all: &[Value]| json!({"r": {"subresources": all}});
        let ours = [one("binding"), one("status")];
        let real = [one("attach"), one("binding"), one("status")];
        let paths = |remaining: &Value, right: &Value| -> Vec<_> {
            let found = compare(remaining, right).into_iter();
            found.map(|difference| difference.path).collect()
        };
        assert_eq!(
            paths(&listed(&ours), &listed(&real)),
            ["r.subresources[subresource=attach]"]
        );
        // Lists with duplicate keys, and lists in other fields, are compared by index.
        let twice = [one("binding"), one("binding"), one("status")];
        assert_ne!(paths(&listed(&ours), &listed(&twice)), [""; 0]);
        assert_ne!(paths(&json!(ours), &json!(real)), ["[subresource=attach]"]);
    }
}
