//! Data that the controllers of projects and of removal keep between reconciliations.

use std::collections::BTreeMap;

use tokio::time::Instant;

use crate::progress::Progress;

/// The random values of namespaces to create, by project UID and namespace name. The cluster receives
/// a value only with its namespace.
pub(crate) type Secrets = BTreeMap<(String, String), String>;

/// What is kept between reconciliations.
#[derive(Default)]
pub(crate) struct ProjectsMemory {
    pub(crate) secrets: Secrets,
    /// Since when projects are waited for that are being deleted.
    pub(crate) ending: BTreeMap<String, Instant>,
}

/// The projects of one cluster.
#[derive(Default)]
pub(crate) struct ProjectsState {
    pub(crate) memory: ProjectsMemory,
    pub(crate) progress: Progress,
    /// Since when no agent is connected.
    pub(crate) away_since: Option<Instant>,
}

/// How far the removal of a cluster is.
#[derive(Debug, Default)]
pub(crate) enum RemovalState {
    #[default]
    NotBegun,
    /// Until this time the cluster is waited for and cleaned up.
    CleaningUp {
        until: Instant,
        problem: Option<String>,
    },
    /// The clean-up failed; the Cluster shows it until this time.
    Failed { until: Instant },
    /// Only objects on the hub are left.
    CleanedUp,
}
