//! The roll-up of many deployments, which a change of one deployment updates in logarithmic time.

use std::collections::{BTreeMap, BTreeSet};

use drover_api::fleet::{
    BundleSummary, ModifiedStatus, NonReadyResource, NonReadyStatus, ResourceCounts,
};

use super::deployment::DeploymentState;
use super::state::State;

/// Maximum number of listed deployments that are not ready.
pub const MAX_LISTED: usize = 10;
/// Maximum number of objects of one deployment in a message.
const MAX_OBJECTS_IN_MESSAGE: usize = 4;

/// The roll-up of the deployments of a GitRepo, HelmOp, Bundle or Cluster.
///
/// Keys determine the order of lists. Use the UID of a deployment, or the cluster's name in the
/// roll-up of a Bundle.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Aggregate {
    entries: BTreeMap<String, DeploymentState>,
    by_state: BTreeMap<State, BTreeSet<String>>,
    clusters: BTreeMap<String, ClusterTotals>,
    counts: ResourceCounts,
}

#[derive(Clone, Debug, Default, PartialEq)]
struct ClusterTotals {
    deployments: usize,
    ready: usize,
    counts: ResourceCounts,
}

impl Aggregate {
    /// Adds or replaces the deployment with this key. Reports whether the roll-up can differ.
    pub fn set(&mut self, key: &str, entry: DeploymentState) -> bool {
        if self.entries.get(key) == Some(&entry) {
            return false;
        }
        self.remove(key);
        self.by_state
            .entry(entry.state)
            .or_default()
            .insert(key.to_owned());
        add_counts(&mut self.counts, &entry.counts, 1);
        self.update_cluster(&entry, true);
        self.entries.insert(key.to_owned(), entry);
        true
    }

    /// Removes the deployment with this key. Reports whether there was a deployment.
    pub fn remove(&mut self, key: &str) -> bool {
        let Some(entry) = self.entries.remove(key) else {
            return false;
        };
        if let Some(keys) = self.by_state.get_mut(&entry.state) {
            keys.remove(key);
            if keys.is_empty() {
                self.by_state.remove(&entry.state);
            }
        }
        add_counts(&mut self.counts, &entry.counts, -1);
        self.update_cluster(&entry, false);
        true
    }

    fn update_cluster(&mut self, entry: &DeploymentState, is_added: bool) {
        if entry.cluster.is_empty() {
            return;
        }
        let totals = self.clusters.entry(entry.cluster.clone()).or_default();
        let ready = usize::from(entry.state == State::Ready);
        if is_added {
            totals.deployments += 1;
            totals.ready += ready;
            add_counts(&mut totals.counts, &entry.counts, 1);
        } else {
            totals.deployments = totals.deployments.saturating_sub(1);
            totals.ready = totals.ready.saturating_sub(ready);
            add_counts(&mut totals.counts, &entry.counts, -1);
        }
        if totals.deployments == 0 {
            self.clusters.remove(&entry.cluster);
        }
    }

    /// Returns the number of deployments.
    #[must_use]
    pub fn len(&self) -> usize {
        self.entries.len()
    }

    /// Reports whether there are no deployments.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// Returns the number of deployments in a state.
    #[must_use]
    pub fn count(&self, state: State) -> usize {
        self.by_state.get(&state).map_or(0, BTreeSet::len)
    }

    /// Returns the worst state, or nothing if all deployments are ready.
    #[must_use]
    pub fn state(&self) -> Option<State> {
        let (worst, _) = self.by_state.last_key_value()?;
        (*worst != State::Ready).then_some(*worst)
    }

    /// Returns the message of the first deployment in the worst state.
    #[must_use]
    pub fn message(&self) -> &str {
        let first = self.state().and_then(|state| self.first(state));
        first.map_or("", |entry| &entry.message)
    }

    fn first(&self, state: State) -> Option<&DeploymentState> {
        self.entries.get(self.by_state.get(&state)?.first()?)
    }

    /// Returns the numbers of objects by state.
    #[must_use]
    pub fn resource_counts(&self) -> &ResourceCounts {
        &self.counts
    }

    /// Returns the numbers of deployments by state, and the first deployments that are not ready.
    #[must_use]
    pub fn summary(&self) -> BundleSummary {
        let count = |state| integer(self.count(state));
        BundleSummary {
            ready: count(State::Ready),
            desired_ready: integer(self.entries.len()),
            not_ready: count(State::NotReady),
            wait_applied: count(State::WaitApplied),
            err_applied: count(State::ErrApplied),
            out_of_sync: count(State::OutOfSync),
            modified: count(State::Modified),
            pending: count(State::Pending),
            non_ready_resources: self.non_ready(),
        }
    }

    /// Returns the first deployments that are not ready, in the order of keys.
    fn non_ready(&self) -> Vec<NonReadyResource> {
        let states = self
            .by_state
            .iter()
            .filter(|(state, _)| **state != State::Ready);
        let mut keys: Vec<&String> = states
            .flat_map(|(_, keys)| keys.iter().take(MAX_LISTED))
            .collect();
        keys.sort();
        let entries = keys
            .into_iter()
            .take(MAX_LISTED)
            .filter_map(|key| self.entries.get(key));
        entries.map(non_ready).collect()
    }

