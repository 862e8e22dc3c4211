//! Measures the effect of a nearly stalled reader on other requests.

use super::{Measurement, ProxyBenchError, Stage, named_load, print_progress};
use crate::figures::measure::Measure;
use crate::figures::{Figures, Goal, median};
use crate::load::{Connection, at_rate, closed_loop};

const CONNECTIONS: usize = 16;
const SHARE: f64 = 0.25;
/// Read rate of the stalled reader, in bytes per second.
const STALLED_RATE: usize = 10 * 1024;

pub(super) async fn measure(
    stage: &Stage,
    effort: &Measure<Measurement>,
    figures: &mut Figures,
) -> Result<(), ProxyBenchError> {
    let drover = stage.drover("/small");
    let full = named_load(
        "Drover",
        closed_loop(&drover, CONNECTIONS, effort.duration()).await,
    )?
    .rate;
    let rate = full * SHARE;
    print_progress(&format!(
        "latency during a stalled download, at {rate:.0} requests per second"
    ));
    let (mut without, mut with) = (Vec::new(), Vec::new());
    for _ in 0..effort.turns {
        let alone = named_load(
            "Drover",
            at_rate(&drover, CONNECTIONS, rate, effort.duration()).await,
        )?;
        without.push(alone.quantile_ms(0.99));
        let mut reader = named_load(
            "a stalled reader",
            Connection::open(&stage.drover("/stall")).await,
        )?;
        let reader = tokio::spawn(async move { reader.crawl(STALLED_RATE).await });
        // After this time, all buffers between backend and reader are full.
        tokio::time::sleep(std::time::Duration::from_millis(500)).await;
        let stalled = named_load(
            "Drover",
            at_rate(&drover, CONNECTIONS, rate, effort.duration()).await,
        )?;
        with.push(stalled.quantile_ms(0.99));
        if reader.is_finished() {
            let ended = reader
                .await
                .expect("the reader neither panics nor is aborted");
            named_load("a stalled reader", ended)?;
        } else {
            reader.abort();
        }
    }
    let (without, with) = (median(&without), median(&with));
    figures.add("stall_rate_rps", rate, Goal::None);
    figures.add("without_stalled_p99_ms", without, Goal::None);
    figures.add("with_stalled_p99_ms", with, Goal::None);
    figures.add("stalled_p99_ratio", with / without, Goal::AtMost(1.05));
    Ok(())
}
