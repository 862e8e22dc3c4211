//! ClusterGroup: clusters with common labels.

use super::selector::LabelSelector;
use super::status::{BundleSummary, FleetCondition, ResourceCounts};
use super::wire::{fleet_kind, go_struct};

fleet_kind! {
    /// Clusters of a namespace with common labels.
    pub struct ClusterGroup = "ClusterGroup", "clustergroups", NamespaceResourceScope {
        /// Desired state.
        "spec" spec: ClusterGroupSpec,
        /// Observed state.
        "status" status: Option<ClusterGroupStatus>,
    }
}

go_struct! {
    /// Desired state of a cluster group.
    pub struct ClusterGroupSpec {
        /// Selector of cluster labels.
        selector: Option<LabelSelector>,
    }

    /// Observed state of a cluster group.
    pub struct ClusterGroupStatus {
        @always {
            /// Number of clusters.
            cluster_count: i64,
            /// Number of clusters that are not ready.
            non_ready_cluster_count: i64,
        }
        /// Names of clusters that are not ready.
        non_ready_clusters: Vec<String>,
        /// Conditions of the group.
        conditions: Vec<FleetCondition>,
        /// Numbers of deployments by state.
        summary: BundleSummary,
        /// Texts for lists.
        display: ClusterGroupDisplay,
        /// Numbers of objects by state.
        resource_counts: ResourceCounts,
    }

    /// Texts for lists of cluster groups.
    pub struct ClusterGroupDisplay {
        /// Number of ready clusters and of all clusters, `3/4`.
        ready_clusters: String,
        /// Number of ready bundles and of all bundles, `3/4`.
        ready_bundles: String,
        /// The worst state.
        state: String,
    }
}
