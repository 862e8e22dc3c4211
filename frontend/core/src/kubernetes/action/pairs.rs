//! Labels and taints as text, one per line.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Value, json};

use crate::messages::t;
use crate::object::{Object, read};

/// The effects of taints.
const EFFECTS: [&str; 3] = ["NoSchedule", "PreferNoSchedule", "NoExecute"];

/// A line that is not a label or a taint.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct InvalidPair(String);

impl InvalidPair {
    /// Returns the error message.
    pub fn words(&self) -> &str {
        &self.0
    }
}

/// A taint of a node.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Taint {
    /// The key of the taint.
    pub key: String,
    /// The value; empty without a value.
    pub value: String,
    /// The effect on pods that do not tolerate the taint.
    pub effect: String,
    /// The time at which a `NoExecute` taint was added. Kubernetes sets the time.
    added: Option<String>,
}

impl Taint {
    fn of(value: &Value) -> Option<Self> {
        Some(Self {
            key: read::owned(value, "/key")?,
            value: read::owned(value, "/value").unwrap_or_default(),
            effect: read::owned(value, "/effect")?,
            added: read::owned(value, "/timeAdded"),
        })
    }

    /// Returns the taint in the form of kubectl: `key=value:effect`.
    fn text(&self) -> String {
        match self.value.as_str() {
            "" => format!("{}:{}", self.key, self.effect),
            value => format!("{}={value}:{}", self.key, self.effect),
        }
    }

    /// Returns the JSON of the taint.
    pub(super) fn value(&self) -> Value {
        let mut taint = json!({"key": self.key, "effect": self.effect});
        if !self.value.is_empty() {
            taint["value"] = Value::from(self.value.as_str());
        }
        if let Some(added) = &self.added {
            taint["timeAdded"] = Value::from(added.as_str());
        }
        taint
    }
}

fn taints(object: &Object) -> Vec<Taint> {
    let taints = read::list(object.value(), "/spec/taints").iter();
    taints.filter_map(Taint::of).collect()
}

/// Formats the taints of a node, one per line.
pub fn taints_text(object: &Object) -> String {
    lines(taints(object).iter().map(Taint::text))
}

/// Parses taints, one per line. Unchanged taints keep their time.
pub fn taints_of_text(text: &str, object: &Object) -> Result<Vec<Taint>, InvalidPair> {
    let known = taints(object);
    let lines = text.lines().map(str::trim).filter(|line| !line.is_empty());
    let mut parsed: Vec<Taint> = Vec::new();
    for line in lines {
        let taint = match known.iter().find(|taint| taint.text() == line) {
            Some(taint) => taint.clone(),
            None => taint_of_line(line)?,
        };
        let is_same = |other: &Taint| other.key == taint.key && other.effect == taint.effect;
        if parsed.iter().any(is_same) {
            return Err(InvalidPair(t().actions.duplicate_line(line)));
        }
        parsed.push(taint);
    }
    Ok(parsed)
}

fn taint_of_line(line: &str) -> Result<Taint, InvalidPair> {
    let invalid = || InvalidPair(t().actions.invalid_taint(line));
    let (pair, effect) = line.rsplit_once(':').ok_or_else(invalid)?;
    let (key, value) = pair.split_once('=').unwrap_or((pair, ""));
    if key.is_empty() || !EFFECTS.contains(&effect) {
        return Err(invalid());
    }
    Ok(Taint {
        key: key.to_owned(),
        value: value.to_owned(),
        effect: effect.to_owned(),
        added: None,
    })
}

/// Returns the arguments of `kubectl taint` that change the taints of a node.
pub(super) fn taint_arguments(wanted: &[Taint], object: &Object) -> Vec<String> {
    let known = taints(object);
    let added = wanted.iter().filter(|taint| !known.contains(taint));
    let same = |one: &Taint, other: &Taint| one.key == other.key && one.effect == other.effect;
    let removed = known
        .iter()
        .filter(|taint| !wanted.iter().any(|it| same(it, taint)));
    let removed = removed.map(|taint| format!("{}:{}-", taint.key, taint.effect));
    added.map(Taint::text).chain(removed).collect()
}

/// Formats the labels of an object, one per line.
pub fn labels_text(object: &Object) -> String {
    let labels = object.labels().into_iter();
    lines(labels.map(|(key, value)| format!("{key}={value}")))
}

/// Parses labels, one per line.
pub fn labels_of_text(text: &str) -> Result<BTreeMap<String, String>, InvalidPair> {
    Ok(pairs_of_text(text)?.into_iter().collect())
}

/// Parses `key=value` pairs with unique keys, one per line. The pairs are in the order of the lines.
pub fn pairs_of_text(text: &str) -> Result<Vec<(String, String)>, InvalidPair> {
    let lines = text.lines().map(str::trim).filter(|line| !line.is_empty());
    let (mut pairs, mut keys) = (Vec::new(), BTreeSet::new());
    for line in lines {
        let pair = line.split_once('=').filter(|(key, _)| !key.is_empty());
        let (key, value) = pair.ok_or_else(|| InvalidPair(t().actions.invalid_label(line)))?;
        let (key, value) = (key.trim().to_owned(), value.trim().to_owned());
        if !keys.insert(key.clone()) {
            return Err(InvalidPair(t().actions.duplicate_line(line)));
        }
        pairs.push((key, value));
    }
    Ok(pairs)
}

/// Returns the keys of the labels that a change removes.
pub(super) fn removed_labels(
    wanted: &BTreeMap<String, String>,
    object: &Object,
) -> impl Iterator<Item = String> {
    let known = object.labels().into_iter().map(|(key, _)| key);
    known.filter(|key| !wanted.contains_key(key))
}

fn lines(lines: impl Iterator<Item = String>) -> String {
    lines.collect::<Vec<_>>().join("\n")
}
