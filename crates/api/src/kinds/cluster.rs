//! Cluster: a managed Kubernetes cluster.

use jiff::{SignedDuration, Timestamp};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{Condition, Time};
use serde::{Deserialize, Serialize};

use crate::agent::NodeClass;
use crate::amounts::Amounts;
use crate::endpoint::DEFAULT_OFFLINE_SECONDS;
use crate::kinds::CheckInSpec;

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
    /// The rights of the cluster's node agents.
    #[serde(default)]
    pub node_agents: NodeAgentsSpec,
    /// Direct access to the cluster's API servers with Drover's tokens.
    #[serde(default)]
    pub authorized_endpoint: AuthorizedEndpointSpec,
    /// The replacement of the keys of the cluster's agents.
    #[serde(default)]
    pub key_rotation: KeyRotationSpec,
    /// The windows in which the agent pulls its bundle deployments from the hub. If unset, the agent
    /// is always connected.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub check_in: Option<CheckInSpec>,
}

/// The replacement of the keys of the cluster's agent and of its node agents. Open streams continue
/// during the replacement.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "crd", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct KeyRotationSpec {
    /// Number of days after which the server replaces a key. With 0, the server replaces keys only
    /// on request.
    #[serde(default = "default_key_days")]
    #[cfg_attr(feature = "crd", schemars(range(max = 3650)))]
    pub days: u32,
    /// Time of the last request for new keys. The server replaces all keys that are older.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub requested_at: Option<Time>,
}

fn default_key_days() -> u32 {
    DEFAULT_KEY_DAYS
}

impl Default for KeyRotationSpec {
    fn default() -> Self {
        Self {
            days: DEFAULT_KEY_DAYS,
            requested_at: None,
        }
    }
}

impl KeyRotationSpec {
    /// Returns the time after which the schedule replaces a key that was bound at this time. Returns
    /// `None` without a schedule.
    pub fn scheduled_after(&self, bound_at: Timestamp) -> Option<Timestamp> {
        let age = SignedDuration::from_hours(24 * i64::from(self.days));
        bound_at.checked_add(age).ok().filter(|_| self.days > 0)
    }

    /// Reports whether the server must replace a key that was bound at this time.
    pub fn is_due(&self, bound_at: Timestamp, now: Timestamp) -> bool {
        let requested = self.requested_at.as_ref().map(|at| at.0);
        requested.is_some_and(|at| at <= now && at >= bound_at)
            || self.scheduled_after(bound_at).is_some_and(|at| at <= now)
    }
}

/// Default number of days after which the server replaces a key.
const DEFAULT_KEY_DAYS: u32 = 90;

/// Direct access to the cluster's API servers with tokens that are limited to the cluster. Direct
/// access works while the server is not reachable.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "crd", derive(kube::KubeSchema))]
#[serde(rename_all = "camelCase")]
pub struct AuthorizedEndpointSpec {
    /// True if the server writes the tokens into the cluster. The API servers also need a
    /// configuration (see `drover cluster endpoint setup`).
    #[serde(default)]
    pub enabled: bool,
    /// Host name of a load balancer for the API servers, optionally with a port. If unset,
    /// kubeconfigs contain one context for each control-plane node.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "crd", schemars(length(min = 1, max = 259)))]
    #[cfg_attr(feature = "crd", x_kube(validation = Rule::new(
        "self.matches('^[A-Za-z0-9]([A-Za-z0-9.-]*[A-Za-z0-9])?(:[0-9]{1,5})?$')")
        .message("must be a host name, optionally with \":\" and a port, without \"https://\"")))]
    pub fqdn: Option<String>,
    /// Certificate authorities of the load balancer's certificate, in PEM. If unset, kubeconfigs
    /// contain the certificate authority of the cluster.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "crd", schemars(length(max = 65536)))]
    #[cfg_attr(feature = "crd", x_kube(validation = Rule::new(
        "self.contains('-----BEGIN CERTIFICATE-----')")
        .message("must contain certificates in PEM")))]
    pub ca_bundle: Option<String>,
    /// Number of seconds for which the cluster accepts the tokens without a confirmation by the
    /// server. After a user is disabled, the user can access a disconnected cluster for this time.
    #[serde(default = "default_offline_seconds")]
    #[cfg_attr(feature = "crd", schemars(range(min = 300, max = 2_592_000)))]
    pub offline_seconds: u32,
}

fn default_offline_seconds() -> u32 {
    DEFAULT_OFFLINE_SECONDS
}

