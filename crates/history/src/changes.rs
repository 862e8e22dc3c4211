//! The summary of the changed fields of two versions.

use drover_api::rest::FieldChange;
use serde_json::Value;

/// Maximum number of listed changes.
const MAX_CHANGES: usize = 20;
/// Maximum length of a value in characters.
const MAX_VALUE: usize = 80;
/// Maximum length of a path in characters.
const MAX_PATH: usize = 200;

/// The changed fields, and the number of changed fields that are not listed.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Changes {
    pub(crate) listed: Vec<FieldChange>,
    pub(crate) further: usize,
}

impl Changes {
    /// Compares two objects.
    pub(crate) fn between(old: &Value, new: &Value) -> Self {
        let mut comparison = Comparison::default();
        comparison.compare(Some(old), Some(new));
        comparison.changes
    }
}

/// A part of a path.
#[derive(Clone, Copy)]
enum Segment<'a> {
    Key(&'a str),
    Index(usize),
}

#[derive(Default)]
struct Comparison<'a> {
    changes: Changes,
    /// The path of the current field. Only listed changes need the path as text.
    path: Vec<Segment<'a>>,
}

impl<'a> Comparison<'a> {
    fn compare(&mut self, old: Option<&'a Value>, new: Option<&'a Value>) {
        if old == new {
            return;
        }
        match (old, new) {
            (Some(Value::Object(old)), Some(Value::Object(new))) => {
                for (key, value) in old {
                    self.field(Segment::Key(key), Some(value), new.get(key));
                }
                for (key, value) in new.iter().filter(|(key, _)| !old.contains_key(*key)) {
                    self.field(Segment::Key(key), None, Some(value));
                }
            }
            (Some(Value::Array(old)), Some(Value::Array(new))) => {
                for index in 0..old.len().max(new.len()) {
                    self.field(Segment::Index(index), old.get(index), new.get(index));
                }
            }
            (old, new) => self.add(old, new),
        }
    }

    fn field(&mut self, segment: Segment<'a>, old: Option<&'a Value>, new: Option<&'a Value>) {
        self.path.push(segment);
        self.compare(old, new);
        self.path.pop();
    }

    fn add(&mut self, old: Option<&Value>, new: Option<&Value>) {
        if self.changes.listed.len() == MAX_CHANGES {
            self.changes.further += 1;
            return;
        }
        self.changes.listed.push(FieldChange {
            path: shortened(&path_text(&self.path), MAX_PATH),
            old: old.map(text),
            new: new.map(text),
        });
    }
}

/// Returns a path as text. Keys with other characters than letters and digits are in brackets.
fn path_text(path: &[Segment<'_>]) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_');
    let mut text = String::new();
    for segment in path {
        match *segment {
            Segment::Key(key) if !key.is_empty() && key.chars().all(is_plain) => {
                if !text.is_empty() {
                    text.push('.');
                }
                text.push_str(key);
            }
            Segment::Key(key) => text.extend(["[", &Value::from(key).to_string(), "]"]),
            Segment::Index(index) => text.extend(["[", &index.to_string(), "]"]),
        }
    }
    text
}

fn text(value: &Value) -> String {
    let text = match value {
        Value::String(text) => text.clone(),
        other => other.to_string(),
    };
    shortened(&text, MAX_VALUE)
}

fn shortened(text: &str, max: usize) -> String {
    match text.char_indices().nth(max) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn lines(old: &Value, new: &Value) -> Vec<String> {
        let of = |value: Option<String>| value.unwrap_or_else(|| "-".to_owned());
        let changes = Changes::between(old, new).listed.into_iter();
        let line = |it: FieldChange| format!("{} {} {}", it.path, of(it.old), of(it.new));
        changes.map(line).collect()
    }

    #[test]
    fn summary_contains_the_paths_and_values_of_changed_fields() {
        let old = json!({"spec": {"replicas": 3, "list": [{"image": "a"}, 1], "gone": true},
            "data": {"app.conf": "x"}});
        let new = json!({"spec": {"replicas": 5, "list": [{"image": "b"}], "made": null},
            "data": {"app.conf": "y"}});
        let mut lines = lines(&old, &new);
        lines.sort();
        let expected = [
            r#"data["app.conf"] x y"#,
            "spec.gone true -",
            "spec.list[0].image a b",
            "spec.list[1] 1 -",
            "spec.made - null",
            "spec.replicas 3 5",
        ];
        assert_eq!(lines, expected);
        assert_eq!(Changes::between(&old, &old), Changes::default());
    }

    #[test]
    fn long_values_and_many_changes_are_shortened() {
        let old = json!((0..50).collect::<Vec<_>>());
        let new = json!((1..51).map(|_| "ü".repeat(100)).collect::<Vec<_>>());
        let changes = Changes::between(&old, &new);
        assert_eq!((changes.listed.len(), changes.further), (20, 30));
        let shortened = format!("{}…", "ü".repeat(80));
        assert_eq!(changes.listed[0].new, Some(shortened));
    }
}
