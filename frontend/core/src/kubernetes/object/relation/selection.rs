//! Evaluates label selectors.

use serde_json::Value;

use crate::kind::Kind;
use crate::object::{Object, read};

/// The labels of pods.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Labels(Vec<(String, String)>);

impl Labels {
    /// Returns the labels of a pod, or of the pods of a workload.
    pub(super) fn of(kind: Kind, object: &Object) -> Self {
        let pointer = match kind {
            Kind::PODS => "/metadata/labels",
            _ => "/spec/template/metadata/labels",
        };
        let labels = read::entries(object.value(), pointer).into_iter();
        Self(
            labels
                .map(|(key, value)| (key.to_owned(), value.into_owned()))
                .collect(),
        )
    }

    fn get(&self, key: &str) -> Option<&str> {
        let found = self.0.iter().find(|(known, _)| known == key);
        found.map(|(_, value)| value.as_str())
    }
}

/// Reports whether the selector of an object selects pods with these labels.
pub(super) fn selects(kind: Kind, object: &Object, labels: &Labels) -> bool {
    let value = object.value();
    match kind {
        Kind::SERVICES => {
            let selector = read::entries(value, "/spec/selector");
            // A Service without a selector has endpoints that a user manages.
            !selector.is_empty()
                && selector
                    .iter()
                    .all(|(key, value)| labels.get(key) == Some(&**value))
        }
        Kind::NETWORK_POLICIES => matches(read::at(value, "/spec/podSelector"), labels),
        // A missing selector selects no pods.
        _ => value
            .pointer("/spec/selector")
            .is_some_and(|selector| matches(selector, labels)),
    }
}

/// Evaluates a `LabelSelector`. An empty selector matches all labels.
fn matches(selector: &Value, labels: &Labels) -> bool {
    let equal = read::entries(selector, "/matchLabels").into_iter();
    let mut equal = equal.map(|(key, value)| labels.get(key) == Some(&*value));
    let expressions = read::list(selector, "/matchExpressions").iter();
    let mut expressions = expressions.map(|one| expression(one, labels));
    equal.all(|it| it) && expressions.all(|it| it)
}

/// Evaluates a requirement of a selector. A malformed requirement matches no labels.
fn expression(one: &Value, labels: &Labels) -> bool {
    let Some(key) = read::text(one, "/key") else {
        return false;
    };
    let value = labels.get(key);
    let is_listed = || {
        let mut values = read::list(one, "/values").iter().filter_map(Value::as_str);
        values.any(|known| Some(known) == value)
    };
    match read::text(one, "/operator") {
        Some("In") => is_listed(),
        Some("NotIn") => !is_listed(),
        Some("Exists") => value.is_some(),
        Some("DoesNotExist") => value.is_none(),
        _ => false,
    }
}
