//! Facts about a cluster from which its status is computed.

use std::time::Duration;

use drover_api::conditions::{ACCESS_APPLIED, AGENT_UP_TO_DATE, API_SERVER_READY, CONNECTED};

use crate::agent_status::ReportedStatus;

/// A cluster that is managed for a shorter time may lack facts: the server started, or was cut off from
/// the hub, and agents connect and report within this time.
pub(crate) const SETTLED_AFTER: Duration = Duration::from_secs(30);

/// Everything that a cluster's status is decided from.
#[derive(Clone, Debug, Default)]
pub(crate) struct Known {
    /// Tunnels that the cluster's agents hold.
    pub(crate) tunnels: u32,
    /// Version of the agent that connected last.
    pub(crate) agent_version: Option<String>,
    /// Protocol of that tunnel.
    pub(crate) protocol: u32,
    /// The report stream.
    pub(crate) reported: ReportedStatus,
    /// UID of the hub's namespace kube-system, if the server could read it.
    pub(crate) hub_uid: Option<String>,
    /// Time since its last line; `None` when there was none on this server.
    pub(crate) silence: Option<Duration>,
    /// How access stands.
    pub(crate) access: AccessState,
    /// How an upgrade of the agent stands.
    pub(crate) upgrade: UpgradeState,
    /// Whether the cluster is managed for less than [`SETTLED_AFTER`].
    pub(crate) settling: bool,
}

impl Known {
    /// Whether the facts of a condition are known.
    pub(crate) fn knows(&self, kind: &str) -> bool {
        match kind {
            CONNECTED => self.tunnels > 0,
            API_SERVER_READY => self.tunnels > 0 && self.reported.components.is_some(),
            ACCESS_APPLIED => self.access != AccessState::Pending,
            AGENT_UP_TO_DATE => self.tunnels > 0 && self.reported.agent.is_some(),
            _ => true,
        }
    }
}

/// How access in a cluster stands.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) enum AccessState {
    /// Not tried yet.
    #[default]
    Pending,
    /// As the hub wants it.
    Applied,
    /// Tried and failed.
    Failed(String),
}

/// How the wish for another agent image stands.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) enum UpgradeState {
    /// Nothing was tried.
    #[default]
    Idle,
    /// The Deployment was told to run this image.
    Asked {
        /// The image.
        image: String,
        /// Time since.
        since: Duration,
    },
    /// The Deployment could not be told.
    Failed(String),
}
