//! ClusterRegistrationToken and ClusterRegistration: how an agent receives its credential.

use std::collections::BTreeMap;

use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;

use super::wire::{fleet_kind, go_struct};

fleet_kind! {
    /// Permission to register clusters in the object's namespace.
    pub struct FleetClusterRegistrationToken =
        "ClusterRegistrationToken", "clusterregistrationtokens", NamespaceResourceScope
    {
        /// Desired state.
        "spec" spec: FleetClusterRegistrationTokenSpec,
        /// Observed state.
        "status" status: Option<FleetClusterRegistrationTokenStatus>,
    }
}

fleet_kind! {
    /// A request of an agent for a credential.
    pub struct ClusterRegistration =
        "ClusterRegistration", "clusterregistrations", NamespaceResourceScope
    {
        /// The request.
        "spec" spec: ClusterRegistrationSpec,
        /// The response.
        "status" status: Option<ClusterRegistrationStatus>,
    }
}

go_struct! {
    /// Desired state of a registration token.
    pub struct FleetClusterRegistrationTokenSpec {
        /// Lifetime, a duration in Go's format. If unset, the token does not expire.
        ttl: Option<String>,
    }

    /// Observed state of a registration token.
    pub struct FleetClusterRegistrationTokenStatus {
        /// Time of expiry.
        expires: Option<Time>,
        /// Name of the Secret with the values for the agent's installation.
        secret_name: String,
    }

    /// A request of an agent.
    pub struct ClusterRegistrationSpec {
        /// ID of the cluster.
        #[serde(rename = "clientID")]
        client_id: String,
        /// Random text that is part of the name of the credential's Secret.
        client_random: String,
        /// Labels of the cluster.
        cluster_labels: BTreeMap<String, String>,
    }

    /// The response to a request.
    pub struct ClusterRegistrationStatus {
        /// Name of the cluster.
        cluster_name: String,
        /// True if the credential exists.
        granted: bool,
    }
}