    /// Returns the numbers of ready and of all clusters or owners whose names start with a prefix.
    pub(super) fn ready_and_all(&self, prefix: &str) -> (i64, i64) {
        let found = self
            .clusters
            .iter()
            .filter(|(name, _)| name.starts_with(prefix));
        let (mut ready, mut all) = (0, 0);
        for (_, totals) in found {
            ready += i64::from(totals.is_ready());
            all += 1;
        }
        (ready, all)
    }

    /// Returns the text `ready/all` of deployments.
    #[must_use]
    pub fn ready_text(&self) -> String {
        format!("{}/{}", self.count(State::Ready), self.entries.len())
    }

    /// Returns the message of the condition `Ready`: a cause for each state, or an empty text if all
    /// deployments are ready. `kind` is the kind of the names in the list.
    #[must_use]
    pub fn ready_message(&self, kind: &str) -> String {
        let mut messages = Vec::new();
        for (state, keys) in &self.by_state {
            let Some(entry) = self.first(*state).filter(|_| *state != State::Ready) else {
                continue;
            };
            let cause = if entry.message.is_empty() {
                String::new()
            } else {
                format!(": {}", entry.message)
            };
            messages.push(format!(
                "{}({}) [{kind} {}{cause}]",
                state.name(),
                keys.len(),
                entry.name
            ));
            let modified = entry.modified.iter().take(MAX_OBJECTS_IN_MESSAGE);
            messages.extend(modified.map(modified_text));
            let non_ready = entry.non_ready.iter().take(MAX_OBJECTS_IN_MESSAGE);
            messages.extend(non_ready.map(non_ready_text));
        }
        messages.sort();
        messages.join("; ")
    }

    /// Returns the numbers of objects by state, for each cluster.
    pub(super) fn counts_by_cluster(&self) -> BTreeMap<String, ResourceCounts> {
        let clusters = self.clusters.iter();
        clusters
            .map(|(cluster, totals)| (cluster.clone(), totals.counts.clone()))
            .collect()
    }
}

impl ClusterTotals {
    fn is_ready(&self) -> bool {
        self.deployments > 0 && self.deployments == self.ready
    }
}

/// Returns the summary of the deployments in a list. Their names must be the keys in the summary of an
/// [`Aggregate`].
#[must_use]
pub fn summarize<'a>(entries: impl Iterator<Item = &'a DeploymentState>) -> BundleSummary {
    let mut summary = BundleSummary::default();
    let mut others = Vec::new();
    for entry in entries {
        summary.desired_ready += 1;
        let count = match entry.state {
            State::Ready => &mut summary.ready,
            State::NotReady => &mut summary.not_ready,
            State::WaitApplied => &mut summary.wait_applied,
            State::ErrApplied => &mut summary.err_applied,
            State::OutOfSync => &mut summary.out_of_sync,
            State::Modified => &mut summary.modified,
            State::Pending => &mut summary.pending,
        };
        *count += 1;
        if entry.state != State::Ready {
            others.push(entry);
        }
    }
    others.sort_by_key(|entry| &entry.name);
    others.truncate(MAX_LISTED);
    summary.non_ready_resources = others.into_iter().map(non_ready).collect();
    summary
}

fn non_ready(entry: &DeploymentState) -> NonReadyResource {
    NonReadyResource {
        name: entry.name.clone(),
        state: entry.state.name().to_owned(),
        message: entry.message.clone(),
        modified_status: entry.modified.clone(),
        non_ready_status: entry.non_ready.clone(),
    }
}

pub(super) fn integer(number: usize) -> i64 {
    i64::try_from(number).unwrap_or(i64::MAX)
}

pub(super) fn add_counts(total: &mut ResourceCounts, counts: &ResourceCounts, factor: i64) {
    total.ready += factor * counts.ready;
    total.desired_ready += factor * counts.desired_ready;
    total.wait_applied += factor * counts.wait_applied;
    total.modified += factor * counts.modified;
    total.orphaned += factor * counts.orphaned;
    total.missing += factor * counts.missing;
    total.unknown += factor * counts.unknown;
    total.not_ready += factor * counts.not_ready;
}

/// Returns the name of an object in messages: `kind.group namespace/name`.
fn object_text(api_version: &str, kind: &str, namespace: &str, name: &str) -> String {
    let group = api_version.split('/').next().unwrap_or_default();
    let dot = if group.is_empty() { "" } else { "." };
    let slash = if namespace.is_empty() { "" } else { "/" };
    format!(
        "{}{dot}{group} {namespace}{slash}{name}",
        kind.to_lowercase()
    )
}

fn modified_text(status: &ModifiedStatus) -> String {
    let object = object_text(
        &status.api_version,
        &status.kind,
        &status.namespace,
        &status.name,
    );
    match (status.create, status.exist, status.delete) {
        (true, true, _) => format!("{object} is not owned by us"),
        (true, false, _) => format!("{object} missing"),
        (false, _, true) => format!("{object} extra"),
        (false, _, false) => format!("{object} modified {}", status.patch),
    }
}

fn non_ready_text(status: &NonReadyStatus) -> String {
    let object = object_text(
        &status.api_version,
        &status.kind,
        &status.namespace,
        &status.name,
    );
    let summary = &status.summary;
    let words = match (summary.transitioning, summary.error) {
        (false, false) => return format!("{object} {}", summary.state),
        (true, false) => "[progressing]",
        (true, true) => "[progressing,error]",
        (false, true) => "error]",
    };
    let messages = summary.message.join(", ");
    let space = if messages.is_empty() { "" } else { " " };
    format!("{object} {words}{space}{messages}")
}
