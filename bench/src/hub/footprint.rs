//! Measures the memory of the hub and kube-apiserver, the start-up time of the hub, and the latency
//! of the disk.

use std::fs::File;
use std::io::Write as _;
use std::time::{Duration, Instant};

use super::HubError;
use super::stage::{Stage, StageError, prepare};
use crate::figures::{Figures, Goal, median};
use crate::load::{Connection, ExchangeError, Target};
use crate::meter::print_progress;
use crate::process::{ProcessError, rss_kib, stop};

pub(super) const KIB_PER_MIB: f64 = 1024.0;
/// Time that the allocator needs to return unused memory to the operating system.
pub(super) const SETTLE: Duration = Duration::from_secs(10);
const STARTS: usize = 7;
const SYNCS: usize = 100;
const READY_MS: f64 = 250.0;
const RSS_RATIO: f64 = 0.15;

/// Measures the latency of fsync for 4 KiB. This latency affects the hub and kube-apiserver.
pub(super) fn measure_disk(stage: &Stage, figures: &mut Figures) -> Result<(), HubError> {
    let path = stage.folder.path().join("synced");
    let mut file = File::create(&path).map_err(prepare(&path))?;
    let mut seen = Vec::new();
    for _ in 0..SYNCS {
        let start = Instant::now();
        file.write_all(&[b'd'; 4096])
            .and_then(|()| file.sync_data())
            .map_err(prepare(&path))?;
        seen.push(start.elapsed().as_secs_f64() * 1000.0);
    }
    figures.add("fdatasync_p50_ms", median(&seen), Goal::None);
    Ok(())
}

/// Measures the start-up time of the hub with an empty store.
pub(super) async fn measure_ready(stage: &Stage, figures: &mut Figures) -> Result<(), HubError> {
    print_progress("starting the hub with an empty store");
    let mut seen = Vec::new();
    let other = stage.launch.with_other_port()?;
    let ready = other.ready();
    for number in 0..STARTS {
        let store = stage.folder.path().join(format!("start-{number}.db"));
        let start = Instant::now();
        let mut running = other.program(&store).start().map_err(StageError::from)?;
        seen.push(until_ready(&ready, start).await?);
        running.kill().map_err(StageError::from)?;
    }
    figures.add("ready_ms", median(&seen), Goal::AtMost(READY_MS));
    Ok(())
}

/// Measures the start-up time of the hub with a filled store.
pub(super) async fn measure_restart(
    stage: &mut Stage,
    figures: &mut Figures,
) -> Result<(), HubError> {
    print_progress("starting the hub with the filled store");
    let ready = stage.launch.ready();
    let mut seen = Vec::new();
    for _ in 0..STARTS {
        let hub = &mut stage.hub;
        stop(hub).await?;
        let start = Instant::now();
        hub.restart().map_err(StageError::from)?;
        seen.push(until_ready(&ready, start).await?);
    }
    stage.renew_process();
    figures.add("ready_full_ms", median(&seen), Goal::AtMost(READY_MS));
    Ok(())
}

/// Waits until the hub is ready. Polls more often than the test harness.
pub(super) async fn until_ready(target: &Target, start: Instant) -> Result<f64, HubError> {
    while let Err(source) = answers(target).await {
        if start.elapsed() > super::TIMEOUT {
            return Err(HubError::Load {
                operation: "a start",
                side: "drover",
                source,
            });
        }
        tokio::time::sleep(Duration::from_millis(1)).await;
    }
    Ok(start.elapsed().as_secs_f64() * 1000.0)
}

async fn answers(target: &Target) -> Result<u64, ExchangeError> {
    Connection::open(target).await?.exchange().await
}

/// Measures the memory of the hub and kube-apiserver before the load.
pub(super) async fn measure_rest(stage: &Stage, figures: &mut Figures) -> Result<(), HubError> {
    print_progress("memory at rest");
    tokio::time::sleep(SETTLE).await;
    let [ours, theirs] = memory(stage)?;
    figures.add("rest_rss_mib", ours, Goal::None);
    figures.add("kube_rest_rss_mib", theirs, Goal::None);
    figures.add("rest_rss_ratio", ours / theirs, Goal::None);
    Ok(())
}

/// Measures the memory of the hub and kube-apiserver after the load.
pub(super) async fn measure_rss(stage: &Stage, figures: &mut Figures) -> Result<(), HubError> {
    print_progress("memory after the load");
    tokio::time::sleep(SETTLE).await;
    let [ours, theirs] = memory(stage)?;
    figures.add("rss_mib", ours, Goal::None);
    figures.add("kube_rss_mib", theirs, Goal::None);
    figures.add("rss_ratio", ours / theirs, Goal::AtMost(RSS_RATIO));
    Ok(())
}

/// Returns the memory of the hub, and of kube-apiserver with etcd, in MiB.
fn memory(stage: &Stage) -> Result<[f64; 2], ProcessError> {
    let mut sums = [0.0; 2];
    for (sum, side) in sums.iter_mut().zip(stage.sides()) {
        for &(_, process) in &side.processes {
            *sum += rss_kib(process)? / KIB_PER_MIB;
        }
    }
    Ok(sums)
}
