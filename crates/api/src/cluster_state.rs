//! Describes the state of a cluster as text. The CLI and the English web UI show the same text.

use std::fmt;

use jiff::{SignedDuration, Timestamp};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Condition;

use crate::conditions::{CLEANED_UP, CONNECTED, GITOPS_ONLY, READY, REGISTERED};
use crate::kinds::{ComponentHealth, ConnectionSwitch, NodeFacts};
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

/// A problem of a node.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum NodeProblem {
    /// A failed condition of the node, in words.
    Condition(String),
    /// The certificate of this component has expired.
    CertificateExpired(String),
    /// A certificate expires soon.
    CertificateExpires {
        /// The component that uses the certificate.
        component: String,
        /// The remaining validity in full days.
        days: i64,
    },
    /// The clock of the node is this number of seconds ahead (positive) or behind (negative).
    Clock(i64),
    /// The node has no connection to the API server with this address.
    UnreachableApiServer(String),
}

impl fmt::Display for NodeProblem {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Condition(words) => formatter.write_str(words),
            Self::CertificateExpired(component) => {
                write!(formatter, "the certificate of {component} has expired")
            }
            Self::CertificateExpires { component, days } => write!(
                formatter,
                "the certificate of {component} expires in {days} days"
            ),
            Self::Clock(seconds) => {
                let direction = if *seconds > 0 { "ahead" } else { "behind" };
                write!(formatter, "the clock is {} s {direction}", seconds.abs())
            }
            Self::UnreachableApiServer(address) => {
                write!(formatter, "no connection to the API server {address}")
            }
        }
    }
}

/// Returns the problems of a node: failed conditions, certificates that expire soon, a wrong clock,
/// and API servers without a connection.
pub fn problems_of_node(node: &NodeFacts, now: Timestamp) -> Vec<NodeProblem> {
    let conditions = node.problems.iter();
    let mut problems: Vec<_> = conditions
        .map(|kind| NodeProblem::Condition(words(kind)))
        .collect();
    let Some(agent) = &node.node_agent else {
        return problems;
    };
    for certificate in &agent.certificates {
        let left = certificate.expires_at.0.duration_since(now);
        let component = certificate.component.clone();
        if left.is_negative() {
            problems.push(NodeProblem::CertificateExpired(component));
        } else if left < EXPIRES_SOON {
            let days = left.as_hours() / 24;
            problems.push(NodeProblem::CertificateExpires { component, days });
        }
    }
    problems.extend(agent.clock_offset_seconds.map(NodeProblem::Clock));
    let unreachable = agent.unreachable_api_servers.iter().cloned();
    problems.extend(unreachable.map(NodeProblem::UnreachableApiServer));
    problems
}

/// Returns the problems of a node in English.
pub fn node_problems(node: &NodeFacts, now: Timestamp) -> Vec<String> {
    let problems = problems_of_node(node, now).into_iter();
    problems.map(|problem| problem.to_string()).collect()
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

/// A short description of a cluster's state. The web UI translates the description.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Summary {
    /// The cluster is being deleted.
    Deleting,
    /// The cluster's manifest has not been applied.
    WaitingForManifest,
    /// The agent opens no tunnel, and deploys bundles.
    BundlesOnly,
    /// The agent has no tunnel.
    AgentNotConnected,
    /// The condition `Ready` is false for this reason, in words.
    Reason(String),
    /// The condition `Ready` is false without a reason.
    NotReady,
    /// All conditions are met.
    Ready,
    /// The cluster is usable, but has these problems.
    Problems(Vec<ClusterProblem>),
}

impl fmt::Display for Summary {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(match self {
            Self::Deleting => "being deleted",
            Self::WaitingForManifest => "waiting for its manifest",
            Self::BundlesOnly => "deploys bundles only",
            Self::AgentNotConnected => "agent not connected",
            Self::Reason(words) => words,
            Self::NotReady => "not ready",
            Self::Ready => "ready",
            Self::Problems(problems) => {
                let words: Vec<String> = problems.iter().map(ToString::to_string).collect();
                return formatter.write_str(&words.join(", "));
            }
        })
    }
}

/// A problem of a usable cluster.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ClusterProblem {
    /// Nodes are not ready, and the agent does not report their names.
    Nodes {
        /// The number of ready nodes.
        ready: u32,
        /// The number of nodes.
        total: u32,
    },
    /// Nodes are not ready.
    NamedNodes {
        /// The names of the first of these nodes.
        names: Vec<String>,
        /// The number of further nodes.
        more: usize,
    },
    /// This number of pods fails.
    FailingPods(u32),
    /// This number of pods cannot be scheduled.
    UnschedulablePods(u32),
    /// The component with this name is unhealthy.
    Unhealthy(String),
}

