//! The target of a request.

use drover_api::ids::ClusterUid;

/// The hub or a managed cluster.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Target {
    /// The hub itself, with the reserved cluster name `local`.
    Hub,
    /// A managed cluster.
    Cluster(ClusterUid),
}
