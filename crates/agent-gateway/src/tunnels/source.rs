//! The agents that open tunnels.

use drover_access::proof::PublicKey;
use drover_api::agent::NodeClass;
use drover_api::kinds::{Cluster, NodeAgentKey, Registration};
use jiff::Timestamp;

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

    /// Returns the key that is bound to the agent, or `None` if no key is bound.
    pub fn bound_key(&self, cluster: &Cluster) -> Option<BoundKey> {
        let status = cluster.status.as_ref()?;
        match self {
            Self::Agent => status.registration.as_ref().map(BoundKey::from),
            Self::Node { node, class } => {
                let mut agents = status.node_agents.iter();
                let agent = agents.find(|agent| agent.node == *node && agent.class == *class)?;
                agent.key.as_ref().map(BoundKey::from)
            }
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

impl std::fmt::Display for TunnelSource {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Agent => f.write_str("the agent"),
            Self::Node { node, .. } => write!(f, "the node agent on {node}"),
        }
    }
}

/// The key that the server has bound to an agent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BoundKey {
    /// Ed25519 public key in base64.
    pub public_key: String,
    /// The key that `public_key` replaced.
    pub previous: Option<String>,
    /// Time at which the server bound the key.
    pub at: Timestamp,
}

impl From<&Registration> for BoundKey {
    fn from(registration: &Registration) -> Self {
        Self {
            public_key: registration.public_key.clone(),
            previous: registration.previous_key.clone(),
            at: registration.bound_at.0,
        }
    }
}

impl From<&NodeAgentKey> for BoundKey {
    fn from(key: &NodeAgentKey) -> Self {
        Self {
            public_key: key.public_key.clone(),
            previous: key.previous_key.clone(),
            at: key.bound_at.0,
        }
    }
}

/// The description of an agent from its connection request. The server displays the replica, the
/// version and the protocol, but does not trust them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AttachedAgent {
    /// The agent that opened the tunnel.
    pub source: TunnelSource,
    /// The key that the agent proved.
    pub key: PublicKey,
    /// The key that `key` replaced.
    pub previous_key: Option<PublicKey>,
    /// Name of the agent's pod.
    pub replica: String,
    /// Version of the agent's program.
    pub version: String,
    /// Negotiated version of the tunnel protocol.
    pub protocol: u32,
}
