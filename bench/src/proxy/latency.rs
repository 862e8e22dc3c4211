//! Measures the latency that Drover adds to small requests.

use super::{Measurement, Meter, ProxyBenchError, Stage, named_load, print_progress, shares_line};
use crate::figures::measure::Measure;
use crate::figures::{Figures, Goal, median};
use crate::load::{Latencies, at_rate, closed_loop};

const CONNECTIONS: usize = 16;
/// Request rate as a fraction of the maximum rate of direct requests. The fraction is low, because
/// a typical server is not saturated.
const SHARE: f64 = 0.25;
/// Fixed request rate of the second measurement, per second. The rate is far below the maximum rate,
/// so that the latencies contain little queueing.
const FIXED_RATE: f64 = 2000.0;

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
    let seen = at(rate, stage, effort).await?;
    seen.report(figures, "", Goal::AtMost(0.5), Goal::AtMost(5.0));
    let seen = at(FIXED_RATE, stage, effort).await?;
    seen.report(figures, "_2k", Goal::AtMost(0.3), Goal::AtMost(2.0));
    Ok(())
}

/// Measures the latencies of direct and proxied requests at `rate` requests per second, in turns.
async fn at(
    rate: f64,
    stage: &Stage,
    effort: &Measure<Measurement>,
) -> Result<Rounds, ProxyBenchError> {
    print_progress(&format!(
        "latency of 1 KiB at {rate:.0} requests per second"
    ));
    let (direct, drover) = (stage.direct("/small"), stage.drover("/small"));
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
    Ok(seen)
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

    /// Adds the medians to the figures. `suffix` is the end of the keys.
    fn report(&self, figures: &mut Figures, suffix: &str, p50_goal: Goal, p99_goal: Goal) {
        let (direct_p50, direct_p99) = (median(&self.direct_p50), median(&self.direct_p99));
        let (p50, p99) = (median(&self.p50), median(&self.p99));
        let mut add = |key: &str, value, goal| figures.add(&format!("{key}{suffix}"), value, goal);
        add("direct_p50_ms", direct_p50, Goal::None);
        add("direct_p99_ms", direct_p99, Goal::None);
        add("p50_ms", p50, Goal::None);
        add("p99_ms", p99, Goal::None);
        add("added_p50_ms", p50 - direct_p50, p50_goal);
        add("added_p99_ms", p99 - direct_p99, p99_goal);
        let label = format!("latency{suffix} through Drover");
        figures.note(shares_line(&label, &self.shares));
        if self.missed > 0 {
            let missed = self.missed;
            figures.note(format!(
                "latency{suffix}: the rate was not reached; {missed} requests were not sent"
            ));
        }
    }
}
