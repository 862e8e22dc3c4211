//! What the watches have seen so far.

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;

use drover_api::kinds::ComponentHealth;
use drover_api::report::{AgentReport, EventReport, Report};
use parking_lot::Mutex;
use tokio::sync::Notify;

use super::drift::{self, WATCHES_PER_OWNER};
use super::resource_list::ResourceList;
use super::sums::{NodeFacts, PodFacts, Tally, nodes_report};

/// Most events in a line.
const MOST_EVENTS: usize = 100;

/// Shared by the watches of one stream.
#[derive(Clone, Debug, Default)]
pub struct Observed {
    state: Arc<Mutex<State>>,
    changed: Arc<Notify>,
}

/// Everything a report can hold.
#[derive(Debug, Default)]
pub struct State {
    /// `gitVersion`.
    pub version: Option<String>,
    /// UID of the namespace kube-system.
    pub cluster_uid: Option<String>,
    /// By UID.
    pub nodes: Tally<NodeFacts>,
    /// Facts of each unfinished pod, by UID.
    pub pods: Tally<PodFacts>,
    /// Sum over nodes.
    pub usage: ResourceList,
    /// `None` until asked once.
    pub components: Option<Vec<ComponentHealth>>,
    /// `None` where the agent runs outside the cluster.
    pub agent: Option<AgentReport>,
    /// Versions of the applied objects by owner; each watch of an owner has a tally by UID.
    pub applied: BTreeMap<&'static str, [Tally<String>; WATCHES_PER_OWNER]>,
    /// Not yet reported, oldest first.
    pub events: VecDeque<EventReport>,
}

impl Observed {
    /// Changes the state and wakes the writer.
    pub fn update(&self, change: impl FnOnce(&mut State)) {
        change(&mut self.state.lock());
        self.changed.notify_one();
    }

    /// Adds an event; the oldest goes when there are too many.
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

    /// Every section known now, and the events since the last call.
    pub fn snapshot(&self) -> Report {
        let mut state = self.state.lock();
        Report {
            kubernetes_version: state.version.clone(),
            cluster_uid: state.cluster_uid.clone(),
            nodes: nodes_report(&state.nodes, &state.pods, &state.usage),
            components: state.components.clone(),
            agent: state.agent.clone(),
            drift: drift::digests(&state.applied),
            refusals: Vec::new(),
            events: std::mem::take(&mut state.events).into(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn too_many_events_push_out_the_oldest() {
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
