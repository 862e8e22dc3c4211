//! Facts about nodes: the values of the Node object, and the report of the node agent in a ConfigMap.

use std::collections::BTreeMap;

use drover_api::group::NODE_REPORT_ENTRY;
use drover_api::kinds::{NodeAgentReport, NodeFacts};
use drover_api::report::MAX_NODE_FACTS;
use k8s_openapi::api::core::v1::ConfigMap;

use crate::sums::{ObservedNode, Tally};

/// Maximum size of a node agent's report in bytes. A node agent writes less than 1 KiB.
const MAX_REPORT: usize = 8 * 1024;

/// Returns the name of the node and the report. A report that is too long
/// or that cannot be parsed counts as absent.
pub(crate) fn parse(map: ConfigMap) -> Option<(String, NodeAgentReport)> {
    let text = map
        .data
        .as_ref()
        .and_then(|data| data.get(NODE_REPORT_ENTRY));
    let text = text.filter(|text| text.len() <= MAX_REPORT);
    let report = serde_json::from_str(text?).ok()?;
    Some((map.metadata.name.unwrap_or_default(), report))
}

/// Conditions of nodes that show a problem while they are true: those of the kubelet and of the node
/// problem detector. Distributions set other conditions to true on healthy nodes, for example
/// `EtcdIsVoter` and `NetworkingReady`.
const PROBLEMS: [&str; 9] = [
    "MemoryPressure",
    "DiskPressure",
    "PIDPressure",
    "NetworkUnavailable",
    "KernelDeadlock",
    "ReadonlyFilesystem",
    "CorruptDockerOverlay2",
    "FrequentKubeletRestart",
    "FrequentContainerdRestart",
];

/// Reports whether a condition of a node shows a problem. The caller reports the condition `Ready`.
pub(crate) fn is_problem(kind: &str, status: &str) -> bool {
    let is_true = status == "True" && PROBLEMS.contains(&kind);
    is_true || status == "False" && kind != "Ready" && kind.ends_with("Ready")
}

/// Returns the section of a report with the facts about nodes: control-plane nodes first, then nodes
/// with problems, then all others by name. Returns `None` until the first list of nodes is complete.
pub(crate) fn report(
    nodes: &Tally<ObservedNode>,
    node_agents: &Tally<(String, NodeAgentReport)>,
) -> Option<Vec<NodeFacts>> {
    if !nodes.complete() {
        return None;
    }
    let mut chosen: Vec<&NodeFacts> = nodes.iter().map(|(_, node)| &node.facts).collect();
    chosen.sort_unstable_by_key(|node| (!node.control_plane, node.problems.is_empty(), &node.name));
    chosen.truncate(MAX_NODE_FACTS);
    let reports: BTreeMap<&str, &NodeAgentReport> = node_agents
        .iter()
        .map(|(_, (name, report))| (name.as_str(), report))
        .collect();
    let facts = chosen.into_iter().map(|node| NodeFacts {
        node_agent: reports
            .get(node.name.as_str())
            .map(|&report| report.clone()),
        ..node.clone()
    });
    Some(facts.collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tally<T>(values: impl IntoIterator<Item = T>) -> Tally<T> {
        let mut tally = Tally::default();
        tally.begin();
        for (n, value) in values.into_iter().enumerate() {
            tally.listed(n.to_string(), value);
        }
        tally.finish();
        tally
    }

    fn node(name: &str, control_plane: bool, problem: &str) -> ObservedNode {
        ObservedNode {
            facts: NodeFacts {
                name: name.to_owned(),
                control_plane,
                problems: problem.split_whitespace().map(str::to_owned).collect(),
                ..NodeFacts::default()
            },
            ..ObservedNode::default()
        }
    }

    #[test]
    fn only_known_conditions_of_nodes_are_problems() {
        for (kind, status, expected) in [
            ("DiskPressure", "True", true),
            ("DiskPressure", "False", false),
            ("DiskPressure", "Unknown", false),
            ("EtcdIsVoter", "True", false),
            ("NetworkingReady", "True", false),
            ("NetworkingReady", "False", true),
            ("Ready", "False", false),
        ] {
            assert_eq!(is_problem(kind, status), expected, "{kind} {status}");
        }
    }

    #[test]
    fn facts_begin_with_control_plane_nodes_and_nodes_with_problems() {
        let many = (0..100).map(|n| node(&format!("w{n:03}"), false, ""));
        let special = [node("w999", false, "DiskPressure"), node("cp", true, "")];
        let agents = tally([(
            "cp".to_owned(),
            NodeAgentReport {
                version: "1".to_owned(),
                ..NodeAgentReport::default()
            },
        )]);
        assert_eq!(report(&Tally::default(), &agents), None);
        let facts = report(&tally(many.chain(special)), &agents).unwrap();
        let names: Vec<&str> = facts.iter().map(|node| node.name.as_str()).collect();
        assert_eq!(names[..3], ["cp", "w999", "w000"]);
        assert_eq!(facts.len(), MAX_NODE_FACTS);
        assert_eq!(facts[0].node_agent.as_ref().unwrap().version, "1");
        assert_eq!(facts[1].node_agent, None);
    }
}
