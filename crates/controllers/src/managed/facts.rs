//! The facts that decide the status of a cluster.

use std::time::Duration;

use drover_api::conditions::{
    ACCESS_APPLIED, AGENT_UP_TO_DATE, API_SERVER_READY, AUTHORIZED_ENDPOINT_READY, CONNECTED,
    NODES_HEALTHY,
};

use drover_agent_gateway::tunnels::{ActiveAgent, TunnelSource};

use crate::agent_status::ReportedStatus;

/// Period after the server begins to manage a cluster. In this period, agents may not have
/// connected and reported yet.
pub(crate) const SETTLED_AFTER: Duration = Duration::from_secs(30);

/// The facts from which the status of a cluster is decided.
#[derive(Clone, Debug, Default)]
pub(crate) struct ClusterFacts {
    /// Number of open tunnels of the cluster's agent, without node agents.
    pub(crate) tunnels: u32,
    /// Version of the most recently connected agent.
    pub(crate) agent_version: Option<String>,
    /// Tunnel protocol version of the most recently connected agent.
    pub(crate) protocol: u32,
    /// The last switches between agents, oldest first. Empty if no agent is connected.
    pub(crate) switches: Vec<ActiveAgent>,
    /// The merged lines of the report stream.
    pub(crate) reported: ReportedStatus,
    /// UID of the hub's namespace kube-system. `None` if the server cannot read the UID.
    pub(crate) hub_uid: Option<String>,
    /// Time since the last line of the report. `None` if this server received no line.
    pub(crate) silence: Option<Duration>,
    /// State of the roles and bindings in the cluster.
    pub(crate) access: AccessState,
    /// State of the authorized endpoint.
    pub(crate) endpoint: EndpointProgress,
    /// The agents whose key the server failed to replace in the last attempt, and the errors.
    pub(crate) key_errors: Vec<(TunnelSource, String)>,
    /// State of an upgrade of the agent.
    pub(crate) upgrade: UpgradeState,
    /// True while the cluster has been managed for less than [`SETTLED_AFTER`].
    pub(crate) settling: bool,
}

impl ClusterFacts {
    /// Reports whether the agent or a node agent is connected.
    pub(crate) const fn is_connected(&self) -> bool {
        self.tunnels > 0 || !self.switches.is_empty()
    }

    /// Returns the agent whose tunnels receive new requests. Returns `None` if no agent is connected.
    pub(crate) fn active(&self) -> Option<&ActiveAgent> {
        self.switches.last()
    }

    /// Reports whether the facts for a condition are available.
    pub(crate) fn has_facts_for(&self, kind: &str) -> bool {
        match kind {
            CONNECTED => self.is_connected(),
            API_SERVER_READY => self.is_connected() && self.reported.components.is_some(),
            ACCESS_APPLIED => self.access != AccessState::Pending,
            NODES_HEALTHY => self.is_connected() && self.reported.node_facts.is_some(),
            AUTHORIZED_ENDPOINT_READY => {
                self.is_connected()
                    && self.endpoint != EndpointProgress::Pending
                    && self.reported.node_facts.is_some()
            }
            AGENT_UP_TO_DATE => self.is_connected() && self.reported.agent.is_some(),
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

/// State of the tokens of the authorized endpoint in a cluster.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) enum EndpointProgress {
    /// The server has not written or removed the tokens yet.
    #[default]
    Pending,
    /// The cluster has the tokens.
    Applied(EndpointCertificates),
    /// The server has removed the tokens, because the endpoint is disabled.
    Removed,
    /// The server failed to write the tokens. The value is the error message.
    Failed(String),
}

/// The certificates that clients of the authorized endpoint need, in PEM.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct EndpointCertificates {
    /// The certificate of the webhooks.
    pub(crate) webhook_certificate: String,
    /// The certificate authority of the cluster.
    pub(crate) certificate_authority: String,
}
