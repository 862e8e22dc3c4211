//! Measures the latency that Drover adds to small requests.

use super::{Measurement, Meter, ProxyBenchError, Stage, named_load, print_progress, shares_line};
use crate::figures::measure::Measure;
use crate::figures::{Figures, Goal, median};
use crate::load::{Latencies, at_rate, closed_loop};

const CONNECTIONS: usize = 16;
/// Request rate as a fraction of the maximum rate of direct requests. The fraction is low, because
/// a typical server is not saturated.
const SHARE: f64 = 0.25;

pub(super) async fn measure(
    stage: &Stage,
    effort: &Measure<Measurement>,
    figures: &mut Figures,
) -> Result<(), ProxyBenchError> {
    let (direct, drover) = (stage.direct("/small"), stage.drover("/small"));
    let full = named_load(
        "direct",
        closed_loop(&direct, CONNECTIONS, effort.duration()).await,
    )?
    .rate;
    let own = named_load(
        "Drover",
        closed_loop(&drover, CONNECTIONS, effort.duration()).await,
    )?
    .rate;
    figures.add("direct_rps_c16", full, Goal::None);
    figures.add("rps_c16", own, Goal::None);
    let rate = full * SHARE;
    figures.add("latency_rate_rps", rate, Goal::None);
    print_progress(&format!(
        "latency of 1 KiB at {rate:.0} requests per second"
    ));
    let mut seen = Rounds::default();
    for _ in 0..effort.turns {
        let alone = named_load(
            "direct",
            at_rate(&direct, CONNECTIONS, rate, effort.duration()).await,
        )?;
        let meter = Meter::start(&stage.proxy_processes())?;
        let through = named_load(
            "Drover",
            at_rate(&drover, CONNECTIONS, rate, effort.duration()).await,
        )?;
        seen.add(&alone, &through);
        seen.shares = meter.shares()?;
    }
    seen.report(figures);
    Ok(())
}

/// The latencies of all rounds, in milliseconds.
#[derive(Default)]
struct Rounds {
    direct_p50: Vec<f64>,
    direct_p99: Vec<f64>,
    p50: Vec<f64>,
    p99: Vec<f64>,
    missed: u64,
    shares: Vec<(&'static str, f64)>,
}

impl Rounds {
    fn add(&mut self, direct: &Latencies, drover: &Latencies) {
        self.direct_p50.push(direct.quantile_ms(0.5));
        self.direct_p99.push(direct.quantile_ms(0.99));
        self.p50.push(drover.quantile_ms(0.5));
        self.p99.push(drover.quantile_ms(0.99));
        self.missed += direct.missed + drover.missed;
    }

    fn report(&self, figures: &mut Figures) {
        let (direct_p50, direct_p99) = (median(&self.direct_p50), median(&self.direct_p99));
        let (p50, p99) = (median(&self.p50), median(&self.p99));
        figures.add("direct_p50_ms", direct_p50, Goal::None);
        figures.add("direct_p99_ms", direct_p99, Goal::None);
        figures.add("p50_ms", p50, Goal::None);
        figures.add("p99_ms", p99, Goal::None);
        figures.add("added_p50_ms", p50 - direct_p50, Goal::AtMost(0.5));
        figures.add("added_p99_ms", p99 - direct_p99, Goal::AtMost(5.0));
        figures.note(shares_line("latency through Drover", &self.shares));
        if self.missed > 0 {
            let missed = self.missed;
            figures.note(format!(
                "latency: the rate was not reached; {missed} requests were not sent"
            ));
        }
    }
}
