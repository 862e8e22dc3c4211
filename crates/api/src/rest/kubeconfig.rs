//! Kubeconfigs.

use serde::{Deserialize, Serialize};

use super::Secret;

wire! {
    /// A wish for a kubeconfig.
    #[serde(deny_unknown_fields)]
    KubeconfigRequest {
        /// Names of clusters, one context each; all that the user may use if empty.
        #[serde(default)]
        clusters: Vec<String>,
        /// What lies in the file.
        credential: KubeconfigCredential,
        /// Life of embedded tokens in seconds; the setting's default if absent.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        ttl_seconds: Option<u64>,
    }
}
/// What a kubeconfig authenticates with.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub enum KubeconfigCredential {
    /// The exec plug-in `drover credential`: nothing long-lived lies on disk.
    #[default]
    Exec,
    /// A token inside, one per cluster, limited to it.
    Token,
}
wire! {
    /// A kubeconfig.
    KubeconfigResponse {
        /// The file, YAML.
        kubeconfig: Secret,
    }
}
