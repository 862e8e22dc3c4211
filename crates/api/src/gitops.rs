//! Names on the hub that the GitOps engine and the cluster agents share, and the messages with which an
//! agent obtains a token for the hub.

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use crate::group::LOCAL_CLUSTER;
use crate::ids::ClusterUid;
use crate::kinds::CheckInSpec;
use crate::rest::Secret;

/// Namespace of the Fleet Cluster objects of managed clusters. The name of a Fleet Cluster object is the
/// name of the Cluster.
pub const FLEET_NAMESPACE: &str = "fleet-default";
/// Namespace of the Fleet Cluster object of the hub.
pub const FLEET_LOCAL_NAMESPACE: &str = "fleet-local";
/// Name of the service account of a cluster's agent, in the cluster's namespace on the hub.
pub const HUB_ACCOUNT: &str = "drover-agent";
/// Lifetime of the tokens of [`HUB_ACCOUNT`], in seconds.
pub const HUB_TOKEN_SECONDS: i64 = 3600;

/// Annotation of a GitRepo with the time at which a user requested a poll, in RFC 3339. A changed value
/// makes the server poll at once.
pub const SYNC_REQUEST: &str = "management.drover.dev/sync-request";
/// Type of the condition of a GitRepo whose message is the last [`SYNC_REQUEST`] to which the other conditions
/// belong.
pub const SYNC_ANSWERED: &str = "SyncAnswered";
/// Label of a Secret with the name of the GitRepo for which `drover git add` created the Secret.
pub const REPO_CREDENTIAL: &str = "management.drover.dev/git-repo";

/// Returns the namespace of the Fleet Cluster object of a Cluster.
pub fn fleet_namespace(cluster: &str) -> &'static str {
    if cluster == LOCAL_CLUSTER {
        FLEET_LOCAL_NAMESPACE
    } else {
        FLEET_NAMESPACE
    }
}

/// Body of `POST /v1/agent/hub-token`, with which a cluster agent requests a token for the hub's
/// Kubernetes API.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct HubTokenRequest {
    /// UID of the Cluster to which the agent belongs.
    pub cluster_uid: ClusterUid,
    /// The nonce of a [`Challenge`](crate::agent::Challenge) that the agent has not used before.
    pub nonce: String,
    /// Signature over `drover_access::proof::hub_token_message`, base64 of 64 bytes.
    pub signature: String,
    /// Version of the agent program.
    pub agent_version: String,
}

/// Response to `POST /v1/agent/hub-token`: a token for the hub's Kubernetes API, and the places of the
/// cluster's objects on the hub.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "camelCase")]
pub struct HubToken {
    /// Bearer token of the agent's service account on the hub, for `/k8s/clusters/local`.
    pub token: Secret,
    /// Time after which the hub rejects the token.
    pub expires_at: Timestamp,
    /// Namespace of the cluster's Fleet Cluster object.
    pub cluster_namespace: String,
    /// Name of the cluster's Fleet Cluster object.
    pub cluster_name: String,
    /// Namespace of the cluster's BundleDeployments and of the agent's service account.
    pub namespace: String,
    /// The windows in which the agent may access the hub. If unset, the agent may always access it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub check_in: Option<CheckInSpec>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn debug_output_of_a_hub_token_hides_the_token() {
        let issued = HubToken {
            token: Secret::new("header.claims.signature"),
            expires_at: Timestamp::UNIX_EPOCH,
            cluster_namespace: "fleet-default".to_owned(),
            cluster_name: "shop".to_owned(),
            namespace: "cluster-fleet-default-shop-079927a5ce7c".to_owned(),
            check_in: None,
        };
        let shown = format!("{issued:?} {:?}", Some(&issued));
        assert!(!shown.contains("signature"), "{shown}");
        assert!(shown.contains("cluster-fleet-default-shop"), "{shown}");
    }
}
