//! The tunnels of one cluster.

use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use drover_telemetry::{Metrics, ReasonLabel};
use jiff::Timestamp;
use parking_lot::{Mutex, RwLock};

use super::choice::{self, Candidate, Health};
use super::entry::{TunnelEntry, Usage};
use super::{Connected, MAX_AGENT_TUNNELS, MAX_NODE_TUNNELS, MAX_TUNNELS, NoTunnel, TunnelSource};

/// A tunnel that the cluster no longer has, and the reason for closing it.
pub(super) type Detached = (Arc<TunnelEntry>, Option<&'static str>);

/// The tunnels of one cluster and the ID of the tunnel for new requests.
pub(super) struct ClusterTunnels {
    pub(super) entries: RwLock<Vec<Arc<TunnelEntry>>>,
    present: AtomicU64,
    usage_of_agent: Arc<Usage>,
    /// The switches between agents, oldest first, at most [`MAX_SWITCHES`].
    switches: Mutex<VecDeque<ActiveAgent>>,
    metrics: Metrics,
}

/// Maximum number of switches in memory. The status of a Cluster has as many.
const MAX_SWITCHES: usize = 10;

/// The agent whose tunnels receive new requests.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ActiveAgent {
    /// The agent.
    pub source: TunnelSource,
    /// Time since which new requests use the agent.
    pub since: Timestamp,
    /// Reason of the switch from the previous agent.
    pub reason: SwitchReason,
}

/// The reason why new requests use a different agent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SwitchReason {
    /// The first agent of the cluster connected.
    Connected,
    /// The tunnel of the previous agent closed.
    TunnelClosed,
    /// The previous agent did not respond.
    AgentSilent,
    /// The previous agent had no response from the API server.
    ApiServerUnreachable,
    /// A preferred agent is available again.
    PreferredAgentAvailable,
}

impl SwitchReason {
    /// Returns the PascalCase reason, which is stable across releases.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Connected => "Connected",
            Self::TunnelClosed => "TunnelClosed",
            Self::AgentSilent => "AgentSilent",
            Self::ApiServerUnreachable => "APIServerUnreachable",
            Self::PreferredAgentAvailable => "PreferredAgentAvailable",
        }
    }
}

impl ClusterTunnels {
    pub(super) fn new(metrics: Metrics) -> Self {
        Self {
            entries: RwLock::default(),
            present: AtomicU64::default(),
            usage_of_agent: Arc::default(),
            switches: Mutex::default(),
            metrics,
        }
    }

    /// Returns the usage for a new tunnel. Each node agent has its own usage, because the server sends no
    /// requests to node agents while the agent is healthy.
    pub(super) fn usage(&self, source: &TunnelSource) -> Arc<Usage> {
        match source {
            TunnelSource::Agent => Arc::clone(&self.usage_of_agent),
            TunnelSource::Node { .. } => Arc::default(),
        }
    }

    /// Adds a tunnel. Returns each detached tunnel with the reason for closing it, or without a reason
    /// if its open streams continue because the agent proved the key that replaced the tunnel's key.
    ///
    /// The limits of the agent and of the node agents are separate, so that a node agent cannot
    /// replace a tunnel of the agent.
    pub(super) fn take(&self, entry: Arc<TunnelEntry>) -> Vec<Detached> {
        let mut entries = self.entries.write();
        let of_agent = entry.is_of_agent();
        let again = |other: &mut Arc<TunnelEntry>| {
            other.agent.source.node() == entry.agent.source.node()
                && (!of_agent || other.agent.replica == entry.agent.replica)
        };
        let previous_key = entry.agent.previous_key.clone();
        let reason = |other: &TunnelEntry| {
            let is_replaced = Some(&other.agent.key) == previous_key.as_ref();
            (!is_replaced).then_some("the agent replica opened a new tunnel")
        };
        let mut displaced: Vec<_> = entries
            .extract_if(.., again)
            .map(|other| (Arc::clone(&other), reason(&other)))
            .collect();
        entries.push(entry);
        let limit = if of_agent {
            MAX_AGENT_TUNNELS
        } else {
            MAX_NODE_TUNNELS
        };
        let alike = |other: &Arc<TunnelEntry>| other.is_of_agent() == of_agent;
        if entries.iter().filter(|other| alike(other)).count() > limit
            && let Some(oldest) = entries.iter().position(alike)
        {
            let reason = "the cluster's agents opened too many tunnels";
            displaced.push((entries.remove(oldest), Some(reason)));
        }
        displaced
    }

