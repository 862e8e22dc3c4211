//! Measures the throughput of small requests through Drover and through the reference proxy.

use super::{Measurement, Meter, ProxyBenchError, Stage, named_load, print_progress, shares_line};
use crate::figures::measure::Measure;
use crate::figures::{Figures, Goal, median};
use crate::load::closed_loop;

const CONNECTIONS: usize = 128;

pub(super) async fn measure(
    stage: &Stage,
    effort: &Measure<Measurement>,
    figures: &mut Figures,
) -> Result<(), ProxyBenchError> {
    print_progress("requests per second with 128 connections");
    let (mut ours, mut theirs, mut plain) = (Vec::new(), Vec::new(), Vec::new());
    let (mut our_shares, mut their_shares) = (Vec::new(), Vec::new());
    for _ in 0..effort.turns {
        let meter = Meter::start(&stage.proxy_processes())?;
        let rate = closed_loop(&stage.drover("/small"), CONNECTIONS, effort.duration()).await;
        ours.push(named_load("Drover", rate)?.rate);
        our_shares = meter.shares()?;
        let meter = Meter::start(&stage.peer.processes())?;
        let rate = closed_loop(
            &stage.through_peer("/small"),
            CONNECTIONS,
            effort.duration(),
        )
        .await;
        theirs.push(named_load("the reference", rate)?.rate);
        their_shares = meter.shares()?;
        let target = stage.through_plain_peer("/small");
        let rate = closed_loop(&target, CONNECTIONS, effort.duration()).await;
        plain.push(named_load("the reference without TLS", rate)?.rate);
    }
    let meter = Meter::start(&stage.backend())?;
    let direct = closed_loop(&stage.direct("/small"), CONNECTIONS, effort.duration()).await;
    let direct = named_load("direct", direct)?.rate;
    figures.note(shares_line("128 connections direct", &meter.shares()?));
    figures.note(shares_line("128 connections through Drover", &our_shares));
    figures.note(shares_line(
        "128 connections through the reference",
        &their_shares,
    ));
    let (ours, theirs, plain) = (median(&ours), median(&theirs), median(&plain));
    figures.add("direct_rps_c128", direct, Goal::None);
    figures.add("rps_c128", ours, Goal::None);
    figures.add("remotedialer_rps_c128", theirs, Goal::None);
    figures.add("remotedialer_plain_rps_c128", plain, Goal::None);
    figures.add(
        "rps_vs_remotedialer_c128",
        ours / theirs,
        Goal::AtLeast(3.0),
    );
    figures.add("rps_vs_remotedialer_plain_c128", ours / plain, Goal::None);
    Ok(())
}
