//! The facts that decide the status of a cluster.

use std::time::Duration;

use drover_api::conditions::{ACCESS_APPLIED, AGENT_UP_TO_DATE, API_SERVER_READY, CONNECTED};

use crate::agent_status::ReportedStatus;

/// Period after the server begins to manage a cluster. In this period, agents may not have
/// connected and reported yet.
pub(crate) const SETTLED_AFTER: Duration = Duration::from_secs(30);

/// The facts from which the status of a cluster is decided.
#[derive(Clone, Debug, Default)]
pub(crate) struct ClusterFacts {
    /// Number of the cluster's open tunnels.
    pub(crate) tunnels: u32,
    /// Version of the most recently connected agent.
    pub(crate) agent_version: Option<String>,
    /// Tunnel protocol version of the most recently connected agent.
    pub(crate) protocol: u32,
    /// The merged lines of the report stream.
    pub(crate) reported: ReportedStatus,
    /// UID of the hub's namespace kube-system. `None` if the server cannot read the UID.
    pub(crate) hub_uid: Option<String>,
    /// Time since the last line of the report. `None` if this server received no line.
    pub(crate) silence: Option<Duration>,
    /// State of the roles and bindings in the cluster.
    pub(crate) access: AccessState,
    /// State of an upgrade of the agent.
    pub(crate) upgrade: UpgradeState,
    /// True while the cluster has been managed for less than [`SETTLED_AFTER`].
    pub(crate) settling: bool,
}

impl ClusterFacts {
    /// Reports whether the facts for a condition are available.
    pub(crate) fn has_facts_for(&self, kind: &str) -> bool {
        match kind {
            CONNECTED => self.tunnels > 0,
            API_SERVER_READY => self.tunnels > 0 && self.reported.components.is_some(),
            ACCESS_APPLIED => self.access != AccessState::Pending,
            AGENT_UP_TO_DATE => self.tunnels > 0 && self.reported.agent.is_some(),
            _ => true,
        }
    }
}

/// State of the roles and bindings that the server applies to a cluster.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) enum AccessState {
    /// The server has not applied the latest change of access yet.
    #[default]
    Pending,
    /// The cluster has the access that the hub grants.
    Applied,
    /// The server failed to apply the access. The value is the error message.
    Failed(String),
}

/// State of the change of the agent's image.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) enum UpgradeState {
    /// The server has not requested an upgrade.
    #[default]
    Idle,
    /// The server has set this image in the agent's Deployment.
    Requested {
        image: String,
        /// Time since the patch of the Deployment.
        since: Duration,
    },
    /// The patch of the Deployment failed. The value is the error message.
    Failed(String),
}
