//! Changes of labels.

use std::collections::BTreeMap;

use serde_json::Value;

/// Labels to set and to remove. `None` removes a label.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Changes(BTreeMap<String, Option<String>>);

/// The labels of a merge patch, or no change.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Outcome {
    /// The object has the requested labels.
    Same,
    /// The labels to set, and `None` for the labels to remove.
    Patch(BTreeMap<String, Option<String>>),
}

/// A label that has another value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Conflict {
    pub(super) key: String,
    pub(super) value: String,
}

impl Changes {
    /// Reports whether a word is a change. The names of kinds and objects never contain `=` and never
    /// end with `-`.
    pub(super) fn is_change(word: &str) -> bool {
        word.contains('=') || word.ends_with('-')
    }

    /// Parses `KEY=VALUE` and `KEY-`.
    pub(super) fn parse(words: &[String]) -> Result<Self, String> {
        let mut changes = BTreeMap::new();
        for word in words {
            let (key, value) = match (word.split_once('='), word.strip_suffix('-')) {
                (Some((key, value)), _) => (key, Some(value.to_owned())),
                (None, Some(key)) => (key, None),
                (None, None) => (word.as_str(), None),
            };
            if key.is_empty() {
                return Err(format!(
                    "cannot use {word:?} as a change; write KEY=VALUE or KEY-"
                ));
            }
            if changes.insert(key.to_owned(), value).is_some() {
                return Err(format!(
                    "the label {key} is changed twice; remove one of the changes"
                ));
            }
        }
        if changes.is_empty() {
            return Err("write at least one change: KEY=VALUE or KEY-".to_owned());
        }
        Ok(Self(changes))
    }

    /// Compares the changes with the labels of an object.
    pub(super) fn apply(&self, labels: &Value, overwrite: bool) -> Result<Outcome, Conflict> {
        let mut patch = BTreeMap::new();
        for (key, wanted) in &self.0 {
            let current = labels[key.as_str()].as_str();
            match (current, wanted) {
                (Some(current), Some(wanted)) if current == wanted => {}
                (None, None) => {}
                (Some(current), Some(_)) if !overwrite => {
                    return Err(Conflict {
                        key: key.clone(),
                        value: current.to_owned(),
                    });
                }
                _ => {
                    patch.insert(key.clone(), wanted.clone());
                }
            }
        }
        Ok(if patch.is_empty() {
            Outcome::Same
        } else {
            Outcome::Patch(patch)
        })
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn changes(words: &[&str]) -> Result<Changes, String> {
        let words: Vec<String> = words.iter().map(|word| (*word).to_owned()).collect();
        Changes::parse(&words)
    }

    #[test]
    fn changes_are_compared_with_the_labels_of_the_object() {
        let labels = json!({"env": "prod", "tier": "web"});
        let patch = |pairs: &[(&str, Option<&str>)]| {
            let pairs = pairs.iter();
            let pairs = pairs.map(|(k, v)| ((*k).to_owned(), v.map(str::to_owned)));
            Ok(Outcome::Patch(pairs.collect()))
        };
        let conflict = Err(Conflict {
            key: "env".to_owned(),
            value: "prod".to_owned(),
        });
        for (words, overwrite, outcome) in [
            (&["a=1"][..], false, patch(&[("a", Some("1"))])),
            (&["a="], false, patch(&[("a", Some(""))])),
            (&["env=prod"], false, Ok(Outcome::Same)),
            (&["env=test"], false, conflict),
            (&["env=test"], true, patch(&[("env", Some("test"))])),
            (&["env-"], false, patch(&[("env", None)])),
            (&["none-"], false, Ok(Outcome::Same)),
            (
                &["env-", "b=2"],
                false,
                patch(&[("b", Some("2")), ("env", None)]),
            ),
            (&["a=b=c-"], false, patch(&[("a", Some("b=c-"))])),
        ] {
            let changes = changes(words).unwrap();
            assert_eq!(changes.apply(&labels, overwrite), outcome, "{words:?}");
        }
        let changes = changes(&["a=1"]).unwrap();
        assert!(matches!(
            changes.apply(&json!(null), false),
            Ok(Outcome::Patch(_))
        ));
    }

    #[test]
    fn empty_and_repeated_changes_are_rejected() {
        for words in [&[][..], &["=a"], &["-"], &["a=1", "a-"]] {
            assert!(changes(words).is_err(), "{words:?}");
        }
    }
}
