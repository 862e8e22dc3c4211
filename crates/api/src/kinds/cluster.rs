//! Cluster: a managed Kubernetes cluster.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::{Condition, Time};
use serde::{Deserialize, Serialize};

use crate::amounts::Amounts;

/// The desired state of a managed Kubernetes cluster.
///
/// Users refer to a cluster by name. Other objects refer to a cluster by UID, so that a new cluster
/// with the name of a deleted cluster does not inherit access.
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
            .message("the name \"local\" is reserved for the hub; choose another name"),
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
    /// Description of the cluster, as free text.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "crd", schemars(length(max = 256)))]
    pub description: Option<String>,
    /// The desired state of the cluster's agent.
    #[serde(default)]
    pub agent: AgentSpec,
}

/// The desired state of the cluster's agent.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "crd", derive(kube::KubeSchema))]
#[serde(rename_all = "camelCase")]
pub struct AgentSpec {
    /// Image of the agent. The default is the agent image of the server's version in the configured
    /// registry.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "crd", schemars(length(min = 1, max = 512)))]
    pub image: Option<String>,
    /// The upgrade policy of the agent.
    #[serde(default)]
    pub upgrade: AgentUpgrade,
}

/// The upgrade policy of an agent.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "crd", derive(schemars::JsonSchema))]
pub enum AgentUpgrade {
    /// The server upgrades the agent when the agent's version differs from the server's version.
    #[default]
    Automatic,
    /// The server upgrades the agent only when `spec.agent.image` changes.
    Manual,
}

/// Observed state of a cluster. The server writes the status only when the status changes.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "crd", derive(kube::KubeSchema))]
#[serde(rename_all = "camelCase")]
pub struct ClusterStatus {
    /// The newest `metadata.generation` that the conditions reflect.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub observed_generation: Option<i64>,
    /// Conditions of the types Ready, Connected, Registered, APIServerReady, AccessApplied and
    /// AgentUpToDate. A Cluster that is being deleted also has a condition of the type CleanedUp.
    #[serde(default)]
    #[cfg_attr(feature = "crd", x_kube(merge_strategy = ListMerge::Map(vec!["type".into()])))]
    pub conditions: Vec<Condition>,
    /// The cluster's public key. The server sets the key once, at the registration.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub registration: Option<Registration>,
    /// `gitVersion` of the cluster's API server.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kubernetes_version: Option<String>,
    /// True if the cluster runs the hub of the server. In this case, the UID of the namespace
    /// kube-system is the same in the cluster and in the hub.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub hosts_hub: bool,
    /// Numbers of all nodes and of ready nodes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub nodes: Option<NodeCount>,
    /// Names of nodes whose Ready condition is not true, at most 20.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub not_ready_nodes: Vec<String>,
    /// Numbers of failing and unschedulable pods.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pods: Option<PodCount>,
    /// Sum of the nodes' capacity, as Kubernetes quantities by resource name.
    #[serde(default, skip_serializing_if = "Amounts::is_empty")]
    #[cfg_attr(
        feature = "crd",
        schemars(with = "std::collections::BTreeMap<String, String>")
    )]
    pub capacity: Amounts,
    /// Sum of the nodes' allocatable resources, as Kubernetes quantities by resource name.
    #[serde(default, skip_serializing_if = "Amounts::is_empty")]
    #[cfg_attr(
        feature = "crd",
        schemars(with = "std::collections::BTreeMap<String, String>")
    )]
    pub allocatable: Amounts,
    /// Sum of the requests of pods that are assigned to a node and are not finished, as Kubernetes
    /// quantities by resource name.
    #[serde(default, skip_serializing_if = "Amounts::is_empty")]
    #[cfg_attr(
        feature = "crd",
        schemars(with = "std::collections::BTreeMap<String, String>")
    )]
    pub requests: Amounts,
    /// Sum of the nodes' usage from metrics.k8s.io. Empty if the cluster does not serve this API.
    #[serde(default, skip_serializing_if = "Amounts::is_empty")]
    #[cfg_attr(
        feature = "crd",
        schemars(with = "std::collections::BTreeMap<String, String>")
    )]
    pub usage: Amounts,
    /// Health of the cluster's API server and of the checks in `/readyz`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub components: Vec<ComponentHealth>,
    /// The connected agent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agent: Option<AgentStatus>,
    /// Time of the server's last contact with the cluster. While the agent is connected, the server
    /// updates the time at least every five minutes.
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
        .message("a cluster's key cannot change; delete the Cluster and import the cluster again")))]
    pub public_key: String,
    /// Time at which the server bound the key to the Cluster.
    pub bound_at: Time,
    /// ID of the registration token that the agent used.
    pub token_id: String,
}

/// Numbers of all nodes and of ready nodes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "crd", derive(schemars::JsonSchema))]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "camelCase")]
pub struct NodeCount {
    /// Number of all nodes.
    pub total: u32,
    /// Number of nodes whose Ready condition is true.
    pub ready: u32,
}

/// Numbers of pods with problems.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "crd", derive(schemars::JsonSchema))]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "camelCase")]
pub struct PodCount {
    /// Number of pods with a container that crashes or cannot start.
    pub failing: u32,
    /// Number of pods that the scheduler cannot assign to a node.
    pub unschedulable: u32,
}

/// Health of a component of a cluster: the API server, or a check in `/readyz`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "crd", derive(schemars::JsonSchema))]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "camelCase")]
pub struct ComponentHealth {
    /// Name of the component, for example `etcd`.
    pub name: String,
    /// True if the component's health check passes.
    pub healthy: bool,
    /// Output of the failed health check.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub message: Option<String>,
}

/// State of the connected agent.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "crd", derive(schemars::JsonSchema))]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "camelCase")]
pub struct AgentStatus {
    /// Version of the agent program.
    pub version: String,
    /// Negotiated protocol version.
    pub protocol: u32,
    /// Number of replicas with a tunnel.
    pub tunnels: u32,
    /// Image in the agent's Deployment.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub image: Option<String>,
}
