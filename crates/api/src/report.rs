//! What an agent reports about its cluster: newline-delimited JSON on the report lane.
//!
//! In protocol 1 every line holds every section; in protocol 2 only those that changed, and an
//! empty line's worth (`{}`) is a heartbeat.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::drift::Drift;
use crate::kinds::{ComponentHealth, NodeCount, PodCount};

/// Names of nodes in a report.
pub const MAX_NOT_READY: usize = 20;

/// One line of the report stream; a missing section has not changed.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Report {
    /// `gitVersion` of the API server.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kubernetes_version: Option<String>,
    /// UID of the namespace kube-system, which tells this cluster from others.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cluster_uid: Option<String>,
    /// Nodes and what they offer and use.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub nodes: Option<NodesReport>,
    /// Health of the API server and of what it names in `/readyz`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub components: Option<Vec<ComponentHealth>>,
    /// Image of the agent's Deployment and how its roll-out stands.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agent: Option<AgentReport>,
    /// Digests of the applied objects, by owner; an owner without a digest has not changed.
    #[serde(flatten)]
    pub drift: Drift,
    /// Requests that the agent refused since the last line, and why.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub refusals: Vec<Refusal>,
    /// Warning events seen since the last line, at most 100 a line.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub events: Vec<EventReport>,
}

/// Nodes and what they offer and use; quantities by resource name.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct NodesReport {
    /// How many there are.
    pub count: NodeCount,
    /// Names of nodes whose Ready condition is not true, at most [`MAX_NOT_READY`].
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub not_ready: Vec<String>,
    /// How many pods do not work; older agents do not count them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pods: Option<PodCount>,
    /// Sum over nodes.
    pub capacity: BTreeMap<String, String>,
    /// Sum over nodes.
    pub allocatable: BTreeMap<String, String>,
    /// Sum over pods that have a node and are not finished; `pods` is how many they are.
    pub requests: BTreeMap<String, String>,
    /// Sum over nodes, from metrics.k8s.io; empty where it is not served.
    pub usage: BTreeMap<String, String>,
}

/// How the agent's own Deployment stands.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct AgentReport {
    /// Image in the Deployment's pod template.
    pub image: String,
    /// Replicas that run that template and are available.
    pub updated_available: u32,
    /// Replicas wanted.
    pub wanted: u32,
}

/// A request that the agent refused.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Refusal {
    /// The lane's name as the request gave it.
    pub lane: String,
    /// PascalCase cause.
    pub reason: String,
    /// A sentence; never a header's value that could be a secret.
    pub message: String,
    /// How many of the same since the last line.
    pub count: u32,
}

/// A warning event of the cluster.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct EventReport {
    /// `Kind namespace/name`.
    pub regarding: String,
    /// PascalCase cause.
    pub reason: String,
    /// What happened.
    pub message: String,
    /// When, RFC 3339.
    pub last_seen: jiff::Timestamp,
    /// How often.
    pub count: u32,
}