    pub(super) fn choose(&self) -> Result<Arc<TunnelEntry>, NoTunnel> {
        let entries = self.entries.read();
        // An array, because requests must not allocate memory for the selection.
        let mut candidates = [Candidate::NONE; MAX_TUNNELS];
        let candidates = list(&entries, &mut candidates);
        let present = self.present.load(Ordering::Relaxed);
        let chosen = choice::choose(candidates, present).and_then(|index| entries.get(index));
        let Some(entry) = chosen else {
            let silent = candidates.iter().any(|candidate| candidate.usable);
            return Err(if silent {
                NoTunnel::Silent
            } else {
                NoTunnel::NotConnected
            });
        };
        if entry.id != present {
            self.switch(&entries, present, entry);
        }
        Ok(Arc::clone(entry))
    }

    /// Records that new requests use a different agent.
    fn switch(&self, entries: &[Arc<TunnelEntry>], previous: u64, chosen: &TunnelEntry) {
        // The lock also covers `present`, so that both values belong to the same selection.
        let mut switches = self.switches.lock();
        self.present.store(chosen.id, Ordering::Relaxed);
        let source = &chosen.agent.source;
        let active = switches.back();
        if active.is_some_and(|active| active.source.node() == source.node()) {
            return;
        }
        let previous = entries.iter().find(|entry| entry.id == previous);
        let reason = match previous.map(|entry| entry.candidate()) {
            None if active.is_none() => SwitchReason::Connected,
            None => SwitchReason::TunnelClosed,
            Some(previous) if !previous.usable => SwitchReason::TunnelClosed,
            Some(previous) => match previous.health {
                Health::Silent => SwitchReason::AgentSilent,
                Health::ApiServerDown => SwitchReason::ApiServerUnreachable,
                Health::Healthy => SwitchReason::PreferredAgentAvailable,
            },
        };
        let label = ReasonLabel {
            reason: reason.as_str(),
        };
        self.metrics.agent_switches.get_or_create(&label).inc();
        if switches.len() == MAX_SWITCHES {
            switches.pop_front();
        }
        switches.push_back(ActiveAgent {
            source: source.clone(),
            since: Timestamp::now(),
            reason,
        });
    }

    /// Returns the agent whose tunnels receive new requests. `None` if no tunnel was ever selected.
    pub(super) fn active(&self) -> Option<ActiveAgent> {
        self.switches.lock().back().cloned()
    }

    /// Returns the last switches between agents, oldest first.
    pub(super) fn switches(&self) -> Vec<ActiveAgent> {
        self.switches.lock().iter().cloned().collect()
    }

    /// Returns the tunnels of the agent and of node agents, oldest first.
    pub(super) fn entries(&self) -> Vec<Arc<TunnelEntry>> {
        self.entries.read().clone()
    }

    /// Returns a tunnel of the cluster agent whose API server responds.
    pub(super) fn of_agent(&self) -> Option<Arc<TunnelEntry>> {
        let entries = self.entries.read();
        let mut healthy = entries.iter().filter(|entry| {
            let candidate = entry.candidate();
            entry.is_of_agent() && candidate.usable && candidate.health == Health::Healthy
        });
        healthy.next().cloned()
    }

    /// Returns true if the tunnel is detached, or if a tunnel of a lower class replaces it.
    pub(super) fn is_superseded(&self, selected: &TunnelEntry) -> bool {
        let entries = self.entries.read();
        let mut candidates = [Candidate::NONE; MAX_TUNNELS];
        let candidates = list(&entries, &mut candidates);
        let Some(selected) = candidates.iter().find(|other| other.id == selected.id) else {
            return true;
        };
        let chosen = choice::choose(candidates, selected.id);
        chosen.is_some_and(|index| candidates[index].class() < selected.class())
    }

    pub(super) fn list(&self) -> Vec<Connected> {
        let entries = self.entries.read();
        entries
            .iter()
            .map(|entry| Connected {
                agent: entry.agent.clone(),
                health: entry.health(),
                open_streams: entry.tunnel.stats().open_streams,
            })
            .collect()
    }
}

/// Fills `candidates` with the tunnels of a cluster.
fn list<'a>(
    entries: &[Arc<TunnelEntry>],
    candidates: &'a mut [Candidate; MAX_TUNNELS],
) -> &'a [Candidate] {
    for (candidate, entry) in candidates.iter_mut().zip(entries) {
        *candidate = entry.candidate();
    }
    &candidates[..entries.len().min(MAX_TUNNELS)]
}
