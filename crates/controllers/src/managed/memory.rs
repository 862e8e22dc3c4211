//! State that the controllers of projects, removals, node agents and authorized endpoints keep
//! between reconciliations.

use std::collections::BTreeMap;

use tokio::time::Instant;

use crate::progress::Progress;

/// Secret values of the namespaces that the server creates, one per namespace. The key is the
/// project UID and the name of the namespace. The server writes the value only into an annotation
/// of the namespace.
pub(crate) type Secrets = BTreeMap<(String, String), String>;

/// State of a cluster's projects between reconciliations.
#[derive(Default)]
pub(crate) struct ProjectsMemory {
    pub(crate) secrets: Secrets,
    /// The time when each project's deletion began, by project UID.
    pub(crate) ending: BTreeMap<String, Instant>,
}

/// State of the projects controller for one cluster.
#[derive(Default)]
pub(crate) struct ProjectsState {
    pub(crate) memory: ProjectsMemory,
    pub(crate) progress: Progress,
    /// The time when the last agent disconnected.
    pub(crate) disconnected_since: Option<Instant>,
}

/// The nodes that are selected for tunnels of node agents.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct NodeSelection {
    /// The names of the nodes, one per line.
    pub(crate) nodes: String,
    /// True if node agents on workers may create the tokens of the lanes.
    pub(crate) workers: bool,
}

/// The selection that the server wrote to a cluster, and the time of the write.
#[derive(Debug)]
pub(crate) struct WrittenSelection {
    pub(crate) selection: NodeSelection,
    pub(crate) at: Instant,
}

/// The tokens of the authorized endpoint that the server wrote to a cluster, and the time of the write.
#[derive(Debug)]
pub(crate) struct WrittenTokens {
    pub(crate) digest: u64,
    pub(crate) offline_seconds: u32,
    pub(crate) at: Instant,
}

/// Progress of the removal of a cluster.
#[derive(Debug, Default)]
pub(crate) enum RemovalState {
    #[default]
    NotBegun,
    /// The server waits for a connection of the cluster, then deletes Drover's objects in the
    /// cluster. The value contains the deadline.
    CleaningUp {
        until: Instant,
        problem: Option<String>,
    },
    /// The clean-up failed. The server deletes the Cluster after this time, so that clients can
    /// read the failed condition.
    Failed { until: Instant },
    /// Drover's objects in the cluster are deleted. The next step deletes the Cluster's objects on
    /// the hub.
    CleanedUp,
}
