//! The state of a cluster's authorized endpoint. The server writes the state into Secrets of the
//! cluster, in the namespace of the node agents. Node agents on control-plane nodes read the Secrets
//! and answer the token reviews of their API server.
//!
//! | Secret | entry | content |
//! |---|---|---|
//! | [`STATE`] | [`STATE_ENTRY`] | [`EndpointState`] |
//! | [`TOKENS_PREFIX`] and the first character of the token IDs | [`TOKENS_ENTRY`] | a list of [`EndpointToken`] |
//! | [`TLS`] | `tls.crt`, `tls.key` | the certificate and the key of the webhook |

mod distribution;

use std::ops::RangeInclusive;

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

pub use distribution::Distribution;

/// Label of all Secrets of the authorized endpoint.
pub const ENDPOINT_LABEL: &str = "management.drover.dev/authorized-endpoint";
/// Name of the Secret with the [`EndpointState`].
pub const STATE: &str = "drover-endpoint-state";
/// Entry of the Secret [`STATE`].
pub const STATE_ENTRY: &str = "state.json";
/// Prefix of the names of the Secrets with tokens.
pub const TOKENS_PREFIX: &str = "drover-endpoint-tokens-";
/// Entry of a Secret with tokens.
pub const TOKENS_ENTRY: &str = "tokens.json";
/// Name of the Secret with the certificate and the key of the webhook.
pub const TLS: &str = "drover-endpoint-tls";
/// Entry of the Secret [`TLS`] with the certificate, in PEM.
pub const TLS_CERTIFICATE: &str = "tls.crt";
/// Entry of the Secret [`TLS`] with the key, in PEM.
pub const TLS_KEY: &str = "tls.key";
/// Name in the certificate of the webhook, and host of its URL.
pub const WEBHOOK_HOST: &str = "127.0.0.1";
/// Port of the webhook.
pub const WEBHOOK_PORT: u16 = 6440;
/// Path of the webhook.
pub const WEBHOOK_PATH: &str = "/v1/authenticate";
/// Allowed values of [`EndpointState::offline_seconds`]: 5 minutes to 30 days. The schema of the kind
/// Cluster has the same limits.
pub const OFFLINE_SECONDS: RangeInclusive<u32> = 300..=2_592_000;
/// Default of [`EndpointState::offline_seconds`]: one day.
pub const DEFAULT_OFFLINE_SECONDS: u32 = 86_400;

/// The time at which the server confirmed the tokens.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct EndpointState {
    /// Time at which the Secrets contained exactly the valid tokens of the hub.
    pub confirmed_at: Timestamp,
    /// Number of seconds after `confirmed_at` in which node agents accept the tokens.
    pub offline_seconds: u32,
}

/// A token that is limited to the cluster, and the identity of its user in the cluster.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct EndpointToken {
    /// ID of the token.
    pub id: String,
    /// SHA-256 of the secret: `sha256:` and 64 hexadecimal digits.
    pub hash: String,
    /// Time after which node agents refuse the token: the expiry of the token, or the end of the
    /// time for which the user's identity providers have confirmed the user.
    pub until: Timestamp,
    /// Name of the user in clusters: `drover:user:<uid>`.
    pub user: String,
    /// Names of the groups in clusters: `drover:<provider>:<id>`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub groups: Vec<String>,
    /// Display name of the user.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub display_name: Option<String>,
}

impl EndpointToken {
    /// Returns the name of the Secret that contains the token. The names divide the tokens into 16
    /// Secrets, because the size of a Secret is limited.
    pub fn secret(&self) -> String {
        let first = self.id.chars().next().unwrap_or('0');
        format!("{TOKENS_PREFIX}{first}")
    }
}
