//! Measures how long requests fail after a fault of the agent.

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::mpsc;
use tokio::time::Instant;

use super::api_server::Caller;
use super::client::{Client, Success};
use super::clusters::{Cluster, Fault};
use crate::figures::{Figures, Goal, median};

/// Interval of the probes of a tunnel with requests. The faults are spread evenly over the interval.
const PROBE_INTERVAL: Duration = Duration::from_millis(1500);
/// Timeout until requests use the expected agent.
const TIMEOUT: Duration = Duration::from_mins(2);

/// The reason why the takeover cannot be measured.
#[derive(Debug, thiserror::Error)]
pub(crate) enum TakeoverError {
    /// The requests did not use the expected agent in time.
    #[error(
        "the requests to {cluster} did not use {expected} within {seconds} s (fault: {fault})",
        seconds = TIMEOUT.as_secs()
    )]
    Slow {
        cluster: String,
        expected: &'static str,
        fault: &'static str,
    },
}

/// Measures all faults, `runs` times each. The clusters run at the same time.
pub(super) async fn measure(
    clusters: &mut [Cluster],
    client: &Arc<Client>,
    runs: u32,
    figures: &mut Figures,
) -> Result<(), TakeoverError> {
    let step = clusters.len();
    let clusters = clusters.iter_mut().enumerate().map(|(first, cluster)| {
        let offsets = (0..runs).skip(first).step_by(step);
        let offsets = offsets.map(|run| PROBE_INTERVAL * run / runs.max(1));
        measure_cluster(cluster, client, offsets.collect())
    });
    let measured = futures::future::try_join_all(clusters).await?;
    let measured: Vec<_> = measured.into_iter().flatten().collect();
    let seconds = |counts: &dyn Fn(Fault) -> bool| -> Vec<f64> {
        let counted = measured.iter().filter(|(fault, _)| counts(*fault));
        counted.map(|(_, seconds)| *seconds).collect()
    };
    let all = seconds(&|_| true);
    // A second form of the same fault must not change the weight of the faults.
    let five = seconds(&|fault| fault != Fault::ApiServerSilent);
    figures.add("takeover_p50_s", median(&five), Goal::AtMost(2.0));
    figures.add("takeover_max_s", max(&all), Goal::AtMost(5.0));
    for fault in Fault::ALL {
        let seconds = seconds(&|other| other == fault);
        let key = fault.key();
        figures.add(
            &format!("takeover_{key}_p50_s"),
            median(&seconds),
            Goal::None,
        );
        figures.add(&format!("takeover_{key}_max_s"), max(&seconds), Goal::None);
    }
    let takeovers = u32::try_from(all.len()).unwrap_or(u32::MAX);
    figures.add("takeovers", f64::from(takeovers), Goal::None);
    Ok(())
}

fn max(values: &[f64]) -> f64 {
    values.iter().copied().fold(f64::NAN, f64::max)
}

/// Causes each fault once per offset. Returns the seconds until a request succeeded through the node
/// agent.
async fn measure_cluster(
    cluster: &mut Cluster,
    client: &Arc<Client>,
    offsets: Vec<Duration>,
) -> Result<Vec<(Fault, f64)>, TakeoverError> {
    let mut successes = client.send_continuously(&cluster.name);
    let mut measured = Vec::new();
    for offset in offsets {
        for fault in Fault::ALL {
            let slow = |expected| TakeoverError::Slow {
                cluster: cluster.name.clone(),
                expected,
                fault: fault.key(),
            };
            let used = first(&mut successes, Caller::Agent, Instant::now()).await;
            used.ok_or_else(|| slow("the agent"))?;
            tokio::time::sleep(offset).await;
            let start = Instant::now();
            cluster.inject(fault);
            let success = first(&mut successes, Caller::NodeAgent, start).await;
            let success = success.ok_or_else(|| slow("the node agent"))?;
            measured.push((fault, (success.received - start).as_secs_f64()));
            cluster.repair(fault);
        }
    }
    Ok(measured)
}

/// Waits for the first request that was sent after `start` and succeeded through an agent. Returns
/// `None` after the timeout.
async fn first(
    successes: &mut mpsc::UnboundedReceiver<Success>,
    through: Caller,
    start: Instant,
) -> Option<Success> {
    let found = async {
        loop {
            let success = successes.recv().await?;
            if success.sent >= start && success.through == through {
                return Some(success);
            }
        }
    };
    tokio::time::timeout(TIMEOUT, found).await.ok().flatten()
}
