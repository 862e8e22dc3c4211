//! The roll-up of the clusters of a ClusterGroup.

use std::collections::{BTreeMap, BTreeSet};

use drover_api::fleet::{
    BundleSummary, ClusterGroupStatus, FleetCluster, NonReadyResource, ResourceCounts,
};

use super::aggregate::{MAX_LISTED, add_counts, integer};
use super::conditions::ready_condition;
use super::state::State;

/// The roll-up of clusters, which a change of one cluster updates in logarithmic time.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct GroupAggregate {
    clusters: BTreeMap<String, (BundleSummary, ResourceCounts)>,
    non_ready: BTreeSet<String>,
    total: BundleSummary,
    counts: ResourceCounts,
}

impl GroupAggregate {
    /// Adds or replaces a cluster.
    pub fn set(&mut self, cluster: &FleetCluster) {
        let name = cluster.metadata.name.clone().unwrap_or_default();
        self.remove(&name);
        let status = cluster.status.clone().unwrap_or_default();
        add_summary(&mut self.total, &status.summary, 1);
        add_counts(&mut self.counts, &status.resource_counts, 1);
        if status.summary.ready != status.summary.desired_ready {
            self.non_ready.insert(name.clone());
        }
        self.clusters
            .insert(name, (status.summary, status.resource_counts));
    }

    /// Removes a cluster.
    pub fn remove(&mut self, name: &str) {
        if let Some((summary, counts)) = self.clusters.remove(name) {
            add_summary(&mut self.total, &summary, -1);
            add_counts(&mut self.counts, &counts, -1);
            self.non_ready.remove(name);
        }
    }

    fn non_ready_resources(&self) -> Vec<NonReadyResource> {
        let summaries = self
            .non_ready
            .iter()
            .filter_map(|name| self.clusters.get(name));
        let listed = summaries.flat_map(|(summary, _)| &summary.non_ready_resources);
        listed.take(MAX_LISTED).cloned().collect()
    }

    /// Returns the worst state, or nothing if all deployments are ready.
    #[must_use]
    pub fn state(&self) -> Option<State> {
        let total = &self.total;
        [
            (State::ErrApplied, total.err_applied),
            (State::WaitApplied, total.wait_applied),
            (State::Modified, total.modified),
            (State::OutOfSync, total.out_of_sync),
            (State::Pending, total.pending),
            (State::NotReady, total.not_ready),
        ]
        .into_iter()
        .find_map(|(state, count)| (count > 0).then_some(state))
    }

    /// Writes the roll-up to the status of the group. `now` is a time in RFC 3339.
    pub fn write_status(&self, status: &mut ClusterGroupStatus, now: &str) {
        let non_ready: Vec<String> = self.non_ready.iter().take(MAX_LISTED).cloned().collect();
        status.cluster_count = integer(self.clusters.len());
        status.non_ready_cluster_count = integer(self.non_ready.len());
        status.summary = self.total.clone();
        status.summary.non_ready_resources = self.non_ready_resources();
        status.resource_counts = self.counts.clone();
        let ready = self.clusters.len() - self.non_ready.len();
        let mut text = format!("{ready}/{}", self.clusters.len());
        if !non_ready.is_empty() {
            text = format!("{text} ({})", non_ready.join(","));
        }
        status.display.ready_clusters = text;
        status.display.ready_bundles = format!("{}/{}", self.total.ready, self.total.desired_ready);
        self.state()
            .map_or("", State::name)
            .clone_into(&mut status.display.state);
        status.non_ready_clusters = non_ready;
        ready_condition(&mut status.conditions, &message(&status.summary), now);
    }
}

/// Returns one cause for each listed state.
fn message(summary: &BundleSummary) -> String {
    let mut messages = BTreeMap::new();
    for entry in &summary.non_ready_resources {
        let cause = if entry.message.is_empty() {
            String::new()
        } else {
            format!(": {}", entry.message)
        };
        let count = State::parse(&entry.state).map_or(0, |state| count(summary, state));
        messages
            .entry(&entry.state)
            .or_insert_with(|| format!("{}({count}) [Bundle {}{cause}]", entry.state, entry.name));
    }
    messages.into_values().collect::<Vec<_>>().join("; ")
}

fn count(summary: &BundleSummary, state: State) -> i64 {
    match state {
        State::Ready => summary.ready,
        State::NotReady => summary.not_ready,
        State::Pending => summary.pending,
        State::OutOfSync => summary.out_of_sync,
        State::Modified => summary.modified,
        State::WaitApplied => summary.wait_applied,
        State::ErrApplied => summary.err_applied,
    }
}

fn add_summary(total: &mut BundleSummary, summary: &BundleSummary, factor: i64) {
    total.ready += factor * summary.ready;
    total.desired_ready += factor * summary.desired_ready;
    total.not_ready += factor * summary.not_ready;
    total.wait_applied += factor * summary.wait_applied;
    total.err_applied += factor * summary.err_applied;
    total.out_of_sync += factor * summary.out_of_sync;
    total.modified += factor * summary.modified;
    total.pending += factor * summary.pending;
}
