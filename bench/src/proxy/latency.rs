//! What Drover adds to the latency of small requests.

use super::{Meter, Part, ProxyBenchError, Stage, say, shares_line, under};
use crate::figures::measure::Measure;
use crate::figures::{Figures, Goal, median};
use crate::load::{Latencies, at_rate, closed_loop};

const CONNECTIONS: usize = 16;
/// The share of what direct can do that is sent; a server in daily use is not full.
const SHARE: f64 = 0.25;

pub(super) async fn measure(
    stage: &Stage,
    effort: &Measure<Part>,
    figures: &mut Figures,
) -> Result<(), ProxyBenchError> {
    let (direct, drover) = (stage.direct("/small"), stage.drover("/small"));
    let full = under(
        "direct",
        closed_loop(&direct, CONNECTIONS, effort.duration()).await,
    )?
    .rate;
    let own = under(
        "Drover",
        closed_loop(&drover, CONNECTIONS, effort.duration()).await,
    )?
    .rate;
    figures.add("direct_rps_c16", full, Goal::None);
    figures.add("rps_c16", own, Goal::None);
    let rate = full * SHARE;
    figures.add("latency_rate_rps", rate, Goal::None);
    say(&format!("latency of 1 KiB at {rate:.0} requests a second"));
    let mut seen = Seen::default();
    for _ in 0..effort.turns {
        let alone = under(
            "direct",
            at_rate(&direct, CONNECTIONS, rate, effort.duration()).await,
        )?;
        let meter = Meter::start(&stage.proxy_processes())?;
        let through = under(
            "Drover",
            at_rate(&drover, CONNECTIONS, rate, effort.duration()).await,
        )?;
        seen.add(&alone, &through);
        seen.shares = meter.shares()?;
    }
    seen.report(figures);
    Ok(())
}

/// Milliseconds, a turn each.
#[derive(Default)]
struct Seen {
    direct_p50: Vec<f64>,
    direct_p99: Vec<f64>,
    p50: Vec<f64>,
    p99: Vec<f64>,
    missed: u64,
    shares: Vec<(&'static str, f64)>,
}

impl Seen {
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
                "latency: the rate was not kept; {missed} requests were never begun"
            ));
        }
    }
}