impl fmt::Display for ClusterProblem {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Nodes { ready, total } => write!(formatter, "{ready} of {total} nodes ready"),
            Self::NamedNodes { names, more } => {
                let word = if names.len() + more == 1 {
                    "node"
                } else {
                    "nodes"
                };
                let shown = names.join(", ");
                match more {
                    0 => write!(formatter, "{word} {shown} NotReady"),
                    more => write!(formatter, "{word} {shown} and {more} more NotReady"),
                }
            }
            Self::FailingPods(count) => write!(formatter, "{} failing", plural(*count, "pod")),
            Self::UnschedulablePods(count) => {
                write!(formatter, "{} unschedulable", plural(*count, "pod"))
            }
            Self::Unhealthy(name) => write!(formatter, "{name} unhealthy"),
        }
    }
}

/// Derives the state of a cluster from its conditions and counts.
pub fn state(cluster: &ClusterView) -> State {
    let (health, summary, detail) = describe(cluster);
    State {
        health,
        summary: summary.to_string(),
        detail,
    }
}

/// Derives the health of a cluster, a short description, and a sentence with the reason and the next
/// step from the server.
pub fn describe(cluster: &ClusterView) -> (Health, Summary, Option<String>) {
    if cluster.deleting {
        let cleanup = message(condition(cluster, CLEANED_UP));
        return (Health::Deleting, Summary::Deleting, cleanup);
    }
    let ready = condition(cluster, READY);
    if !is_true(cluster, REGISTERED) {
        let detail = message(ready.or_else(|| condition(cluster, REGISTERED)));
        return (Health::Waiting, Summary::WaitingForManifest, detail);
    }
    let connected = condition(cluster, CONNECTED);
    if connected.is_some_and(|c| c.reason == GITOPS_ONLY) && is_true(cluster, READY) {
        return (Health::Ready, Summary::BundlesOnly, message(connected));
    }
    if connected.is_some_and(|c| c.status != "True") {
        let detail = message(connected);
        return (Health::Disconnected, Summary::AgentNotConnected, detail);
    }
    if !is_true(cluster, READY) {
        let reason = ready.map(|c| words(&c.reason)).unwrap_or_default();
        let summary = match reason.as_str() {
            "" => Summary::NotReady,
            _ => Summary::Reason(reason),
        };
        return (Health::Failing, summary, message(ready));
    }
    let problems = problems(cluster);
    if problems.is_empty() {
        return (Health::Ready, Summary::Ready, None);
    }
    let advice = unhealthy(cluster).and_then(|component| component.message.clone());
    (Health::Degraded, Summary::Problems(problems), advice)
}

/// Returns the time of the server's last contact with a cluster.
pub fn last_contact(cluster: &ClusterView) -> LastContact {
    match cluster.last_seen {
        _ if is_true(cluster, CONNECTED) => LastContact::Connected,
        Some(at) => LastContact::At(at),
        None => LastContact::Never,
    }
}

/// Returns the problems of a usable cluster.
fn problems(cluster: &ClusterView) -> Vec<ClusterProblem> {
    let mut problems = Vec::new();
    problems.extend(nodes(cluster));
    let pods = cluster.pods.unwrap_or_default();
    if pods.failing > 0 {
        problems.push(ClusterProblem::FailingPods(pods.failing));
    }
    if pods.unschedulable > 0 {
        problems.push(ClusterProblem::UnschedulablePods(pods.unschedulable));
    }
    problems.extend(unhealthy(cluster).map(|it| ClusterProblem::Unhealthy(it.name.clone())));
    problems
}

/// Returns the first unhealthy component.
fn unhealthy(cluster: &ClusterView) -> Option<&ComponentHealth> {
    let mut components = cluster.components.iter();
    components.find(|component| !component.healthy)
}

/// Returns the nodes that are not ready. The reports of older agents contain the number of these
/// nodes, but not their names.
fn nodes(cluster: &ClusterView) -> Option<ClusterProblem> {
    let nodes = cluster.nodes.filter(|nodes| nodes.ready < nodes.total)?;
    let names = &cluster.not_ready_nodes;
    if names.is_empty() {
        let (ready, total) = (nodes.ready, nodes.total);
        return Some(ClusterProblem::Nodes { ready, total });
    }
    let failed = usize::try_from(nodes.total - nodes.ready).unwrap_or(names.len());
    let names: Vec<String> = names.iter().take(MAX_NAMED_NODES).cloned().collect();
    let more = failed.saturating_sub(names.len());
    Some(ClusterProblem::NamedNodes { names, more })
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
