//! A cluster's state in words: the same for the command line and the browser. Pure.

use jiff::Timestamp;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Condition;

use crate::conditions::{CLEANED_UP, CONNECTED, READY, REGISTERED};
use crate::rest::ClusterView;

/// Nodes that the state names; of more it says how many.
const NAMED: usize = 3;

/// What to do about a cluster in which Drover's hub runs.
pub const HOSTS_HUB: &str = "This cluster also runs Drover's hub. Keep the nodes of the hub and of \
    Drover's server separate from managed workloads, for example by a taint: a workload that \
    exhausts such a node, or breaks out of its container there, reaches all clusters.";

/// How a cluster is; the order is that in which people should look.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Health {
    /// It is connected, and something that must be true is not.
    Failing,
    /// Its agent holds no tunnel.
    Disconnected,
    /// It can be used, but a node, a workload or a component fails.
    Degraded,
    /// Nobody has applied its manifest yet.
    Waiting,
    /// It is being deleted.
    Leaving,
    /// Everything is as it should be.
    Ready,
}

impl Health {
    /// All of them, worst first.
    pub const ALL: [Self; 6] = [
        Self::Failing,
        Self::Disconnected,
        Self::Degraded,
        Self::Waiting,
        Self::Leaving,
        Self::Ready,
    ];

    /// One or two words for a heading.
    pub const fn word(self) -> &'static str {
        match self {
            Self::Failing => "failing",
            Self::Disconnected => "disconnected",
            Self::Degraded => "degraded",
            Self::Waiting => "waiting",
            Self::Leaving => "leaving",
            Self::Ready => "ready",
        }
    }
}

/// A cluster's state.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct State {
    /// How it is.
    pub health: Health,
    /// A few words.
    pub words: String,
    /// A sentence that says why and what to do, if there is something to do.
    pub why: Option<String>,
}

/// When the server last heard of a cluster.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Seen {
    /// Its agent is connected, so the server hears of it now.
    Connected,
    /// Its agent was connected at this time.
    At(Timestamp),
    /// Its agent was never connected.
    Never,
}

/// The condition of this type.
pub fn condition<'a>(cluster: &'a ClusterView, kind: &str) -> Option<&'a Condition> {
    cluster.conditions.iter().find(|c| c.type_ == kind)
}

fn holds(cluster: &ClusterView, kind: &str) -> bool {
    condition(cluster, kind).is_some_and(|c| c.status == "True")
}

fn message(condition: Option<&Condition>) -> Option<String> {
    condition
        .map(|c| c.message.clone())
        .filter(|text| !text.is_empty())
}

/// The state of a cluster.
pub fn state(cluster: &ClusterView) -> State {
    let told = |health, words: &str, why| State {
        health,
        words: words.to_owned(),
        why,
    };
    if cluster.deleting {
        let cleaning = message(condition(cluster, CLEANED_UP));
        return told(Health::Leaving, "being deleted", cleaning);
    }
    let ready = condition(cluster, READY);
    if !holds(cluster, REGISTERED) {
        return told(
            Health::Waiting,
            "waiting for its manifest",
            message(ready.or_else(|| condition(cluster, REGISTERED))),
        );
    }
    let connected = condition(cluster, CONNECTED);
    if connected.is_some_and(|c| c.status != "True") {
        return told(
            Health::Disconnected,
            "agent not connected",
            message(connected),
        );
    }
    if !holds(cluster, READY) {
        let reason = ready.map(|c| words(&c.reason)).unwrap_or_default();
        let reason = if reason.is_empty() {
            "not ready"
        } else {
            &reason
        };
        return told(Health::Failing, reason, message(ready));
    }
    let complaints = complaints(cluster);
    if complaints.is_empty() {
        return told(Health::Ready, "ready", None);
    }
    let why = complaints.iter().find_map(|(_, why)| why.clone());
    let words: Vec<&str> = complaints.iter().map(|(words, _)| words.as_str()).collect();
    told(Health::Degraded, &words.join(", "), why)
}

/// When the server last heard of a cluster.
pub fn seen(cluster: &ClusterView) -> Seen {
    match cluster.last_seen {
        _ if holds(cluster, CONNECTED) => Seen::Connected,
        Some(at) => Seen::At(at),
        None => Seen::Never,
    }
}

/// What fails in a cluster that can be used, with what to do about it.
fn complaints(cluster: &ClusterView) -> Vec<(String, Option<String>)> {
    let mut complaints = Vec::new();
    if let Some(nodes) = nodes(cluster) {
        complaints.push((nodes, None));
    }
    let pods = cluster.pods.unwrap_or_default();
    if pods.failing > 0 {
        let words = format!("{} failing", many(pods.failing, "pod"));
        complaints.push((words, None));
    }
    if pods.unschedulable > 0 {
        let words = format!("{} unschedulable", many(pods.unschedulable, "pod"));
        complaints.push((words, None));
    }
    if let Some(sick) = cluster.components.iter().find(|part| !part.healthy) {
        complaints.push((format!("{} unhealthy", sick.name), sick.message.clone()));
    }
    complaints
}

/// `node a NotReady`; older agents report how many nodes are ready, and no names.
fn nodes(cluster: &ClusterView) -> Option<String> {
    let nodes = cluster.nodes.filter(|nodes| nodes.ready < nodes.total)?;
    let names = &cluster.not_ready_nodes;
    if names.is_empty() {
        return Some(format!("{} of {} nodes ready", nodes.ready, nodes.total));
    }
    let failed = usize::try_from(nodes.total - nodes.ready).unwrap_or(names.len());
    let shown = names.iter().take(NAMED).map(String::as_str);
    let shown = shown.collect::<Vec<_>>().join(", ");
    let word = if failed == 1 { "node" } else { "nodes" };
    Some(match failed.saturating_sub(names.len().min(NAMED)) {
        0 => format!("{word} {shown} NotReady"),
        more => format!("{word} {shown} and {more} more NotReady"),
    })
}

fn many(count: u32, one: &str) -> String {
    match count {
        1 => format!("1 {one}"),
        more => format!("{more} {one}s"),
    }
}

/// `AgentNotConnected` as `agent not connected`, `APIServerReady` as `API server ready`.
pub fn words(pascal: &str) -> String {
    let letters: Vec<char> = pascal.chars().collect();
    let mut text = String::new();
    for (place, letter) in letters.iter().enumerate() {
        let next_is_lower = letters.get(place + 1).is_some_and(|c| c.is_lowercase());
        let after_lower = place > 0 && letters[place - 1].is_lowercase();
        let starts = letter.is_uppercase() && (after_lower || next_is_lower);
        if starts && place > 0 {
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
    fn reasons_become_words() {
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
