//! Notes about nodes in lists: problem conditions and taints.

use serde::Deserialize;

use crate::messages::t;
use crate::row::Note;
use crate::severity::Severity;

/// The fields of a Node's `spec` that a row needs.
#[derive(Debug, Default, Deserialize)]
pub struct NodeSpec {
    #[serde(default)]
    taints: Option<Vec<Taint>>,
}

#[derive(Debug, Deserialize)]
struct Taint {
    key: String,
    #[serde(default)]
    value: Option<String>,
    effect: String,
}

/// The fields of a Node's `status` that a row needs.
#[derive(Debug, Default, Deserialize)]
pub struct NodeStatus {
    #[serde(default)]
    conditions: Option<Vec<NodeCondition>>,
}

#[derive(Debug, Deserialize)]
struct NodeCondition {
    r#type: String,
    status: String,
    #[serde(default)]
    message: Option<String>,
}

/// Returns the notes of a node: problem conditions and taints.
pub fn notes(spec: Option<&NodeSpec>, status: Option<&NodeStatus>) -> Vec<Note> {
    let conditions = status.and_then(|status| status.conditions.as_deref());
    let taints = spec.and_then(|spec| spec.taints.as_deref());
    let conditions = conditions.unwrap_or_default().iter().filter_map(condition);
    let taints = taints.unwrap_or_default().iter().filter_map(taint);
    conditions.chain(taints).collect()
}

fn condition(condition: &NodeCondition) -> Option<Note> {
    let message = condition.message.clone().unwrap_or_default();
    let (severity, words) = match (condition.r#type.as_str(), condition.status.as_str()) {
        ("Ready", "True") => return None,
        ("Ready", "False") => (
            Severity::Failing,
            t().workloads.kubelet_not_ready().to_owned(),
        ),
        ("Ready", _) => (Severity::Failing, t().workloads.kubelet_silent().to_owned()),
        // All other node conditions report problems.
        (kind, "True") => (Severity::Degraded, kind.to_owned()),
        _ => return None,
    };
    Some(Note {
        severity,
        words,
        hint: message,
    })
}

fn taint(taint: &Taint) -> Option<Note> {
    // The status column already shows these taints.
    let parts = [
        "node.kubernetes.io/unschedulable",
        "node.kubernetes.io/not-ready",
        "node.kubernetes.io/unreachable",
    ];
    // The conditions already show resource pressure.
    if parts.contains(&taint.key.as_str()) || taint.key.ends_with("-pressure") {
        return None;
    }
    let name = taint.key.rsplit('/').next().unwrap_or_default();
    let name = match taint.value.as_deref().filter(|value| !value.is_empty()) {
        Some(value) => format!("{name}={value}"),
        None => name.to_owned(),
    };
    let effect = match taint.effect.as_str() {
        "NoSchedule" => t().workloads.no_schedule(),
        "PreferNoSchedule" => t().workloads.prefer_no_schedule(),
        "NoExecute" => t().workloads.no_execute(),
        other => other,
    };
    Some(Note {
        severity: Severity::Idle,
        words: format!("{name}: {effect}"),
        hint: t().workloads.taint(&taint.key, &taint.effect),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn node_notes_list_problem_conditions_and_taints() {
        let spec = r#"{"unschedulable":true,"taints":[
            {"key":"node.kubernetes.io/unschedulable","effect":"NoSchedule"},
            {"key":"node.kubernetes.io/memory-pressure","effect":"NoSchedule"},
            {"key":"node-role.kubernetes.io/control-plane","effect":"NoSchedule"},
            {"key":"gpu","value":"a100","effect":"NoExecute"}]}"#;
        let status = r#"{"conditions":[
            {"type":"MemoryPressure","status":"True","message":"little is left"},
            {"type":"DiskPressure","status":"False"},
            {"type":"Ready","status":"Unknown","message":"Kubelet stopped posting node status."}]}"#;
        let spec = serde_json::from_str(spec).unwrap();
        let status = serde_json::from_str(status).unwrap();
        let reported = notes(Some(&spec), Some(&status));
        let hint = reported[0].hint.clone();
        let reported: Vec<_> = reported
            .iter()
            .map(|it| (it.severity, &*it.words))
            .collect();
        assert_eq!(
            reported,
            [
                (Severity::Degraded, "MemoryPressure"),
                (Severity::Failing, "kubelet does not report"),
                (Severity::Idle, "control-plane: no new pods"),
                (Severity::Idle, "gpu=a100: evicts pods"),
            ]
        );
        assert_eq!(hint, "little is left");
    }

    #[test]
    fn node_without_spec_and_status_has_no_notes() {
        assert_eq!(notes(None, None), []);
        let bare = serde_json::from_str("{}").unwrap();
        assert_eq!(notes(Some(&bare), None), []);
    }
}
