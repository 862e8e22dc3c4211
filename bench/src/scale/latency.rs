//! Measures the latency of requests while all clusters are connected.

use super::stage::Stage;
use super::{Measurement, ScaleError};
use crate::figures::measure::Measure;
use crate::figures::{Figures, Goal, median};
use crate::load::at_rate;
use crate::meter::{Meter, print_progress, shares_line};

const CONNECTIONS: usize = 16;

pub(super) async fn measure(
    stage: &Stage,
    rate: f64,
    effort: &Measure<Measurement>,
    figures: &mut Figures,
) -> Result<(), ScaleError> {
    print_progress(&format!(
        "latency of 1 KiB at {rate} requests per second to any cluster"
    ));
    let failed = |source| ScaleError::Load {
        operation: "requests to all clusters",
        source,
    };
    let target = stage.any_cluster("/small");
    let (mut p50, mut p99, mut missed) = (Vec::new(), Vec::new(), 0);
    let meter = Meter::start(&stage.processes())?;
    for _ in 0..effort.turns {
        let seen = at_rate(&target, CONNECTIONS, rate, effort.duration()).await;
        let seen = seen.map_err(failed)?;
        p50.push(seen.quantile_ms(0.5));
        p99.push(seen.quantile_ms(0.99));
        missed += seen.missed;
    }
    figures.add("get_rate_rps", rate, Goal::None);
    figures.add("get_p50_ms", median(&p50), Goal::None);
    figures.add("get_p99_ms", median(&p99), Goal::AtMost(50.0));
    figures.note(shares_line("latency", &meter.shares()?));
    if missed > 0 {
        figures.note(format!(
            "latency: the rate was not reached; {missed} requests were not sent"
        ));
    }
    Ok(())
}
