//! The slot of a connection. The slot determines the limits that apply to the connection, and the
//! routes that the connection may use.

use std::net::IpAddr;
use std::sync::Arc;

use drover_api::ids::ClusterUid;
use parking_lot::Mutex;

use super::Limits;
use super::activity::Activity;
use crate::networks::{AgentNetworks, NetworkLimits, NetworkSlot};

/// All connection slots of a listener. If all general slots or all slots of a network are in use, a
/// connection receives an agent-only slot with a short time limit. Half of the agent-only slots are
/// for networks from which agents have proved their keys.
#[derive(Debug)]
pub(super) struct ConnectionSlots {
    general: NetworkLimits,
    /// Limit of connections from trusted proxies. A single proxy forwards the connections of many
    /// clients.
    proxies: NetworkLimits,
    of_known_agents: NetworkLimits,
    of_new_agents: NetworkLimits,
    agents: AgentNetworks,
}

impl ConnectionSlots {
    pub(super) fn new(limits: Limits) -> Self {
        let half = limits.agents / 2;
        let of_agents = || NetworkLimits::new(half, limits.agents_per_network);
        Self {
            general: NetworkLimits::new(limits.connections, limits.per_network),
            proxies: NetworkLimits::new(limits.connections, limits.connections),
            of_known_agents: of_agents(),
            of_new_agents: of_agents(),
            agents: AgentNetworks::default(),
        }
    }

    /// Takes a slot for a connection from this address. Returns `None` if no slot is free.
    pub(super) fn take(&self, address: IpAddr, is_proxy: bool) -> Option<ConnectionSlot> {
        let all = if is_proxy {
            &self.proxies
        } else {
            &self.general
        };
        if let Some(network_slot) = all.take(address) {
            return Some(self.slot(network_slot, Purpose::All));
        }
        let known = self.agents.is_known(address);
        let known = known.then(|| self.of_known_agents.take(address)).flatten();
        let network_slot = known.or_else(|| self.of_new_agents.take(address))?;
        Some(self.slot(network_slot, Purpose::Agents))
    }

    fn slot(&self, network_slot: NetworkSlot, purpose: Purpose) -> ConnectionSlot {
        ConnectionSlot(Arc::new(Inner {
            network_slot: Mutex::new(Some(network_slot)),
            purpose,
            agents: self.agents.clone(),
            activity: Activity::default(),
        }))
    }
}

/// The routes that a connection may use.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Purpose {
    All,
    /// The connection may use only the routes on which agents connect.
    Agents,
}

/// A connection's slot. Requests of the connection contain the slot as an extension. The connection
/// releases the slot when the connection ends. The connection also releases the slot when its peer
/// proves to be an agent, because the tunnel limits then apply to the connection.
#[derive(Clone, Debug)]
pub struct ConnectionSlot(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    network_slot: Mutex<Option<NetworkSlot>>,
    purpose: Purpose,
    agents: AgentNetworks,
    activity: Activity,
}

impl ConnectionSlot {
    pub(super) fn purpose(&self) -> Purpose {
        self.0.purpose
    }

    pub(super) fn activity(&self) -> &Activity {
        &self.0.activity
    }

    /// Releases the slot and records the network of an agent that has proved its cluster's key. The
    /// tunnel limits apply to this agent. All agents of a company may share one address.
    pub fn proved(&self, cluster: &ClusterUid, address: IpAddr) {
        self.0.agents.proved(cluster, address);
        self.release();
    }

    /// Records an authenticated request. The listener does not close an idle connection after an
    /// authenticated request.
    pub fn authenticated(&self) {
        self.0.activity.authenticated();
    }

    /// Reports whether an agent has proved its cluster's key from this address since the server
    /// started.
    pub fn is_agents_network(&self, address: IpAddr) -> bool {
        self.0.agents.is_known(address)
    }

    pub(super) fn release(&self) {
        drop(self.0.network_slot.lock().take());
    }
}
