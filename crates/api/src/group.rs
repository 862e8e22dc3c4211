//! API names that all programs share.

/// API group of Drover's own kinds.
pub const GROUP: &str = "management.drover.dev";
/// The version of all kinds in the API group.
pub const VERSION: &str = "v1alpha1";
/// Namespace on the hub that contains the server's Secrets.
pub const HUB_NAMESPACE: &str = "drover-system";
/// Namespace of the agent in a managed cluster.
pub const AGENT_NAMESPACE: &str = "drover-agent";
/// Name of the service account that deploys bundles in a managed cluster, in [`AGENT_NAMESPACE`].
pub const DEPLOYER_ACCOUNT: &str = "drover-deployer";
/// Name of the Lease of the replica that deploys bundles in a managed cluster, in
/// [`AGENT_NAMESPACE`].
pub const DEPLOYER_LEASE: &str = "drover-agent-deployer";
/// Name of the Secret in the agent's namespace with the key that signs release records.
pub const RELEASE_KEY_SECRET: &str = "drover-agent-release-key";
/// Name of the ConfigMap with the client ID and the labels of a cluster whose agent registers at a hub as
/// Fleet's agent does, and of the Secret with the credential for that hub.
pub const FLEET_AGENT: &str = "fleet-agent";
/// Name of the Secret with the registration token for a hub with Fleet's registration.
pub const FLEET_BOOTSTRAP_SECRET: &str = "fleet-agent-bootstrap";
/// Namespace of the node agents in a managed cluster. The namespace is separate from the agent's
/// namespace, because the pods of node agents use the network of their nodes.
pub const NODE_AGENT_NAMESPACE: &str = "drover-node-agent";
/// Name of the ConfigMap in the agent's namespace with the names of the nodes whose node agents have
/// tunnels. The server writes the ConfigMap.
pub const TUNNEL_NODES: &str = "drover-agent-tunnel-nodes";
/// Label of the ConfigMaps with the reports of node agents, in [`NODE_AGENT_NAMESPACE`]. The name of
/// each ConfigMap is the name of the node.
pub const NODE_REPORT_LABEL: &str = "management.drover.dev/node-report";
/// Name of the admission policy in a managed cluster that permits a node agent to write only the report
/// of its own node.
pub const NODE_REPORT_POLICY: &str = "drover-node-report";
/// Entry of the ConfigMap with the report of a node agent.
pub const NODE_REPORT_ENTRY: &str = "report.json";
/// Label of control-plane nodes, and key of their taint.
pub const CONTROL_PLANE_LABEL: &str = "node-role.kubernetes.io/control-plane";
/// Field manager of the objects that the server applies.
pub const SERVER_FIELD_MANAGER: &str = "drover-server";
/// Label on every object that Drover applies. Helm overwrites the label's value on objects that
/// Helm installs.
pub const MANAGED_BY_LABEL: &str = "app.kubernetes.io/managed-by";
/// Value of [`MANAGED_BY_LABEL`].
pub const MANAGED_BY: &str = "drover";
/// Label of the roles and bindings in a managed cluster that the server derives from roles on the
/// hub. The server changes and deletes objects with this label.
pub const ACCESS_LABEL: &str = "management.drover.dev/access";
/// Label of a project's namespaces in a managed cluster, and of the quota and limits in these
/// namespaces. The value is the Project's UID. The label is only for information. The server does
/// not use the label in decisions.
pub const PROJECT_LABEL: &str = "management.drover.dev/project";
/// Label that a Secret on the hub needs before an AuthProvider can use the Secret. The value is the
/// provider's name.
pub const PROVIDER_SECRET_LABEL: &str = "management.drover.dev/provider-secret";
/// Reserved name of the cluster that represents the hub.
pub const LOCAL_CLUSTER: &str = "local";

/// Finalizer of a Cluster. The server removes the finalizer after the deletion of Drover's objects
/// in the cluster.
pub const CLUSTER_FINALIZER: &str = "management.drover.dev/cluster";
