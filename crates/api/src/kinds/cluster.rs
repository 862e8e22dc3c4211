//! The managed cluster.

use std::collections::BTreeMap;

use k8s_openapi::apimachinery::pkg::apis::meta::v1::{Condition, Time};
use serde::{Deserialize, Serialize};

/// A managed Kubernetes cluster, as people ask for it.
///
/// The name is what people type; everything else holds the object's UID, so a name that is
/// deleted and made again inherits nothing.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "crd", derive(kube::CustomResource, kube::KubeSchema))]
#[cfg_attr(
    feature = "crd",
    kube(
        group = "management.drover.dev",
        version = "v1alpha1",
        kind = "Cluster",
        status = "ClusterStatus",
        shortname = "dcl",
        category = "drover",
        derive = "PartialEq",
        doc = "A Kubernetes cluster that Drover manages.",
        validation = Rule::new("self.metadata.name != 'local'")
            .message("the name \"local\" is the hub itself; choose another name"),
        validation = Rule::new("self.metadata.name.matches('^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?$')")
            .message("a cluster's name has 1 to 63 characters: lower-case letters, digits and \"-\", with a letter or digit at both ends"),
        printcolumn(name = "Ready", type_ = "string", json_path = ".status.conditions[?(@.type==\"Ready\")].status"),
        printcolumn(name = "Reason", type_ = "string", json_path = ".status.conditions[?(@.type==\"Ready\")].reason"),
        printcolumn(name = "Version", type_ = "string", json_path = ".status.kubernetesVersion"),
        printcolumn(name = "Nodes", type_ = "integer", json_path = ".status.nodes.total"),
        printcolumn(name = "Agent", type_ = "string", json_path = ".status.agent.version", priority = "1"),
        printcolumn(name = "Last Seen", type_ = "date", json_path = ".status.lastSeen", priority = "1"),
        printcolumn(name = "Age", type_ = "date", json_path = ".metadata.creationTimestamp")
    )
)]
#[serde(rename_all = "camelCase")]
pub struct ClusterSpec {
    /// Free text shown beside the name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "crd", schemars(length(max = 256)))]
    pub description: Option<String>,
    /// How the cluster's agent is kept.
    #[serde(default)]
    pub agent: AgentSpec,
}

/// How the cluster's agent is kept.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "crd", derive(kube::KubeSchema))]
#[serde(rename_all = "camelCase")]
pub struct AgentSpec {
    /// Image that the agent runs; the server's own version from the configured registry if unset.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "crd", schemars(length(min = 1, max = 512)))]
    pub image: Option<String>,
    /// Whether the server upgrades the agent by itself.
    #[serde(default)]
    pub upgrade: AgentUpgrade,
}

/// Whether the server upgrades an agent by itself.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "crd", derive(schemars::JsonSchema))]
pub enum AgentUpgrade {
    /// As soon as the server's version differs.
    #[default]
    Automatic,
    /// Only when `spec.agent.image` changes.
    Manual,
}

/// What the server knows of a cluster; written when its meaning changes.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "crd", derive(kube::KubeSchema))]
#[serde(rename_all = "camelCase")]
pub struct ClusterStatus {
    /// The newest `metadata.generation` that the conditions speak of.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub observed_generation: Option<i64>,
    /// Ready, Connected, Registered, APIServerReady, AccessApplied, AgentUpToDate; CleanedUp while
    /// it is being deleted.
    #[serde(default)]
    #[cfg_attr(feature = "crd", x_kube(merge_strategy = ListMerge::Map(vec!["type".into()])))]
    pub conditions: Vec<Condition>,
    /// The key this cluster proves itself with; set once, by registration.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub registration: Option<Registration>,
    /// `gitVersion` of the cluster's API server.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kubernetes_version: Option<String>,
    /// Whether the server's hub is in this cluster: its namespace kube-system has the hub's UID.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub hosts_hub: bool,
    /// How many nodes there are and how many are ready.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub nodes: Option<NodeCount>,
    /// Names of nodes whose Ready condition is not true, at most 20.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub not_ready_nodes: Vec<String>,
    /// How many pods do not work.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pods: Option<PodCount>,
    /// Sum over nodes, as Kubernetes quantities by resource name.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub capacity: BTreeMap<String, String>,
    /// Sum over nodes, as Kubernetes quantities by resource name.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub allocatable: BTreeMap<String, String>,
    /// Sum over the pods that have a node and are not finished, as Kubernetes quantities by resource name.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub requests: BTreeMap<String, String>,
    /// Sum over nodes from metrics.k8s.io; empty where the cluster does not serve it.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub usage: BTreeMap<String, String>,
    /// The cluster's components and whether they are healthy.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub components: Vec<ComponentHealth>,
    /// What the connected agent is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agent: Option<AgentStatus>,
    /// When the server last heard of the cluster; at most five minutes old while connected.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last_seen: Option<Time>,
}

/// The binding of a cluster's key to this Cluster's UID.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "crd", derive(kube::KubeSchema))]
#[serde(rename_all = "camelCase")]
pub struct Registration {
    /// Ed25519 public key, base64 of its 32 bytes (RFC 8032).
    #[cfg_attr(feature = "crd", x_kube(validation = Rule::new("self == oldSelf")
        .message("a cluster's key is bound once; delete the Cluster and import it again")))]
    pub public_key: String,
    /// When it was bound.
    pub bound_at: Time,
    /// Id of the registration token that allowed it.
    pub token_id: String,
}

/// How many nodes there are.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "crd", derive(schemars::JsonSchema))]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "camelCase")]
pub struct NodeCount {
    /// All of them.
    pub total: u32,
    /// Those whose Ready condition is true.
    pub ready: u32,
}

/// How many pods do not work.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "crd", derive(schemars::JsonSchema))]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "camelCase")]
pub struct PodCount {
    /// Pods with a container that cannot start or crashes.
    pub failing: u32,
    /// Pods that no node takes.
    pub unschedulable: u32,
}

/// One component of a cluster.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "crd", derive(schemars::JsonSchema))]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "camelCase")]
pub struct ComponentHealth {
    /// For example `etcd`.
    pub name: String,
    /// Whether its check passes.
    pub healthy: bool,
    /// What the check said when it failed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub message: Option<String>,
}

/// What the connected agent is.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "crd", derive(schemars::JsonSchema))]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "camelCase")]
pub struct AgentStatus {
    /// Version of the agent program.
    pub version: String,
    /// Protocol version agreed on at connect.
    pub protocol: u32,
    /// How many replicas hold a tunnel.
    pub tunnels: u32,
    /// Image that the agent's Deployment runs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub image: Option<String>,
}
