//! Pure functions that truncate reports to the maximum sizes.

use drover_api::agent::NodeClass;
use drover_api::amounts::Amounts;
use drover_api::drift::Drift;
use drover_api::kinds::{CertificateExpiry, ComponentHealth, NodeAgentReport, NodeFacts};
use drover_api::report::{
    EventReport, MAX_NODE_FACTS, MAX_NOT_READY, MAX_TUNNEL_NODES, NodesReport, Refusal, Report,
    TunnelNode,
};

/// Maximum number of entries in a list or map.
const MAX_ENTRIES: usize = 64;
/// Maximum number of characters in a text.
const MAX_CHARS: usize = 256;
/// Maximum number of characters in an image name. The image of a Cluster may have 512 characters,
/// and the server compares this image with the running image.
const MAX_IMAGE_CHARS: usize = 1024;

/// Maximum number of entries in each list of facts about a node.
const MAX_FACTS: usize = 10;
/// Maximum number of characters in a digest.
const MAX_DIGEST_CHARS: usize = 64;

/// Truncates a report to the maximum sizes.
pub(super) fn bounded(mut line: Report) -> Report {
    let text = |text: String| truncate(&text, MAX_CHARS);
    if let Some(agent) = &mut line.agent {
        agent.image = truncate(&agent.image, MAX_IMAGE_CHARS);
    }
    Report {
        kubernetes_version: line.kubernetes_version.map(text),
        cluster_uid: line.cluster_uid.map(text),
        nodes: line.nodes.as_ref().map(nodes),
        tunnel_nodes: line.tunnel_nodes.map(|nodes| tunnel_nodes(&nodes)),
        node_facts: line.node_facts.map(node_facts),
        components: line.components.map(components),
        agent: line.agent,
        drift: drift(&line.drift),
        refusals: line
            .refusals
            .iter()
            .take(MAX_ENTRIES)
            .map(refusal)
            .collect(),
        events: line.events.iter().take(MAX_ENTRIES).map(event).collect(),
    }
}

/// Truncates a text, and removes control characters and line breaks.
fn truncate(text: &str, most: usize) -> String {
    text.chars()
        .filter(|character| !character.is_control())
        .take(most)
        .collect()
}

fn nodes(nodes: &NodesReport) -> NodesReport {
    NodesReport {
        count: nodes.count,
        not_ready: names(&nodes.not_ready),
        pods: nodes.pods,
        capacity: amounts(&nodes.capacity),
        allocatable: amounts(&nodes.allocatable),
        requests: amounts(&nodes.requests),
        usage: amounts(&nodes.usage),
    }
}

fn names(names: &[String]) -> Vec<String> {
    let bounded = names.iter().take(MAX_NOT_READY);
    bounded.map(|name| truncate(name, MAX_CHARS)).collect()
}

fn tunnel_nodes(nodes: &[TunnelNode]) -> Vec<TunnelNode> {
    let bounded = nodes.iter().take(NodeClass::ALL.len() * MAX_TUNNEL_NODES);
    let bounded = bounded.map(|node| TunnelNode {
        name: truncate(&node.name, MAX_CHARS),
        uid: truncate(&node.uid, MAX_CHARS),
        class: node.class,
    });
    bounded.collect()
}

fn node_facts(nodes: Vec<NodeFacts>) -> Vec<NodeFacts> {
    let text = |text: String| truncate(&text, MAX_CHARS);
    let bounded = nodes.into_iter().take(MAX_NODE_FACTS);
    let bounded = bounded.map(|node| NodeFacts {
        name: text(node.name),
        control_plane: node.control_plane,
        internal_ip: node.internal_ip.map(text),
        kubelet_version: text(node.kubelet_version),
        kernel_version: text(node.kernel_version),
        os_image: text(node.os_image),
        container_runtime: text(node.container_runtime),
        problems: short_list(&node.problems),
        node_agent: node.node_agent.map(node_agent),
    });
    bounded.collect()
}

fn node_agent(report: NodeAgentReport) -> NodeAgentReport {
    let text = |text: String| truncate(&text, MAX_CHARS);
    let certificates = report.certificates.into_iter().take(MAX_FACTS);
    NodeAgentReport {
        version: text(report.version),
        api_server: report.api_server,
        certificates: certificates
            .map(|certificate| CertificateExpiry {
                component: text(certificate.component),
                expires_at: certificate.expires_at,
            })
            .collect(),
        clock_offset_seconds: report.clock_offset_seconds,
        unreachable_api_servers: short_list(&report.unreachable_api_servers),
    }
}

