//! The PodDisruptionBudgets that select a pod.

use serde_json::Value;

use super::autoscaler::list_path;
use crate::kubectl::KubectlObject;
use crate::object::{Object, read};

/// Returns the API path of the PodDisruptionBudgets in the namespace of a pod.
pub fn budgets_path(target: &KubectlObject) -> String {
    list_path(target, "policy/v1", "poddisruptionbudgets")
}

/// Returns the names of the PodDisruptionBudgets that select a pod and allow no disruption.
/// `budgets` is the list of the budgets in the namespace of the pod.
pub fn budgets_of(pod: &Object, budgets: &Value) -> Vec<String> {
    let labels = read::at(pod.value(), "/metadata/labels");
    let budgets = read::list(budgets, "/items").iter();
    let blocking = budgets.filter(|budget| {
        let allowed = read::count(budget, "/status/disruptionsAllowed");
        allowed == 0 && selects(read::at(budget, "/spec/selector"), labels)
    });
    blocking
        .filter_map(|budget| read::owned(budget, "/metadata/name"))
        .collect()
}

/// Reports whether a label selector selects an object with these labels. An empty selector selects
/// all objects, and a missing selector selects no object (policy/v1).
fn selects(selector: &Value, labels: &Value) -> bool {
    let Some(fields) = selector.as_object() else {
        return false;
    };
    let label = |key: &str| labels.get(key).and_then(Value::as_str);
    let pairs = fields.get("matchLabels").and_then(Value::as_object);
    let has_labels = pairs.is_none_or(|pairs| {
        let mut pairs = pairs.iter();
        pairs.all(|(key, value)| label(key) == value.as_str())
    });
    let mut expressions = read::list(selector, "/matchExpressions").iter();
    has_labels && expressions.all(|expression| matches(expression, &label))
}

fn matches<'a>(expression: &Value, label: &impl Fn(&str) -> Option<&'a str>) -> bool {
    let value = label(read::text(expression, "/key").unwrap_or_default());
    let values = read::list(expression, "/values");
    let is_listed = value.is_some_and(|value| values.iter().any(|it| it.as_str() == Some(value)));
    match read::text(expression, "/operator") {
        Some("In") => is_listed,
        Some("NotIn") => !is_listed,
        Some("Exists") => value.is_some(),
        Some("DoesNotExist") => value.is_none(),
        _ => false,
    }
}
