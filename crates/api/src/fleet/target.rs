//! Cluster targets of GitRepos, restrictions and schedules.

use super::selector::LabelSelector;
use super::wire::go_struct;

go_struct! {
    /// Clusters that a GitRepo, a restriction or a Schedule selects.
    pub struct GitTarget {
        /// Name of the target, for messages.
        name: String,
        /// Name of one cluster.
        cluster_name: String,
        /// Selector of cluster labels.
        cluster_selector: Option<LabelSelector>,
        /// Name of one cluster group.
        cluster_group: String,
        /// Selector of the labels of cluster groups.
        cluster_group_selector: Option<LabelSelector>,
    }
}

/// An entry of a Bundle's list of permitted clusters.
pub type BundleTargetRestriction = GitTarget;
/// Clusters of a Schedule.
pub type ScheduleTarget = GitTarget;