fn short_list(texts: &[String]) -> Vec<String> {
    let bounded = texts.iter().take(MAX_FACTS);
    bounded.map(|text| truncate(text, MAX_CHARS)).collect()
}

fn amounts(amounts: &Amounts) -> Amounts {
    let bounded = amounts.iter().take(MAX_ENTRIES);
    bounded
        .map(|(name, amount)| (truncate(name, MAX_CHARS), truncate(amount, MAX_CHARS)))
        .collect()
}

fn drift(drift: &Drift) -> Drift {
    let bounded = drift.iter().take(MAX_ENTRIES);
    bounded
        .map(|(owner, digest)| {
            (
                truncate(owner, MAX_CHARS),
                truncate(digest, MAX_DIGEST_CHARS),
            )
        })
        .collect()
}

/// Truncates the list of components. Removes healthy components before failing components.
fn components(components: Vec<ComponentHealth>) -> Vec<ComponentHealth> {
    let failing = components
        .iter()
        .filter(|component| !component.healthy)
        .count();
    let mut healthy = MAX_ENTRIES.saturating_sub(failing);
    let chosen = components.into_iter().filter(|component| {
        let room = !component.healthy || healthy > 0;
        healthy = healthy.saturating_sub(usize::from(component.healthy));
        room
    });
    chosen
        .take(MAX_ENTRIES)
        .map(|component| ComponentHealth {
            name: truncate(&component.name, MAX_CHARS),
            healthy: component.healthy,
            message: component
                .message
                .map(|message| truncate(&message, MAX_CHARS)),
        })
        .collect()
}

fn refusal(refusal: &Refusal) -> Refusal {
    Refusal {
        lane: truncate(&refusal.lane, MAX_CHARS),
        reason: truncate(&refusal.reason, MAX_CHARS),
        message: truncate(&refusal.message, MAX_CHARS),
        count: refusal.count,
    }
}

fn event(event: &EventReport) -> EventReport {
    EventReport {
        regarding: truncate(&event.regarding, MAX_CHARS),
        reason: truncate(&event.reason, MAX_CHARS),
        message: truncate(&event.message, MAX_CHARS),
        last_seen: event.last_seen,
        count: event.count,
    }
}

#[cfg(test)]
mod tests {
    use drover_api::report::AgentReport;

    use super::*;

    #[test]
    fn oversized_agent_report_is_truncated_to_the_status_size_limit() {
        let text = |repeats| "\u{1b}[31mx\n".repeat(repeats);
        let long = || text(100_000);
        // A list multiplies the memory of its texts: 1,000 entries of 6 KB are 6 MB.
        let entry = || text(1000);
        let entries = || (0..1000).map(|n| (format!("{n}{}", entry()), entry()));
        let component = |healthy| ComponentHealth {
            name: entry(),
            healthy,
            message: Some(entry()),
        };
        let refusal = Refusal {
            lane: entry(),
            reason: entry(),
            message: entry(),
            count: 1,
        };
        let report = Report {
            kubernetes_version: Some(long()),
            nodes: Some(NodesReport {
                capacity: entries().collect(),
                not_ready: vec![entry(); 1000],
                ..NodesReport::default()
            }),
            components: Some(vec![component(true); 100]),
            agent: Some(AgentReport {
                image: long(),
                ..AgentReport::default()
            }),
            drift: entries().collect(),
            refusals: vec![refusal; 100],
            ..Report::default()
        };
        let bounded_status = serde_json::to_string(&bounded(report)).unwrap();
        assert!(bounded_status.len() < 150_000, "{}", bounded_status.len());
        assert!(!bounded_status.contains("\\u001b") && !bounded_status.contains("\\n"));
    }

    #[test]
    fn truncated_component_list_contains_all_failing_components() {
        let component = |name: String, healthy| ComponentHealth {
            name,
            healthy,
            message: None,
        };
        let mut all: Vec<_> = (0..1000).map(|n| component(n.to_string(), true)).collect();
        all.push(component("etcd".to_owned(), false));
        let bounded_status = components(all);
        assert_eq!(bounded_status.len(), MAX_ENTRIES);
        assert!(bounded_status.iter().any(|component| !component.healthy));
        assert_eq!(bounded_status[0].name, "0");
    }
}
