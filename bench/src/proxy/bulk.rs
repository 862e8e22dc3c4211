//! Measures the download throughput through Drover and through the reference proxy.

use super::{Measurement, Meter, ProxyBenchError, Stage, named_load, print_progress, shares_line};
use crate::figures::measure::Measure;
use crate::figures::{Figures, Goal, median};
use crate::load::closed_loop;

/// Number of concurrent downloads.
const DOWNLOADS: usize = 4;
const MIB: f64 = 1024.0 * 1024.0;
/// Maximum number of rounds. Few rounds are sufficient, because each round transfers hundreds of
/// MiB.
const ROUNDS: u32 = 3;

pub(super) async fn measure(
    stage: &Stage,
    effort: &Measure<Measurement>,
    figures: &mut Figures,
) -> Result<(), ProxyBenchError> {
    print_progress("downloads of 100 MiB, four in parallel");
    let (mut ours, mut theirs, mut plain) = (Vec::new(), Vec::new(), Vec::new());
    let mut shares = Vec::new();
    for _ in 0..effort.turns.min(ROUNDS) {
        let meter = Meter::start(&stage.proxy_processes())?;
        let bytes = closed_loop(&stage.drover("/big"), DOWNLOADS, effort.duration()).await;
        ours.push(named_load("Drover", bytes)?.bytes / MIB);
        shares = meter.shares()?;
        let bytes = closed_loop(&stage.through_peer("/big"), DOWNLOADS, effort.duration()).await;
        theirs.push(named_load("the reference", bytes)?.bytes / MIB);
        let target = stage.through_plain_peer("/big");
        let bytes = closed_loop(&target, DOWNLOADS, effort.duration()).await;
        plain.push(named_load("the reference without TLS", bytes)?.bytes / MIB);
    }
    let direct = closed_loop(&stage.direct("/big"), DOWNLOADS, effort.duration()).await;
    let direct = named_load("direct", direct)?.bytes / MIB;
    figures.note(shares_line("downloads through Drover", &shares));
    let (ours, theirs, plain) = (median(&ours), median(&theirs), median(&plain));
    figures.add("direct_mib_per_s", direct, Goal::None);
    figures.add("mib_per_s", ours, Goal::None);
    figures.add("remotedialer_mib_per_s", theirs, Goal::None);
    figures.add("remotedialer_plain_mib_per_s", plain, Goal::None);
    figures.add("bytes_vs_remotedialer", ours / theirs, Goal::AtLeast(3.0));
    figures.add("bytes_vs_remotedialer_plain", ours / plain, Goal::None);
    Ok(())
}
