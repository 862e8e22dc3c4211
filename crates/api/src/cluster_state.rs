//! Describes the state of a cluster as text. The CLI and the web UI show the same text.

use jiff::{SignedDuration, Timestamp};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Condition;

use crate::conditions::{CLEANED_UP, CONNECTED, GITOPS_ONLY, READY, REGISTERED};
use crate::kinds::{ConnectionSwitch, NodeFacts};
use crate::rest::ClusterView;

/// Remaining validity below which a certificate is a problem.
const EXPIRES_SOON: SignedDuration = SignedDuration::from_hours(24 * 14);
/// Maximum number of node names in the text of a state.
const MAX_NAMED_NODES: usize = 3;

/// Advice to users for the cluster that runs Drover's hub.
pub const HOSTS_HUB: &str = "This cluster also runs Drover's hub. Keep the nodes of the hub and of \
    Drover's server separate from managed workloads, for example by a taint: a workload that \
    exhausts such a node, or breaks out of its container there, reaches all clusters.";

/// The health of a cluster. The variants are sorted by urgency, the most urgent variant first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Health {
    /// The cluster is connected, but a required condition is not met.
    Failing,
    /// The agent has no tunnel.
    Disconnected,
    /// The cluster is usable, but a node, a workload or a component fails.
    Degraded,
    /// The cluster's manifest has not been applied yet.
    Waiting,
    /// The cluster is being deleted.
    Deleting,
    /// All conditions are met.
    Ready,
}

impl Health {
    /// All variants, sorted by urgency, the most urgent variant first.
    pub const ALL: [Self; 6] = [
        Self::Failing,
        Self::Disconnected,
        Self::Degraded,
        Self::Waiting,
        Self::Deleting,
        Self::Ready,
    ];

    /// Returns the name of the variant in lower case, for headings.
    pub const fn label(self) -> &'static str {
        match self {
            Self::Failing => "failing",
            Self::Disconnected => "disconnected",
            Self::Degraded => "degraded",
            Self::Waiting => "waiting",
            Self::Deleting => "leaving",
            Self::Ready => "ready",
        }
    }
}

/// The state of a cluster, for display.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct State {
    /// The health. The CLI and the web UI select a colour by this value.
    pub health: Health,
    /// A short description, such as `agent not connected`.
    pub summary: String,
    /// A sentence with the reason and the next step, if users have to act.
    pub detail: Option<String>,
}

/// The time of the server's last contact with a cluster.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LastContact {
    /// The agent currently has a tunnel.
    Connected,
    /// The agent was connected at this time.
    At(Timestamp),
    /// The agent was never connected.
    Never,
}

/// Returns the condition of the type `kind`.
pub fn condition<'a>(cluster: &'a ClusterView, kind: &str) -> Option<&'a Condition> {
    cluster.conditions.iter().find(|c| c.type_ == kind)
}

fn is_true(cluster: &ClusterView, kind: &str) -> bool {
    condition(cluster, kind).is_some_and(|c| c.status == "True")
}

/// Returns the problems of a node in plain words: failed conditions, certificates that expire soon, a
/// wrong clock, and API servers without a connection.
pub fn node_problems(node: &NodeFacts, now: Timestamp) -> Vec<String> {
    let mut problems: Vec<String> = node.problems.iter().map(|kind| words(kind)).collect();
    let Some(agent) = &node.node_agent else {
        return problems;
    };
    for certificate in &agent.certificates {
        let left = certificate.expires_at.0.duration_since(now);
        let component = &certificate.component;
        if left.is_negative() {
            problems.push(format!("the certificate of {component} has expired"));
        } else if left < EXPIRES_SOON {
            let days = left.as_hours() / 24;
            problems.push(format!(
                "the certificate of {component} expires in {days} days"
            ));
        }
    }
    if let Some(seconds) = agent.clock_offset_seconds {
        let direction = if seconds > 0 { "ahead" } else { "behind" };
        problems.push(format!("the clock is {} s {direction}", seconds.abs()));
    }
    for address in &agent.unreachable_api_servers {
        problems.push(format!("no connection to the API server {address}"));
    }
    problems
}

/// Returns the last switch between the agent and node agents, which names the agent in use. `None` if
/// the cluster is not connected.
pub fn active_agent(cluster: &ClusterView) -> Option<&ConnectionSwitch> {
    let connection = cluster.connection.as_ref();
    let connection = connection.filter(|_| is_true(cluster, CONNECTED));
    connection?.switches.first()
}

fn message(condition: Option<&Condition>) -> Option<String> {
    condition
        .map(|c| c.message.clone())
        .filter(|text| !text.is_empty())
}

