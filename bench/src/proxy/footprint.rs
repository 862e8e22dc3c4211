//! Measures the memory of the server and the agent, and the start-up time of the server.

use std::time::{Duration, Instant};

use super::joining::{join, permit_all_lanes};
use super::stage::StageError;
use super::{ProxyBenchError, Stage, named_load, print_progress};
use crate::figures::{Figures, Goal, median};
use crate::load::{Connection, ExchangeError, Target};
use crate::process::rss_kib;

const KIB_PER_MIB: f64 = 1024.0;
/// Time after the start until the allocator has returned unused memory to the operating system.
const SETTLE: Duration = Duration::from_secs(10);
/// Number of additional idle clusters while the benchmark measures the base memory of the server.
const FEW: u32 = 2;
/// Number of idle clusters for measuring the average memory per cluster.
const MANY: u32 = 100;
const STARTS: usize = 5;
const STOP_TIMEOUT: Duration = Duration::from_secs(15);
const TIMEOUT: Duration = Duration::from_mins(1);

pub(super) async fn measure(stage: &Stage, figures: &mut Figures) -> Result<(), ProxyBenchError> {
    print_progress("memory at rest, with 3 clusters");
    permit_all_lanes(&stage.cluster).await?;
    let logs = stage.folder.path();
    let _few = join(&stage.server, &stage.cluster, 0, FEW, logs).await?;
    tokio::time::sleep(SETTLE).await;
    let agent = rss_kib(stage.agent.id())?;
    let before = rss_kib(stage.server.id())?;
    figures.add("agent_rss_mib", agent / KIB_PER_MIB, Goal::AtMost(25.0));
    figures.add("server_rss_mib", before / KIB_PER_MIB, Goal::AtMost(60.0));
    print_progress(&format!("memory at rest, with {MANY} more"));
    let _many = join(&stage.server, &stage.cluster, FEW, MANY, logs).await?;
    tokio::time::sleep(SETTLE).await;
    let after = rss_kib(stage.server.id())?;
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
        running
            .terminate(STOP_TIMEOUT)
            .await
            .map_err(StageError::from)?;
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
