//! Parts of the status of several kinds.

use std::collections::BTreeMap;

use super::wire::go_struct;

/// Returns the condition of a type.
pub fn condition<'a>(conditions: &'a [FleetCondition], type_: &str) -> Option<&'a FleetCondition> {
    conditions.iter().find(|condition| condition.type_ == type_)
}

go_struct! {
    /// A condition. The times are texts in RFC 3339.
    pub struct FleetCondition {
        @always {
            /// Type of the condition.
            #[serde(rename = "type")]
            type_: String,
            /// `True`, `False` or `Unknown`.
            status: String,
        }
        /// Time of the last write.
        last_update_time: String,
        /// Time of the last change of `status`.
        last_transition_time: String,
        /// A CamelCase reason.
        reason: String,
        /// A message for users.
        message: String,
    }

    /// Numbers of bundle deployments by state.
    pub struct BundleSummary {
        @always {
            /// Number of deployments in the state `Ready`.
            ready: i64,
            /// Number of all deployments.
            desired_ready: i64,
        }
        /// Number of deployments in the state `NotReady`.
        not_ready: i64,
        /// Number of deployments in the state `WaitApplied`.
        wait_applied: i64,
        /// Number of deployments in the state `ErrApplied`.
        err_applied: i64,
        /// Number of deployments in the state `OutOfSync`.
        out_of_sync: i64,
        /// Number of deployments in the state `Modified`.
        modified: i64,
        /// Number of deployments in the state `Pending`.
        pending: i64,
        /// Up to 10 deployments that are not ready.
        non_ready_resources: Vec<NonReadyResource>,
    }

    /// A deployment or bundle that is not ready.
    pub struct NonReadyResource {
        /// Name of the deployment or bundle.
        name: String,
        /// State of the deployment or bundle.
        #[serde(rename = "bundleState")]
        state: String,
        /// The cause.
        message: String,
        /// Objects that differ from the bundle.
        modified_status: Vec<ModifiedStatus>,
        /// Objects that are not ready.
        non_ready_status: Vec<NonReadyStatus>,
    }

    /// An object that is not ready.
    pub struct NonReadyStatus {
        /// UID of the object.
        uid: String,
        /// Kind of the object.
        kind: String,
        /// API version of the object.
        #[serde(rename = "apiVersion")]
        api_version: String,
        /// Namespace of the object.
        namespace: String,
        /// Name of the object.
        name: String,
        /// State of the object.
        summary: ObjectSummary,
    }

    /// State of an object.
    pub struct ObjectSummary {
        /// A word for the state.
        state: String,
        /// True if the object has an error.
        error: bool,
        /// True if the object is expected to change.
        transitioning: bool,
        /// Causes of the state.
        message: Vec<String>,
    }

    /// An object that differs from the bundle.
    pub struct ModifiedStatus {
        /// Kind of the object.
        kind: String,
        /// API version of the object.
        api_version: String,
        /// Namespace of the object.
        namespace: String,
        /// Name of the object.
        name: String,
        /// True if the object does not exist or is not the bundle's object.
        #[serde(rename = "missing")]
        create: bool,
        /// True if the object exists and is not the bundle's object.
        exist: bool,
        /// True if the object exists, but not in the bundle.
        delete: bool,
        /// The difference, a JSON merge patch.
        patch: String,
    }

    /// Numbers of objects by state.
    pub struct ResourceCounts {
        @always {
            /// Number of ready objects.
            ready: i64,
            /// Number of all objects.
            desired_ready: i64,
            /// Number of objects that wait for the agent.
            wait_applied: i64,
            /// Number of objects that differ from the bundle.
            modified: i64,
            /// Number of objects that are not in the bundle.
            orphaned: i64,
            /// Number of objects that do not exist.
            missing: i64,
            /// Number of objects in an unknown state.
            unknown: i64,
            /// Number of objects that are not ready.
            not_ready: i64,
        }
    }

    /// An object of all deployments of a GitRepo or HelmOp.
    pub struct Resource {
        @always {
            /// Clusters by state of the object.
            per_cluster_state: PerClusterState,
        }
        /// API version of the object.
        api_version: String,
        /// Kind of the object.
        kind: String,
        /// Type of the object in the form of Steve, Rancher's API.
        #[serde(rename = "type")]
        type_: String,
        /// Namespace and name of the object.
        id: String,
        /// Namespace of the object.
        namespace: String,
        /// Name of the object.
        name: String,
        /// True if `per_cluster_state` is truncated.
        incomplete_state: bool,
        /// The worst state of the object.
        state: String,
        /// True if the object has an error.
        error: bool,
        /// True if the object is expected to change.
        transitioning: bool,
        /// The cause of the state.
        message: String,
    }

    /// Clusters by state of an object. The clusters are texts `namespace/name`.
    pub struct PerClusterState {
        /// Clusters with a ready object.
        ready: Vec<String>,
        /// Clusters whose agent has not applied the object yet.
        wait_applied: Vec<String>,
        /// Clusters whose deployment is pending.
        pending: Vec<String>,
        /// Clusters with a modified object.
        modified: Vec<String>,
        /// Clusters with an object that is not in the bundle.
        orphaned: Vec<String>,
        /// Clusters without the object.
        missing: Vec<String>,
        /// Clusters with an object in an unknown state.
        unknown: Vec<String>,
        /// Clusters with an object that is not ready.
        not_ready: Vec<String>,
    }

    /// The common part of the status of GitRepo and HelmOp.
    pub struct StatusBase {
        @always {
            /// The lowest number of ready clusters of all bundles.
            ready_clusters: i64,
            /// Number of clusters that should be ready.
            desired_ready_clusters: i64,
        }
        /// Numbers of bundle deployments by state.
        summary: BundleSummary,
        /// Texts for lists.
        display: StatusDisplay,
        /// Conditions of the object.
        conditions: Vec<FleetCondition>,
        /// Objects of all deployments.
        resources: Vec<Resource>,
        /// Numbers of objects by state.
        resource_counts: ResourceCounts,
        /// Numbers of objects by state, for each cluster.
        per_cluster_resource_counts: BTreeMap<String, ResourceCounts>,
    }

    /// Texts for lists.
    pub struct StatusDisplay {
        /// Number of ready deployments and of all deployments, `3/4`.
        ready_bundle_deployments: String,
        /// The worst state.
        state: String,
        /// The cause of the state.
        message: String,
        /// True if `message` is an error.
        error: bool,
    }
}
