//! Selection of clusters, and requests to several clusters at the same time.

use std::collections::VecDeque;

use drover_api::rest::ClusterView;
use tokio::sync::mpsc;
use tokio::task::JoinSet;

use super::api::ClusterApi;
use super::label_selector::LabelSelector;
use crate::args::ClusterSelection;
use crate::client::{CallError, Client};
use crate::failure::Failure;
use crate::table::printable;
use crate::terminal::notice;

/// Number of clusters to which a command sends requests at the same time.
pub(crate) const CONCURRENCY: usize = 16;

/// Returns the selected clusters, sorted by name. Without a selection, the result contains all
/// clusters that the user can access, except the hub.
pub(crate) async fn selected_clusters(
    client: &Client,
    selection: &ClusterSelection,
) -> Result<Vec<ClusterApi>, Failure> {
    let mut names = selection.clusters.clone();
    if names.is_empty() {
        let selector: Option<LabelSelector> = match &selection.selector {
            Some(text) => Some(text.parse().map_err(|e| Failure::Usage(format!("{e}")))?),
            None => None,
        };
        let known: Vec<ClusterView> = client.list(&["v1", "clusters"]).await?;
        let matches = |cluster: &ClusterView| {
            let selector = selector.as_ref();
            selector.is_none_or(|selector| selector.matches(&cluster.labels))
        };
        let matching = known.into_iter().filter(matches);
        names = matching.map(|cluster| cluster.name).collect();
    }
    names.sort();
    names.dedup();
    if names.is_empty() {
        return Err(Failure::Absent(match &selection.selector {
            Some(selector) => format!(
                "no cluster has labels that match {selector:?}; to see the labels, run: drover \
                 cluster list -o yaml"
            ),
            None => "you can access no cluster; ask an administrator for a role".to_owned(),
        }));
    }
    let apis = names.iter().map(|name| ClusterApi::new(client, name));
    Ok(apis.collect())
}

/// Runs a task for each cluster, at most [`CONCURRENCY`] at the same time. Passes the messages of
/// the tasks to `consume` in the order of the clusters. A task waits while its messages are not
/// consumed, so the memory does not depend on the number of clusters.
pub(crate) async fn in_order<T: Send + 'static, F>(
    clusters: &[ClusterApi],
    start: impl Fn(ClusterApi, mpsc::Sender<T>) -> F,
    mut consume: impl FnMut(&ClusterApi, T) -> Result<(), Failure>,
) -> Result<(), Failure>
where
    F: Future<Output = ()> + Send + 'static,
{
    // Dropping the set ends the tasks.
    let mut tasks = JoinSet::new();
    let mut running = VecDeque::new();
    let mut waiting = clusters.iter();
    loop {
        while running.len() < CONCURRENCY
            && let Some(cluster) = waiting.next()
        {
            let (sender, receiver) = mpsc::channel(1);
            tasks.spawn(start(cluster.clone(), sender));
            running.push_back((cluster, receiver));
        }
        let Some((cluster, mut receiver)) = running.pop_front() else {
            return Ok(());
        };
        while let Some(message) = receiver.recv().await {
            consume(cluster, message)?;
        }
    }
}

/// The clusters whose requests failed. A command with several clusters prints each error and
/// continues with the other clusters.
#[derive(Debug)]
pub(crate) struct ClusterFailures {
    total: usize,
    failed: usize,
    only: Option<CallError>,
}

impl ClusterFailures {
    /// Creates an empty set of failures of a command for this number of clusters.
    pub(crate) const fn new(total: usize) -> Self {
        Self {
            total,
            failed: 0,
            only: None,
        }
    }

    /// Adds the failure of a cluster. Prints the error if the command is for several clusters.
    pub(crate) fn add(&mut self, cluster: &str, error: CallError) {
        self.failed += 1;
        if self.total == 1 {
            self.only = Some(error);
        } else {
            notice(&printable(&format!("drover: {cluster}: {error}")));
        }
    }

    /// Returns an error if at least one cluster failed.
    pub(crate) fn finish(self) -> Result<(), Failure> {
        match (self.failed, self.only) {
            (0, _) => Ok(()),
            (_, Some(error)) => Err(error.into()),
            (failed, None) => Err(Failure::Other(format!(
                "the result is incomplete: {failed} of {total} clusters failed",
                total = self.total
            ))),
        }
    }
}
