//! Measures the takeover after the agents of all clusters have failed at the same time.

use std::sync::Arc;
use std::time::Duration;

use futures::StreamExt as _;
use futures::stream::FuturesUnordered;
use tokio::time::Instant;

use super::api_server::Caller;
use super::client::Client;
use super::clusters::{Cluster, Fault};
use crate::figures::{Figures, Goal};

/// Timeout of a request. The client then sends the next request to the cluster.
const REQUEST_TIMEOUT: Duration = Duration::from_secs(2);
/// Pause after a failed request.
const PAUSE: Duration = Duration::from_millis(100);
/// Timeout until all clusters respond.
const TIMEOUT: Duration = Duration::from_mins(2);

/// The clusters did not respond in time.
#[derive(Debug, thiserror::Error)]
#[error(
    "timed out after {seconds} s: {responding} of {total} clusters respond through the node agent",
    seconds = TIMEOUT.as_secs()
)]
pub(crate) struct NoResponse {
    responding: usize,
    total: usize,
}

/// All agents hang at the same time. Measures the time until each cluster has responded.
pub(super) async fn measure(
    clusters: &mut [Cluster],
    client: &Arc<Client>,
    figures: &mut Figures,
) -> Result<(), NoResponse> {
    let start = Instant::now();
    for cluster in &*clusters {
        cluster.inject(Fault::Hung);
    }
    let mut waiting: FuturesUnordered<_> = clusters
        .iter()
        .map(|cluster| until_taken_over(client, &cluster.name))
        .collect();
    let (total, mut responding) = (waiting.len(), 0);
    let all = async {
        while waiting.next().await.is_some() {
            responding += 1;
        }
    };
    let finished = tokio::time::timeout(TIMEOUT, all).await;
    let seconds = start.elapsed().as_secs_f64();
    drop(waiting);
    for cluster in clusters {
        cluster.repair(Fault::Hung);
    }
    finished.map_err(|_| NoResponse { responding, total })?;
    figures.add("takeover_1000_s", seconds, Goal::AtMost(15.0));
    Ok(())
}

/// Sends requests to a cluster until one succeeds through the node agent.
async fn until_taken_over(client: &Client, cluster: &str) {
    loop {
        let success = client.post(cluster, REQUEST_TIMEOUT).await;
        if success.is_some_and(|success| success.through == Caller::NodeAgent) {
            return;
        }
        tokio::time::sleep(PAUSE).await;
    }
}
