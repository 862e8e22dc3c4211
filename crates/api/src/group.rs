//! Names that every program must spell the same way.

/// API group of Drover's own kinds.
pub const GROUP: &str = "management.drover.dev";
/// The one version served today.
pub const VERSION: &str = "v1alpha1";
/// Namespace on the hub that holds the server's Secrets.
pub const HUB_NAMESPACE: &str = "drover-system";
/// Namespace in a managed cluster that holds the agent.
pub const AGENT_NAMESPACE: &str = "drover-agent";
/// Field manager of everything the server applies.
pub const SERVER_FIELD_MANAGER: &str = "drover-server";
/// Label on every object that Drover applies; Helm overwrites its value on what it installs.
pub const MANAGED_BY_LABEL: &str = "app.kubernetes.io/managed-by";
/// Value of [`MANAGED_BY_LABEL`].
pub const MANAGED_BY: &str = "drover";
/// Label of the roles and bindings in a managed cluster that follow from people's roles on the hub;
/// what carries it is the server's to change and to delete.
pub const ACCESS_LABEL: &str = "management.drover.dev/access";
/// Label, with a Project's UID, of the namespaces in a managed cluster that are the project's, and of
/// the quota and limits in them. It says what the hub decided, and decides nothing.
pub const PROJECT_LABEL: &str = "management.drover.dev/project";
/// Label on a Secret of the hub that an AuthProvider may name, with that provider's name.
pub const PROVIDER_SECRET_LABEL: &str = "management.drover.dev/provider-secret";
/// Reserved cluster name: the hub itself.
pub const LOCAL_CLUSTER: &str = "local";

/// Finalizer of a Cluster, held until the server has removed its objects from the cluster.
pub const CLUSTER_FINALIZER: &str = "management.drover.dev/cluster";
