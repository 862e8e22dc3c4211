//! The state that the watches of a stream have observed.

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;

use drover_api::kinds::{ComponentHealth, NodeAgentReport};
use drover_api::report::{AgentReport, EventReport, Report};
use parking_lot::Mutex;
use tokio::sync::Notify;

use crate::digest::{WATCHES_PER_OWNER, digests};
use crate::resource_list::ResourceList;
use crate::sums::{ObservedNode, PodFacts, Tally, nodes_report};
use crate::{node_facts, tunnel_nodes};

/// Maximum number of events in one line of the report stream.
const MOST_EVENTS: usize = 100;

/// The observed state, shared by the watches of one stream.
#[derive(Clone, Debug, Default)]
pub struct Observed {
    state: Arc<Mutex<State>>,
    changed: Arc<Notify>,
}

/// The data of all sections of a report.
#[derive(Debug, Default)]
pub struct State {
    /// The `gitVersion` of the API server.
    pub version: Option<String>,
    /// UID of the namespace kube-system.
    pub cluster_uid: Option<String>,
    /// The values of each node that the report needs, by UID.
    pub nodes: Tally<ObservedNode>,
    /// The reports of node agents, by UID of the ConfigMap.
    pub node_agents: Tally<(String, NodeAgentReport)>,
    /// The values of each unfinished pod that the report needs, by UID.
    pub pods: Tally<PodFacts>,
    /// Resource usage of all nodes together.
    pub usage: ResourceList,
    /// Health of the components. `None` before the first poll.
    pub components: Option<Vec<ComponentHealth>>,
    /// Status of the agent's Deployment. `None` if the agent runs outside the cluster.
    pub agent: Option<AgentReport>,
    /// Hashes of the applied objects, by owner. Each watch of an owner has a separate [`Tally`].
    pub applied: BTreeMap<&'static str, [Tally<String>; WATCHES_PER_OWNER]>,
    /// Events that are not yet reported, oldest first.
    pub events: VecDeque<EventReport>,
}

impl Observed {
    /// Changes the observed state, and wakes the task that writes lines.
    pub fn update(&self, change: impl FnOnce(&mut State)) {
        change(&mut self.state.lock());
        self.changed.notify_one();
    }

    /// Adds an event. Drops the oldest event if the queue is full.
    pub fn event(&self, event: EventReport) {
        self.update(|state| {
            if state.events.len() == MOST_EVENTS {
                state.events.pop_front();
            }
            state.events.push_back(event);
        });
    }

    /// Waits for the next [`Observed::update`].
    pub async fn changed(&self) {
        self.changed.notified().await;
    }

    /// Returns all sections with known values, and the events since the previous call.
    pub fn snapshot(&self) -> Report {
        let mut state = self.state.lock();
        Report {
            kubernetes_version: state.version.clone(),
            cluster_uid: state.cluster_uid.clone(),
            nodes: nodes_report(&state.nodes, &state.pods, &state.usage),
            tunnel_nodes: tunnel_nodes::candidates(&state.nodes),
            node_facts: node_facts::report(&state.nodes, &state.node_agents),
            components: state.components.clone(),
            agent: state.agent.clone(),
            drift: digests(&state.applied),
            refusals: Vec::new(),
            events: std::mem::take(&mut state.events).into(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn oldest_event_is_dropped_when_the_event_limit_is_exceeded() {
        let observed = Observed::default();
        for count in 0..150 {
            observed.event(EventReport {
                regarding: "Pod a/b".into(),
                reason: "BackOff".into(),
                message: String::new(),
                last_seen: jiff::Timestamp::UNIX_EPOCH,
                count,
            });
        }
        let events = observed.snapshot().events;
        assert_eq!(events.len(), MOST_EVENTS);
        assert_eq!(events[0].count, 50);
        assert!(observed.snapshot().events.is_empty());
    }
}
