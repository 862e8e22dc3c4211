//! Measures the time until all clusters are connected again after a crash of the server.

use std::time::Instant;

use super::ScaleError;
use super::stage::{Stage, settle};
use crate::figures::{Figures, Goal};
use crate::meter::{Meter, print_progress, shares_line};
use crate::process::rss_kib;

pub(super) async fn measure(stage: &mut Stage, figures: &mut Figures) -> Result<(), ScaleError> {
    print_progress("killing and restarting the server");
    let killed = Instant::now();
    stage.kill_and_restart().await?;
    let ready = Instant::now();
    let meter = Meter::start(&stage.processes())?;
    stage.until_all_connected().await?;
    let back = ready.elapsed().as_secs_f64();
    let down = ready.duration_since(killed).as_secs_f64();
    figures.add("ready_after_kill_s", down, Goal::None);
    figures.add("reconnect_all_s", back, Goal::AtMost(60.0));
    figures.note(shares_line("reconnecting", &meter.shares()?));
    stage.until_all_ready().await?;
    let reported = ready.elapsed().as_secs_f64();
    figures.add("all_reported_s", reported, Goal::None);
    settle().await;
    let rss = rss_kib(stage.server_id())? / super::KIB_PER_MIB;
    figures.add("server_rss_after_reconnect_mib", rss, Goal::None);
    let meter = Meter::start(&stage.processes())?;
    settle().await;
    figures.note(shares_line("idle", &meter.shares()?));
    Ok(())
}