/// Derives the state of a cluster from its conditions and counts.
pub fn state(cluster: &ClusterView) -> State {
    let new = |health, summary: &str, detail| State {
        health,
        summary: summary.to_owned(),
        detail,
    };
    if cluster.deleting {
        let cleanup = message(condition(cluster, CLEANED_UP));
        return new(Health::Deleting, "being deleted", cleanup);
    }
    let ready = condition(cluster, READY);
    if !is_true(cluster, REGISTERED) {
        return new(
            Health::Waiting,
            "waiting for its manifest",
            message(ready.or_else(|| condition(cluster, REGISTERED))),
        );
    }
    let connected = condition(cluster, CONNECTED);
    if connected.is_some_and(|c| c.reason == GITOPS_ONLY) && is_true(cluster, READY) {
        return new(Health::Ready, "deploys bundles only", message(connected));
    }
    if connected.is_some_and(|c| c.status != "True") {
        return new(
            Health::Disconnected,
            "agent not connected",
            message(connected),
        );
    }
    if !is_true(cluster, READY) {
        let reason = ready.map(|c| words(&c.reason)).unwrap_or_default();
        let reason = if reason.is_empty() {
            "not ready"
        } else {
            &reason
        };
        return new(Health::Failing, reason, message(ready));
    }
    let problems = problems(cluster);
    if problems.is_empty() {
        return new(Health::Ready, "ready", None);
    }
    let advice = problems.iter().find_map(|(_, advice)| advice.clone());
    let words: Vec<&str> = problems.iter().map(|(words, _)| words.as_str()).collect();
    new(Health::Degraded, &words.join(", "), advice)
}

/// Returns the time of the server's last contact with a cluster.
pub fn last_contact(cluster: &ClusterView) -> LastContact {
    match cluster.last_seen {
        _ if is_true(cluster, CONNECTED) => LastContact::Connected,
        Some(at) => LastContact::At(at),
        None => LastContact::Never,
    }
}

/// Returns the problems of a usable cluster, each with a description and optional advice.
fn problems(cluster: &ClusterView) -> Vec<(String, Option<String>)> {
    let mut problems = Vec::new();
    if let Some(nodes) = nodes(cluster) {
        problems.push((nodes, None));
    }
    let pods = cluster.pods.unwrap_or_default();
    if pods.failing > 0 {
        let words = format!("{} failing", plural(pods.failing, "pod"));
        problems.push((words, None));
    }
    if pods.unschedulable > 0 {
        let words = format!("{} unschedulable", plural(pods.unschedulable, "pod"));
        problems.push((words, None));
    }
    if let Some(unhealthy) = cluster
        .components
        .iter()
        .find(|component| !component.healthy)
    {
        problems.push((
            format!("{} unhealthy", unhealthy.name),
            unhealthy.message.clone(),
        ));
    }
    problems
}

/// Describes the nodes that are not ready: `node a NotReady`. The reports of older agents contain
/// the number of these nodes, but not their names.
fn nodes(cluster: &ClusterView) -> Option<String> {
    let nodes = cluster.nodes.filter(|nodes| nodes.ready < nodes.total)?;
    let names = &cluster.not_ready_nodes;
    if names.is_empty() {
        return Some(format!("{} of {} nodes ready", nodes.ready, nodes.total));
    }
    let failed = usize::try_from(nodes.total - nodes.ready).unwrap_or(names.len());
    let shown = names.iter().take(MAX_NAMED_NODES).map(String::as_str);
    let shown = shown.collect::<Vec<_>>().join(", ");
    let word = if failed == 1 { "node" } else { "nodes" };
    Some(
        match failed.saturating_sub(names.len().min(MAX_NAMED_NODES)) {
            0 => format!("{word} {shown} NotReady"),
            more => format!("{word} {shown} and {more} more NotReady"),
        },
    )
}

fn plural(count: u32, singular: &str) -> String {
    match count {
        1 => format!("1 {singular}"),
        more => format!("{more} {singular}s"),
    }
}

/// Converts a reason to words: `AgentNotConnected` to `agent not connected`, and `APIServerReady`
/// to `API server ready`.
pub fn words(pascal: &str) -> String {
    let letters: Vec<char> = pascal.chars().collect();
    let mut text = String::new();
    for (index, letter) in letters.iter().enumerate() {
        let next_is_lower = letters.get(index + 1).is_some_and(|c| c.is_lowercase());
        let after_lower = index > 0 && letters[index - 1].is_lowercase();
        let starts = letter.is_uppercase() && (after_lower || next_is_lower);
        if starts && index > 0 {
            text.push(' ');
        }
        let acronym = letter.is_uppercase() && !next_is_lower && letters.len() > 1;
        if acronym {
            text.push(*letter);
        } else {
            text.extend(letter.to_lowercase());
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pascal_case_reason_converts_to_words() {
        for (reason, text) in [
            ("AgentNotConnected", "agent not connected"),
            ("APIServerReady", "API server ready"),
            ("Ready", "ready"),
            ("KeyIsBoundToURL", "key is bound to URL"),
            ("", ""),
        ] {
            assert_eq!(words(reason), text, "{reason}");
        }
    }
}