impl Default for AuthorizedEndpointSpec {
    fn default() -> Self {
        Self {
            enabled: false,
            fqdn: None,
            ca_bundle: None,
            offline_seconds: DEFAULT_OFFLINE_SECONDS,
        }
    }
}

/// The rights of the cluster's node agents.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "crd", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct NodeAgentsSpec {
    /// True if node agents on workers open tunnels when there are fewer than three control-plane
    /// nodes. The node agents then can create tokens of the lanes' service accounts. A process with such
    /// a token is an administrator of the cluster.
    #[serde(default)]
    pub worker_tunnels: bool,
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
    /// True if the agent opens no tunnel, and only deploys bundles. The cluster then has no node agents,
    /// and users cannot access it through Drover. A change needs a new import of the cluster.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub gitops_only: bool,
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
    /// Conditions of the types Ready, Connected, Registered, APIServerReady, NodesHealthy, AccessApplied and
    /// AgentUpToDate. If the authorized endpoint is enabled, also AuthorizedEndpointReady. If a
    /// key is overdue for replacement, also KeysCurrent. A Cluster that is being deleted also has a
    /// condition of the type CleanedUp.
    #[serde(default)]
    #[cfg_attr(feature = "crd", x_kube(merge_strategy = ListMerge::Map(vec!["type".into()])))]
    pub conditions: Vec<Condition>,
    /// The cluster's public key. The server sets the key at the registration and replaces it.
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
    pub capacity: Amounts,
    /// Sum of the nodes' allocatable resources, as Kubernetes quantities by resource name.
    #[serde(default, skip_serializing_if = "Amounts::is_empty")]
    pub allocatable: Amounts,
    /// Sum of the requests of pods that are assigned to a node and are not finished, as Kubernetes
    /// quantities by resource name.
    #[serde(default, skip_serializing_if = "Amounts::is_empty")]
    pub requests: Amounts,
    /// Sum of the nodes' usage from metrics.k8s.io. Empty if the cluster does not serve this API.
    #[serde(default, skip_serializing_if = "Amounts::is_empty")]
    pub usage: Amounts,
    /// Health of the cluster's API server and of the checks in `/readyz`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub components: Vec<ComponentHealth>,
    /// The connected agent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agent: Option<AgentStatus>,
    /// The nodes that are selected for a tunnel of their node agent, best first, at most three.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub node_agents: Vec<NodeAgentStatus>,
    /// The connection for new requests to the cluster.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub connection: Option<ConnectionStatus>,
    /// State of the authorized endpoint. Absent if the endpoint is disabled.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub authorized_endpoint: Option<AuthorizedEndpointStatus>,
    /// Facts about nodes: control-plane nodes first, then nodes with problems, at most 20.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub node_facts: Vec<NodeFacts>,
    /// Time of the server's last contact with the cluster. While the agent is connected, the server
    /// updates the time at least every five minutes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last_seen: Option<Time>,
}

/// The binding of a cluster's key to this Cluster's UID.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "crd", derive(kube::KubeSchema))]
#[cfg_attr(feature = "crd", x_kube(validation = Rule::new(
    "self.publicKey == oldSelf.publicKey || (has(self.previousKey) && self.previousKey == oldSelf.publicKey)")
    .message("a new key must name the current key as previousKey; to replace the key, run \"drover cluster rotate-keys\"")))]
#[serde(rename_all = "camelCase")]
pub struct Registration {
    /// Ed25519 public key, base64 of its 32 bytes (RFC 8032).
    pub public_key: String,
    /// The key that `publicKey` replaced. The server does not accept this key for new connections.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub previous_key: Option<String>,
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

/// A node that can have a tunnel of its node agent.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "crd", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct NodeAgentStatus {
    /// Name of the node.
    pub node: String,
    /// UID of the node.
    pub node_uid: String,
    /// Class of the node.
    pub class: NodeClass,
    /// The key of the node agent. Absent until the agent has verified the node agent's token.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub key: Option<NodeAgentKey>,
}

/// The binding of a node agent's key to its node.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "crd", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct NodeAgentKey {
    /// Ed25519 public key, base64 of its 32 bytes (RFC 8032).
    pub public_key: String,
    /// The key that `publicKey` replaced. The server does not accept this key for new connections.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub previous_key: Option<String>,
    /// Time at which the server bound the key to the node.
    pub bound_at: Time,
}

