//! Names on the hub that the GitOps engine and the cluster agents share.

use crate::group::LOCAL_CLUSTER;

/// Namespace of the Fleet Cluster objects of managed clusters. The name of a Fleet Cluster object is the
/// name of the Cluster.
pub const FLEET_NAMESPACE: &str = "fleet-default";
/// Namespace of the Fleet Cluster object of the hub.
pub const FLEET_LOCAL_NAMESPACE: &str = "fleet-local";
/// Name of the service account of a cluster's agent, in the cluster's namespace on the hub.
pub const HUB_ACCOUNT: &str = "drover-agent";
/// Lifetime of the tokens of [`HUB_ACCOUNT`], in seconds.
pub const HUB_TOKEN_SECONDS: i64 = 3600;

/// Returns the namespace of the Fleet Cluster object of a Cluster.
pub fn fleet_namespace(cluster: &str) -> &'static str {
    if cluster == LOCAL_CLUSTER {
        FLEET_LOCAL_NAMESPACE
    } else {
        FLEET_NAMESPACE
    }
}
