//! Reports of an agent about its cluster, as newline-delimited JSON on the report lane.
//!
//! In protocol 1, every line contains all sections. In protocol 2, a line contains only the changed
//! sections. The line `{}` is a heartbeat.

use serde::{Deserialize, Serialize};

use crate::agent::NodeClass;
use crate::amounts::Amounts;
use crate::drift::Drift;
use crate::kinds::{ComponentHealth, NodeCount, NodeFacts, PodCount};

/// Maximum number of node names in a report.
pub const MAX_NOT_READY: usize = 20;
/// Maximum number of nodes with facts in a report.
pub const MAX_NODE_FACTS: usize = 20;
/// Maximum number of nodes of one class in [`Report::tunnel_nodes`].
pub const MAX_TUNNEL_NODES: usize = 3;

/// One line of the report stream. An absent section has not changed since the previous line.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Report {
    /// `gitVersion` of the API server.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kubernetes_version: Option<String>,
    /// UID of the namespace kube-system, which identifies the cluster.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cluster_uid: Option<String>,
    /// Counts, capacity and usage of nodes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub nodes: Option<NodesReport>,
    /// The nodes that are candidates for tunnels of node agents, best first, at most
    /// [`MAX_TUNNEL_NODES`] of each class. Absent in the reports of older agents.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tunnel_nodes: Option<Vec<TunnelNode>>,
    /// Facts about nodes: control-plane nodes first, then nodes with problems, at most
    /// [`MAX_NODE_FACTS`]. Absent in the reports of older agents.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub node_facts: Option<Vec<NodeFacts>>,
    /// Health of the API server and of the checks in `/readyz`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub components: Option<Vec<ComponentHealth>>,
    /// Image and rollout of the agent's Deployment.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agent: Option<AgentReport>,
    /// Digests of the applied objects, per owner. If the digest of an owner is absent, the owner's
    /// objects have not changed.
    #[serde(flatten)]
    pub drift: Drift,
    /// Requests that the agent refused since the previous line of the report stream.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub refusals: Vec<Refusal>,
    /// Warning events since the previous line of the report stream, at most 100 per line.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub events: Vec<EventReport>,
}

/// Counts of nodes and pods, and quantities by resource name.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct NodesReport {
    /// Numbers of all nodes and of ready nodes.
    pub count: NodeCount,
    /// Names of nodes whose Ready condition is not true, at most [`MAX_NOT_READY`].
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub not_ready: Vec<String>,
    /// Numbers of failing and unschedulable pods. Absent in the reports of older agents.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pods: Option<PodCount>,
    /// Sum of the nodes' capacity.
    pub capacity: Amounts,
    /// Sum of the nodes' allocatable resources.
    pub allocatable: Amounts,
    /// Sum of the requests of pods that are assigned to a node and are not finished. `pods` is the
    /// number of these pods.
    pub requests: Amounts,
    /// Sum of the nodes' usage from metrics.k8s.io. Empty if the cluster does not serve this API.
    pub usage: Amounts,
}

/// A node whose node agent can open a tunnel.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct TunnelNode {
    /// Name of the node.
    pub name: String,
    /// UID of the node.
    pub uid: String,
    /// Class of the node.
    pub class: NodeClass,
}

/// The rollout of the agent's Deployment.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct AgentReport {
    /// Image in the Deployment's pod template.
    pub image: String,
    /// Number of available replicas of the current pod template.
    pub updated_available: u32,
    /// Desired number of replicas of the agent's Deployment.
    pub wanted: u32,
}

/// Refused requests with the same lane, reason and message.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Refusal {
    /// Value of the lane header of the request.
    pub lane: String,
    /// The PascalCase reason of the refusal.
    pub reason: String,
    /// A sentence for users. The sentence does not contain values of headers, because a header can
    /// contain a secret.
    pub message: String,
    /// Number of refused requests since the previous line of the report stream.
    pub count: u32,
}

/// A warning event in the cluster.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct EventReport {
    /// The involved object: `Kind namespace/name`.
    pub regarding: String,
    /// The event's PascalCase reason.
    pub reason: String,
    /// The event's message, truncated by the agent.
    pub message: String,
    /// Time of the last occurrence, RFC 3339.
    pub last_seen: jiff::Timestamp,
    /// Number of occurrences of the event.
    pub count: u32,
}
