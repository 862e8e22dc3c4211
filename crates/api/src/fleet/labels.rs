//! Labels, annotations and types of Secrets that Fleet's programs exchange.

/// Label with the git commit of a Bundle.
pub const COMMIT: &str = "fleet.cattle.io/commit";
/// Label with the name of the GitRepo of a Bundle or BundleDeployment.
pub const REPO_NAME: &str = "fleet.cattle.io/repo-name";
/// Label with the name of the HelmOp of a Bundle or BundleDeployment.
pub const HELM_OP_NAME: &str = "fleet.cattle.io/fleet-helm-name";
/// Label with the name of the Bundle of a BundleDeployment.
pub const BUNDLE_NAME: &str = "fleet.cattle.io/bundle-name";
/// Label with the namespace of the Bundle of a BundleDeployment.
pub const BUNDLE_NAMESPACE: &str = "fleet.cattle.io/bundle-namespace";
/// Label with the ID of the user who created a GitRepo or HelmOp.
pub const CREATED_BY_USER_ID: &str = "fleet.cattle.io/created-by-user-id";
/// Label with the name of the Cluster of an object.
pub const CLUSTER: &str = "fleet.cattle.io/cluster";
/// Label and annotation with the namespace of the Cluster of an object.
pub const CLUSTER_NAMESPACE: &str = "fleet.cattle.io/cluster-namespace";
/// Label of Clusters that are managed by another controller.
pub const CLUSTER_MANAGEMENT: &str = "fleet.cattle.io/cluster-management";
/// Label of Clusters to which Fleet's controllers do not deploy Fleet's own agent.
pub const NON_MANAGED_AGENT: &str = "fleet.cattle.io/non-managed-agent";
/// Label of namespaces that Fleet created for clusters.
pub const MANAGED: &str = "fleet.cattle.io/managed";
/// Annotation with the name of the ClusterRegistration of a service account.
pub const CLUSTER_REGISTRATION: &str = "fleet.cattle.io/cluster-registration";
/// Annotation with the namespace of the ClusterRegistration of a service account.
pub const CLUSTER_REGISTRATION_NAMESPACE: &str = "fleet.cattle.io/cluster-registration-namespace";
/// Label of a ClusterRegistration with the name of its ClusterRegistrationToken.
pub const REGISTRATION_TOKEN: &str = "fleet.cattle.io/registration-token";
/// Annotation of a ClusterRegistration with the proof that its author holds the registration token.
pub const REGISTRATION_PROOF: &str = "management.drover.dev/registration-proof";
/// Label of deployed objects with the name of their BundleDeployment.
pub const BUNDLE_DEPLOYMENT: &str = "fleet.cattle.io/bundledeployment";
/// Label with the name of a Content.
pub const CONTENT_NAME: &str = "fleet.cattle.io/content-name";
/// Label with the name of the shard that reconciles an object.
pub const SHARD_REF: &str = "fleet.cattle.io/shard-ref";
/// Label of Secrets that Fleet copies for bundles and bundle deployments.
pub const INTERNAL_SECRET: &str = "fleet.cattle.io/bundle-internal-secret";

/// Type of Secrets with the Helm values of a Bundle.
pub const SECRET_TYPE_BUNDLE_VALUES: &str = "fleet.cattle.io/bundle-values/v1alpha1";
/// Type of Secrets with the Helm values of a BundleDeployment.
pub const SECRET_TYPE_DEPLOYMENT_OPTIONS: &str = "fleet.cattle.io/bundle-deployment/v1alpha1";
/// Type of Secrets with the address of an OCI registry that stores contents.
pub const SECRET_TYPE_OCI_STORAGE: &str = "fleet.cattle.io/bundle-oci-storage/v1alpha1";
/// Type of Secrets with the credential of a chart registry for agents.
pub const SECRET_TYPE_HELM_OPS_ACCESS: &str = "fleet.cattle.io/bundle-helmops-access/v1alpha1";
/// Type of Secrets with the values for the installation of an agent.
pub const SECRET_TYPE_REGISTRATION_VALUES: &str = "fleet.cattle.io/cluster-registration-values";
/// Type of Secrets with the credential of a registered agent.
pub const SECRET_TYPE_AGENT_CREDENTIAL: &str = "fleet.cattle.io/agent-credential";
