//! What server and agent hold in memory, and how soon the server is ready.

use std::time::{Duration, Instant};

use super::stage::StageError;
use super::{RoadError, Stage, say};
use crate::figures::{Figures, Goal, median};
use crate::process::rss_kib;

const KIB_PER_MIB: f64 = 1024.0;
/// Long enough for what a start allocates to be given back.
const SETTLE: Duration = Duration::from_secs(5);
const STARTS: usize = 5;

pub(super) async fn measure(stage: &mut Stage, figures: &mut Figures) -> Result<(), RoadError> {
    say("memory at rest");
    tokio::time::sleep(SETTLE).await;
    figures.add(
        "agent_rss_mib",
        rss_kib(stage.agent.id())? / KIB_PER_MIB,
        Goal::AtMost(25.0),
    );
    figures.add(
        "server_rss_mib",
        rss_kib(stage.server.id())? / KIB_PER_MIB,
        Goal::AtMost(60.0),
    );
    Ok(())
}

/// Starts the server anew, on a hub that knows it, and waits for `/readyz`.
pub(super) async fn measure_ready(
    stage: &mut Stage,
    figures: &mut Figures,
) -> Result<(), RoadError> {
    say("starts of the server");
    let mut seen = Vec::new();
    for _ in 0..STARTS {
        stage.server.running().kill().map_err(StageError::from)?;
        let start = Instant::now();
        stage.server.restart().await.map_err(StageError::from)?;
        seen.push(start.elapsed().as_secs_f64() * 1000.0);
    }
    figures.add("server_ready_ms", median(&seen), Goal::AtMost(1000.0));
    Ok(())
}
