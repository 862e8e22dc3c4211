//! Measures the throughput of small requests through Drover and through the reference proxy.

use std::time::Duration;

use super::{Measurement, Meter, ProxyBenchError, Stage, named_load, print_progress, shares_line};
use crate::calls::{CallCounter, CallsError};
use crate::figures::measure::Measure;
use crate::figures::{Figures, Goal, median};
use crate::load::closed_loop;

const CONNECTIONS: usize = 128;
/// Time until perf counts the system calls of all threads of a process.
const ATTACH: Duration = Duration::from_millis(500);

pub(super) async fn measure(
    stage: &Stage,
    effort: &Measure<Measurement>,
    figures: &mut Figures,
) -> Result<(), ProxyBenchError> {
    print_progress("requests per second with 128 connections");
    let (mut ours, mut theirs, mut plain) = (Vec::new(), Vec::new(), Vec::new());
    let (mut server, mut agent) = (Vec::new(), Vec::new());
    let (mut our_shares, mut their_shares) = (Vec::new(), Vec::new());
    for _ in 0..effort.turns {
        let meter = Meter::start(&stage.proxy_processes())?;
        let rate = closed_loop(&stage.drover("/small"), CONNECTIONS, effort.duration()).await;
        let rate = named_load("Drover", rate)?.rate;
        our_shares = meter.shares()?;
        ours.push(rate);
        server.push(micros_per_request(&our_shares, "server", rate));
        agent.push(micros_per_request(&our_shares, "agent", rate));
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
    figures.note(format!("requests per second of each round: {ours:.0?}"));
    let (ours, theirs, plain) = (median(&ours), median(&theirs), median(&plain));
    figures.add("direct_rps_c128", direct, Goal::None);
    figures.add("rps_c128", ours, Goal::None);
    figures.add("server_us", median(&server), Goal::AtMost(25.0));
    figures.add("agent_us", median(&agent), Goal::AtMost(15.0));
    figures.add("remotedialer_rps_c128", theirs, Goal::None);
    figures.add("remotedialer_plain_rps_c128", plain, Goal::None);
    figures.add(
        "rps_vs_remotedialer_c128",
        ours / theirs,
        Goal::AtLeast(3.0),
    );
    figures.add("rps_vs_remotedialer_plain_c128", ours / plain, Goal::None);
    count_calls(stage, effort, figures).await
}

/// Counts the system calls of the server and of the agent per request.
async fn count_calls(
    stage: &Stage,
    effort: &Measure<Measurement>,
    figures: &mut Figures,
) -> Result<(), ProxyBenchError> {
    let ids = [stage.server.id(), stage.agent.id()];
    let counters = ids.map(CallCounter::start);
    tokio::time::sleep(ATTACH).await;
    let loaded = closed_loop(&stage.drover("/small"), CONNECTIONS, effort.duration()).await;
    let requests = named_load("Drover with perf", loaded)?.exchanges;
    let [server, agent] = counters;
    let (server, agent) = tokio::join!(count(server), count(agent));
    let counts = [
        ("syscalls_per_request", server),
        ("agent_syscalls_per_request", agent),
    ];
    for (key, calls) in counts {
        match calls {
            Ok(calls) => figures.add(key, ratio(calls, requests), Goal::None),
            Err(error) => figures.note(format!("{key} is not measured: {error}")),
        }
    }
    Ok(())
}

async fn count(counter: Result<CallCounter, CallsError>) -> Result<u64, CallsError> {
    counter?.stop().await
}

#[expect(
    clippy::cast_precision_loss,
    reason = "counts of one run stay far below 2^52"
)]
fn ratio(count: u64, of: u64) -> f64 {
    count as f64 / of as f64
}

/// Returns the CPU time of a process for one request, in microseconds.
fn micros_per_request(shares: &[(&'static str, f64)], process: &str, rate: f64) -> f64 {
    let share = shares.iter().find(|(name, _)| *name == process);
    share.map_or(f64::NAN, |(_, share)| share * 1e6 / rate)
}
