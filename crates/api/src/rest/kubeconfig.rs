//! Request and response bodies for kubeconfigs.

use serde::{Deserialize, Serialize};

use super::Secret;

wire! {
    /// A request to create a kubeconfig.
    #[serde(deny_unknown_fields)]
    KubeconfigRequest {
        /// Names of the clusters. The kubeconfig contains one context per cluster. If empty, the
        /// kubeconfig contains all clusters to which the user has access.
        #[serde(default)]
        clusters: Vec<String>,
        /// The type of credential in the kubeconfig.
        credential: KubeconfigCredential,
        /// True to add contexts for direct access to the API servers of clusters with an authorized
        /// endpoint. Requires the credential Token.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        direct: bool,
        /// Lifetime of embedded tokens, in seconds. A setting of the server defines the default.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        ttl_seconds: Option<u64>,
    }
}
/// The type of credential in a kubeconfig.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub enum KubeconfigCredential {
    /// The exec plugin `drover credential`. The kubeconfig contains no long-lived credential.
    #[default]
    Exec,
    /// One embedded token per cluster. Each token is valid only for its cluster.
    Token,
}
wire! {
    /// The response to a request to create a kubeconfig.
    KubeconfigResponse {
        /// The kubeconfig in YAML.
        kubeconfig: Secret,
    }
}
