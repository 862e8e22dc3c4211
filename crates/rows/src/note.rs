//! Notes about nodes in lists: problem conditions and taints.

use serde::{Deserialize, Serialize};

use crate::severity::Severity;
use crate::usage::{Amounts, Quantities};

/// A note about an object that its cells do not show.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Note {
    /// A condition of a node that reports a problem.
    Condition(NodeCondition),
    /// A taint of a node.
    Taint(Taint),
}

/// A condition of a node.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct NodeCondition {
    /// The type of the condition, such as `MemoryPressure`.
    pub r#type: String,
    /// The status: `True`, `False` or `Unknown`.
    pub status: String,
    /// The message of the kubelet.
    #[serde(default)]
    pub message: Option<String>,
}

/// A taint of a node.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Taint {
    /// The key of the taint.
    pub key: String,
    /// The value of the taint.
    #[serde(default)]
    pub value: Option<String>,
    /// The effect: `NoSchedule`, `PreferNoSchedule` or `NoExecute`.
    pub effect: String,
}

/// The fields of a Node's `spec` that a row needs.
#[derive(Debug, Default, Deserialize)]
pub(crate) struct NodeSpec {
    #[serde(default)]
    taints: Option<Vec<Taint>>,
}

/// The fields of a Node's `status` that a row needs.
#[derive(Debug, Default, Deserialize)]
pub(crate) struct NodeStatus {
    #[serde(default)]
    conditions: Option<Vec<NodeCondition>>,
    #[serde(default)]
    allocatable: Option<Quantities>,
}

impl NodeStatus {
    /// Returns the amounts that pods can request.
    pub(crate) fn allocatable(&self) -> Amounts {
        let allocatable = self.allocatable.as_ref();
        allocatable.map(Quantities::amounts).unwrap_or_default()
    }
}

impl Note {
    /// Returns the severity of the note.
    pub fn severity(&self) -> Severity {
        match self {
            Self::Condition(condition) if condition.r#type == "Ready" => Severity::Failing,
            Self::Condition(_) => Severity::Degraded,
            Self::Taint(_) => Severity::Idle,
        }
    }

    /// Returns the texts that a filter can match.
    pub(crate) fn texts(&self) -> [&str; 2] {
        match self {
            Self::Condition(condition) => [&condition.r#type, ""],
            Self::Taint(taint) => [&taint.key, taint.value.as_deref().unwrap_or_default()],
        }
    }

    /// Returns the allocated memory in bytes.
    pub(crate) fn bytes(&self) -> usize {
        let message = match self {
            Self::Condition(condition) => condition.message.as_ref().map_or(0, String::len),
            Self::Taint(taint) => taint.effect.len(),
        };
        size_of::<Self>() + message + self.texts().iter().map(|text| text.len()).sum::<usize>()
    }
}

/// Returns the notes of a node: problem conditions and taints.
pub(crate) fn notes(spec: Option<NodeSpec>, status: Option<NodeStatus>) -> Vec<Note> {
    let conditions = status.and_then(|status| status.conditions);
    let taints = spec.and_then(|spec| spec.taints);
    let conditions = conditions.unwrap_or_default().into_iter();
    let taints = taints.unwrap_or_default().into_iter();
    let conditions = conditions.filter(is_problem).map(Note::Condition);
    conditions
        .chain(taints.filter(is_informative).map(Note::Taint))
        .collect()
}

/// Reports whether a condition is a problem. All conditions except `Ready` report problems with
/// the status `True`.
fn is_problem(condition: &NodeCondition) -> bool {
    (condition.r#type == "Ready") != (condition.status == "True")
}

/// Reports whether a taint is not visible elsewhere. The status column shows the first taints, and
/// the conditions show resource pressure.
fn is_informative(taint: &Taint) -> bool {
    let shown = [
        "node.kubernetes.io/unschedulable",
        "node.kubernetes.io/not-ready",
        "node.kubernetes.io/unreachable",
    ];
    !shown.contains(&taint.key.as_str()) && !taint.key.ends_with("-pressure")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn node_notes_list_problem_conditions_and_taints() {
        let spec = r#"{"unschedulable":true,"taints":[
            {"key":"node.kubernetes.io/unschedulable","effect":"NoSchedule"},
            {"key":"node.kubernetes.io/memory-pressure","effect":"NoSchedule"},
            {"key":"gpu","value":"a100","effect":"NoExecute"}]}"#;
        let status = r#"{"conditions":[
            {"type":"MemoryPressure","status":"True","message":"little is left"},
            {"type":"DiskPressure","status":"False"},
            {"type":"Ready","status":"Unknown"}]}"#;
        let spec = serde_json::from_str(spec).unwrap();
        let status = serde_json::from_str(status).unwrap();
        let found = notes(Some(spec), Some(status));
        let found: Vec<_> = found.iter().map(|it| (it.severity(), it.texts())).collect();
        assert_eq!(
            found,
            [
                (Severity::Degraded, ["MemoryPressure", ""]),
                (Severity::Failing, ["Ready", ""]),
                (Severity::Idle, ["gpu", "a100"]),
            ]
        );
    }

    #[test]
    fn node_without_spec_and_status_has_no_notes() {
        assert_eq!(notes(None, None), []);
        assert_eq!(notes(Some(NodeSpec::default()), None), []);
    }
}