/// The agent or node agent whose tunnel receives new requests, and the previous ones.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "crd", derive(schemars::JsonSchema))]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "camelCase")]
pub struct ConnectionStatus {
    /// Number of the current connection. Each switch to a different agent increments the number.
    pub generation: i64,
    /// The switches of the connection, newest first, at most ten. The first switch is the current
    /// connection.
    #[cfg_attr(feature = "crd", schemars(length(min = 1, max = 10)))]
    pub switches: Vec<ConnectionSwitch>,
    /// Name of the node whose node agent sends the reports about the cluster and its nodes. Absent if
    /// the cluster agent sends the reports.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reporting_node: Option<String>,
}

/// A switch of new requests to a different agent.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "crd", derive(schemars::JsonSchema))]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "camelCase")]
pub struct ConnectionSwitch {
    /// Time of the switch.
    #[cfg_attr(feature = "openapi", schema(value_type = String))]
    pub at: Time,
    /// Name of the node of the node agent. Absent if the cluster agent receives the requests.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub node: Option<String>,
    /// Reason of the switch, in PascalCase.
    pub reason: String,
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

/// State of a cluster's authorized endpoint.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "crd", derive(schemars::JsonSchema))]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "camelCase")]
pub struct AuthorizedEndpointStatus {
    /// The self-signed certificate of the webhooks on the control-plane nodes, in PEM. The webhook
    /// configuration of the API servers contains this certificate.
    pub webhook_certificate: String,
    /// The certificate authority of the cluster's API servers, in PEM.
    pub certificate_authority: String,
    /// The API servers that kubeconfigs can name, at most 20.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub api_servers: Vec<ApiServerAddress>,
}

/// The address of the API server on a control-plane node.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "crd", derive(schemars::JsonSchema))]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "camelCase")]
pub struct ApiServerAddress {
    /// Name of the node.
    pub node: String,
    /// IP address and port of the API server.
    pub address: String,
    /// True if the API server sends token reviews to the node's webhook.
    pub calls_webhook: bool,
}

/// Facts about a node.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "crd", derive(schemars::JsonSchema))]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "camelCase")]
pub struct NodeFacts {
    /// Name of the node.
    pub name: String,
    /// True if the node belongs to the control plane.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub control_plane: bool,
    /// Internal IP address from the status of the Node object.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub internal_ip: Option<String>,
    /// Version of the kubelet.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub kubelet_version: String,
    /// Version of the kernel.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub kernel_version: String,
    /// Name of the operating system.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub os_image: String,
    /// Name and version of the container runtime.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub container_runtime: String,
    /// Types of the node's conditions that show a problem, for example `DiskPressure`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub problems: Vec<String>,
    /// The report of the node agent. Absent if no node agent runs on the node.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub node_agent: Option<NodeAgentReport>,
}

/// The report of a node agent about its node. The node agent writes the report into a ConfigMap in
/// the cluster. The agent sends the reports of all nodes to the server.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "crd", derive(schemars::JsonSchema))]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "camelCase")]
pub struct NodeAgentReport {
    /// Version of the node agent.
    pub version: String,
    /// The API server on the node. Absent on workers.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub api_server: Option<LocalApiServer>,
    /// The serving certificates on the node.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub certificates: Vec<CertificateExpiry>,
    /// Difference between the node's clock and the clock of the API server in seconds, positive if
    /// the node's clock is ahead, rounded to 5 s. Absent if the difference is below 5 s.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub clock_offset_seconds: Option<i64>,
    /// Addresses of the cluster's API servers to which the node cannot connect.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub unreachable_api_servers: Vec<String>,
}

/// The API server on a control-plane node.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "crd", derive(schemars::JsonSchema))]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "camelCase")]
pub struct LocalApiServer {
    /// Port of the API server. The server takes the IP address from the Node object, which another
    /// node cannot change.
    pub port: u16,
    /// The result of the check whether the API server calls the webhook of the authorized endpoint.
    pub webhook: WebhookState,
}

/// The result of the check whether an API server calls the webhook of the authorized endpoint.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "crd", derive(schemars::JsonSchema))]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub enum WebhookState {
    /// The endpoint is disabled, so the node agent serves no webhook.
    Disabled,
    /// The node agent cannot listen on the port of the webhook.
    PortUnavailable,
    /// The node agent has not checked the API server since it started to listen.
    Unchecked,
    /// The API server does not call the webhook.
    NotCalled,
    /// The API server calls the webhook.
    Called,
}

/// The expiry of a serving certificate on a node.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "crd", derive(schemars::JsonSchema))]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "camelCase")]
pub struct CertificateExpiry {
    /// Name of the component with the certificate: `kube-apiserver` or `kubelet`.
    pub component: String,
    /// Time at which the certificate expires.
    #[cfg_attr(feature = "openapi", schema(value_type = String))]
    pub expires_at: Time,
}
