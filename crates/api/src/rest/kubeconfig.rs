//! Requests for kubeconfigs.

use serde::{Deserialize, Serialize};

use super::Secret;

wire! {
    /// A request to create a kubeconfig.
    #[serde(deny_unknown_fields)]
    KubeconfigRequest {
        /// Names of the clusters. The kubeconfig contains one context per cluster. If empty, it
        /// contains all clusters of the user.
        #[serde(default)]
        clusters: Vec<String>,
        /// The kind of credential in the file.
        credential: KubeconfigCredential,
        /// Time to live of embedded tokens in seconds. The default is a setting.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        ttl_seconds: Option<u64>,
    }
}
/// The kind of credential in a kubeconfig.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub enum KubeconfigCredential {
    /// The exec plugin `drover credential`. The file has no long-lived credential.
    #[default]
    Exec,
    /// An embedded token per cluster, limited to this cluster.
    Token,
}
wire! {
    /// The response with the kubeconfig.
    KubeconfigResponse {
        /// The file in YAML.
        kubeconfig: Secret,
    }
}
