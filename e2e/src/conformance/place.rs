//! Paths in a JSON document, for scripts and reports: `body.items[0].metadata.name`.
//!
//! The selector `[key=value]` selects the first list item whose member `key` has this value. A key
//! with dots is written in brackets and quotes: `metadata.labels["a.b/c"]`. `[*]` selects every
//! item and returns a list.

use serde_json::Value;

/// A segment of a path: a member, an index or a selector such as `[key=value]`.
#[derive(Debug, PartialEq, Eq)]
enum Segment {
    Key(String),
    Index(usize),
    Which(String, String),
    Each,
}

fn parse(place: &str) -> Result<Vec<Segment>, String> {
    let mut parts = Vec::new();
    let mut rest = place;
    while !rest.is_empty() {
        if let Some(tail) = rest.strip_prefix("[\"") {
            let end = tail
                .find("\"]")
                .ok_or_else(|| format!("{place}: a quote without an end"))?;
            parts.push(Segment::Key(tail[..end].to_owned()));
            rest = &tail[end + 2..];
        } else if let Some(tail) = rest.strip_prefix('[') {
            let end = tail
                .find(']')
                .ok_or_else(|| format!("{place}: a bracket without an end"))?;
            parts.push(bracket(&tail[..end]).ok_or_else(|| format!("{place}: not a place"))?);
            rest = &tail[end + 1..];
        } else {
            let rest_of = rest.strip_prefix('.').unwrap_or(rest);
            let end = rest_of.find(['.', '[']).unwrap_or(rest_of.len());
            if end == 0 {
                return Err(format!("{place}: not a place"));
            }
            parts.push(Segment::Key(rest_of[..end].to_owned()));
            rest = &rest_of[end..];
        }
    }
    Ok(parts)
}

fn bracket(inside: &str) -> Option<Segment> {
    if inside == "*" {
        return Some(Segment::Each);
    }
    if let Some((key, value)) = inside.split_once('=') {
        return Some(Segment::Which(key.to_owned(), value.to_owned()));
    }
    inside.parse().ok().map(Segment::Index)
}

/// Returns the value at a path in a document.
pub(super) fn find(document: &Value, place: &str) -> Result<Option<Value>, String> {
    Ok(follow(document, &parse(place)?))
}

fn follow(value: &Value, parts: &[Segment]) -> Option<Value> {
    let Some((part, rest)) = parts.split_first() else {
        return Some(value.clone());
    };
    match part {
        Segment::Key(key) => follow(value.get(key)?, rest),
        Segment::Index(index) => follow(value.get(index)?, rest),
        Segment::Which(key, expected) => {
            let item = value
                .as_array()?
                .iter()
                .find(|item| item.get(key).and_then(Value::as_str) == Some(expected))?;
            follow(item, rest)
        }
        Segment::Each => Some(Value::Array(
            value
                .as_array()?
                .iter()
                .map(|item| follow(item, rest).unwrap_or(Value::Null))
                .collect(),
        )),
    }
}

/// Returns the path of a member of a value.
pub(super) fn member(place: &str, key: &str) -> String {
    let plain = !key.is_empty()
        && key
            .chars()
            .all(|letter| letter.is_ascii_alphanumeric() || matches!(letter, '-' | '_' | '$'));
    match (plain, place.is_empty()) {
        (true, true) => key.to_owned(),
        (true, false) => format!("{place}.{key}"),
        (false, _) => format!("{place}[\"{key}\"]"),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn field_path_selects_a_field_or_a_list_item_by_index_or_name() {
        let document = json!({"a": [{"name": "x", "v": 1}, {"name": "y", "v.w": 2}]});
        let at = |place| find(&document, place).unwrap();
        assert_eq!(at("a[0].v"), Some(json!(1)));
        assert_eq!(at("a[name=y][\"v.w\"]"), Some(json!(2)));
        assert_eq!(at("a[*].name"), Some(json!(["x", "y"])));
        assert_eq!(at("b"), None);
        assert!(find(&document, "a[").is_err());
    }

    #[test]
    fn formatted_field_paths_can_be_parsed() {
        let place = member(&member("body", "v.w"), "plain");
        assert_eq!(place, "body[\"v.w\"].plain");
        let document = json!({"body": {"v.w": {"plain": true}}});
        assert_eq!(find(&document, &place).unwrap(), Some(json!(true)));
    }
}
