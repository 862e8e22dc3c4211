//! The place of a connection: which share counts it, and what it may be used for.

use std::net::IpAddr;
use std::sync::Arc;

use drover_api::ids::ClusterUid;
use parking_lot::Mutex;

use super::Limits;
use super::activity::Activity;
use crate::networks::{AgentNetworks, Share, Shares};

/// All places of a listener.
///
/// When the places for everything, or a network's part of them, are taken, a connection gets a place
/// that serves agents only, and for a short time. Half of these are for networks from which agents
/// have proved their keys before.
#[derive(Debug)]
pub(super) struct Places {
    general: Shares,
    /// For trusted proxies, which stand for many clients.
    proxies: Shares,
    of_known_agents: Shares,
    of_new_agents: Shares,
    agents: AgentNetworks,
}

impl Places {
    pub(super) fn new(limits: Limits) -> Self {
        let half = limits.agents / 2;
        let of_agents = || Shares::new(half, limits.agents_per_network);
        Self {
            general: Shares::new(limits.connections, limits.per_network),
            proxies: Shares::new(limits.connections, limits.connections),
            of_known_agents: of_agents(),
            of_new_agents: of_agents(),
            agents: AgentNetworks::default(),
        }
    }

    /// A place for a connection from this address; `None` while all that it could get are taken.
    pub(super) fn take(&self, address: IpAddr, is_proxy: bool) -> Option<Place> {
        let all = if is_proxy {
            &self.proxies
        } else {
            &self.general
        };
        if let Some(share) = all.take(address) {
            return Some(self.place(share, Purpose::All));
        }
        let known = self.agents.is_known(address);
        let known = known.then(|| self.of_known_agents.take(address)).flatten();
        let share = known.or_else(|| self.of_new_agents.take(address))?;
        Some(self.place(share, Purpose::Agents))
    }

    fn place(&self, share: Share, purpose: Purpose) -> Place {
        Place(Arc::new(Inner {
            share: Mutex::new(Some(share)),
            purpose,
            agents: self.agents.clone(),
            activity: Activity::default(),
        }))
    }
}

/// What a connection may be used for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Purpose {
    All,
    /// The routes by which an agent connects.
    Agents,
}

/// A connection's place among those of its network, an extension of its requests.
///
/// Held until the connection ends, or until its peer turns out to be somebody who is counted
/// elsewhere.
#[derive(Clone, Debug)]
pub struct Place(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    share: Mutex<Option<Share>>,
    purpose: Purpose,
    agents: AgentNetworks,
    activity: Activity,
}

impl Place {
    pub(super) fn purpose(&self) -> Purpose {
        self.0.purpose
    }

    pub(super) fn activity(&self) -> &Activity {
        &self.0.activity
    }

    /// Gives the place back, and remembers where the agent is: an agent that has proved its cluster's
    /// key has a seat of its own, and a company's agents may all come from one address.
    pub fn proved(&self, cluster: &ClusterUid, address: IpAddr) {
        self.0.agents.proved(cluster, address);
        self.release();
    }

    /// A request on the connection had a valid credential: the connection may be idle from now on.
    pub fn authenticated(&self) {
        self.0.activity.authenticated();
    }

    /// Whether an agent has proved its cluster's key from this address since the server started.
    pub fn is_agents_network(&self, address: IpAddr) -> bool {
        self.0.agents.is_known(address)
    }

    pub(super) fn release(&self) {
        drop(self.0.share.lock().take());
    }
}
