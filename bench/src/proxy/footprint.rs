//! Measures the memory of the server and the agent, and the start-up time of the server.

use std::time::{Duration, Instant};

use super::stage::StageError;
use super::{ProxyBenchError, Stage, named_load, print_progress};
use crate::figures::{Figures, Goal, median};
use crate::load::{Connection, ExchangeError, Target};
use crate::process::{rss_kib, stop};
use crate::scale;

const KIB_PER_MIB: f64 = 1024.0;
/// Number of idle clusters for measuring the memory of the server.
const FEW: u32 = 3;
/// Number of further idle clusters before the measurement of the memory per cluster. These clusters
/// fill the constant caches of the server.
const FILLING: u32 = 500;
/// Number of idle clusters for measuring the average memory per cluster.
const MANY: u32 = 1000;
const STARTS: usize = 5;
const TIMEOUT: Duration = Duration::from_mins(1);

/// Measures the agent of the stage, and a second server with the embedded hub and simulated clusters.
pub(super) async fn measure(stage: &Stage, figures: &mut Figures) -> Result<(), ProxyBenchError> {
    print_progress(&format!("memory at rest, with {FEW} clusters"));
    let mut clusters = scale::Stage::start(FEW + FILLING + MANY, 0).await?;
    clusters.join(FEW).await?;
    scale::settle().await;
    let mut add = |key, kib: f64, goal| figures.add(key, kib / KIB_PER_MIB, Goal::AtMost(goal));
    add("agent_rss_mib", rss_kib(stage.agent.id())?, 25.0);
    add("server_rss_mib", rss_kib(clusters.server_id())?, 60.0);
    print_progress(&format!("memory at rest, with {FILLING} more"));
    clusters.join(FILLING).await?;
    scale::settle().await;
    let before = rss_kib(clusters.server_id())?;
    print_progress(&format!("memory at rest, with {MANY} more"));
    clusters.join(MANY).await?;
    scale::settle().await;
    let after = rss_kib(clusters.server_id())?;
    figures.add("idle_clusters", f64::from(MANY), Goal::None);
    figures.add(
        "idle_cluster_kib",
        (after - before) / f64::from(MANY),
        Goal::AtMost(60.0),
    );
    Ok(())
}

/// Restarts the server with the existing hub, and waits for `/readyz`.
pub(super) async fn measure_ready(
    stage: &mut Stage,
    figures: &mut Figures,
) -> Result<(), ProxyBenchError> {
    print_progress("restarting the server");
    let ready = stage.server_itself("/readyz");
    let mut seen = Vec::new();
    for _ in 0..STARTS {
        let running = stage.server.running();
        // Stop the server gracefully, so that the next process does not wait for the Lease.
        stop(running).await?;
        let start = Instant::now();
        running.restart().map_err(StageError::from)?;
        // Poll without the test harness, because its polling interval is too long.
        while let Err(error) = answers(&ready).await {
            if start.elapsed() > TIMEOUT {
                return named_load("the server's start", Err(error));
            }
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
        seen.push(start.elapsed().as_secs_f64() * 1000.0);
    }
    figures.add("server_ready_ms", median(&seen), Goal::AtMost(300.0));
    Ok(())
}

async fn answers(target: &Target) -> Result<u64, ExchangeError> {
    Connection::open(target).await?.exchange().await
}
