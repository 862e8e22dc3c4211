//! The agents that open tunnels.

use drover_access::proof::PublicKey;
use drover_api::agent::NodeClass;

/// The agent that opened a tunnel, according to the key that the agent proved.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TunnelSource {
    /// A replica of the cluster agent.
    Agent,
    /// The node agent of a node.
    Node {
        /// Name of the node.
        node: String,
        /// Class of the node.
        class: NodeClass,
        /// The key that the node agent proved.
        key: PublicKey,
    },
}

impl TunnelSource {
    /// Returns the rank of the agent. Requests use the lowest rank with a healthy tunnel.
    pub(super) const fn rank(&self) -> u8 {
        match self {
            Self::Agent => 0,
            Self::Node {
                class: NodeClass::ControlPlane,
                ..
            } => 1,
            Self::Node {
                class: NodeClass::Worker,
                ..
            } => 2,
        }
    }

    /// Returns the name of the node, or `None` for the cluster agent.
    pub fn node(&self) -> Option<&str> {
        match self {
            Self::Agent => None,
            Self::Node { node, .. } => Some(node),
        }
    }
}

/// The description of an agent from its connection request. The server displays the replica, the
/// version and the protocol, but does not trust them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AttachedAgent {
    /// The agent that opened the tunnel.
    pub source: TunnelSource,
    /// Name of the agent's pod.
    pub replica: String,
    /// Version of the agent's program.
    pub version: String,
    /// Negotiated version of the tunnel protocol.
    pub protocol: u32,
}
