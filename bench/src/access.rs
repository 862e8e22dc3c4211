//! `drover-bench access`: who may do what, with very many people and bindings.
//!
//! The index is made of as many objects as a large company has, and asked as a proxied request
//! asks: may they go there, which of their groups count there, what may they do there. How roles come
//! into clusters is measured on a server, see [`sync`].

mod company;
mod sync;

use std::hint::black_box;
use std::time::{Duration, Instant};

use drover_access::grants::Grants;

use crate::figures::machine;
use crate::figures::{Figures, FiguresError, Goal, median};
use crate::meter::say;
use crate::process::{ProcessError, rss_kib};
use company::Company;

const USERS: usize = 10_000;
const BINDINGS: usize = 50_000;
const TURNS: usize = 9;
/// Decisions a turn.
const DECISIONS: usize = 200_000;

/// Why there are no figures.
#[derive(Debug, thiserror::Error)]
pub(crate) enum AccessError {
    /// The process could not be looked at.
    #[error(transparent)]
    Process(#[from] ProcessError),
    /// The figures could not be kept.
    #[error(transparent)]
    Figures(#[from] FiguresError),
    /// The server did not bring roles into clusters.
    #[error(transparent)]
    Sync(#[from] sync::SyncError),
    /// The company has nobody who may go anywhere, so nothing was measured.
    #[error("of {DECISIONS} decisions {0} were in favour: what is measured is not what is meant")]
    Lopsided(usize),
}

/// `drover-bench access`.
#[derive(clap::Args)]
pub(crate) struct Access {}

impl Access {
    pub(crate) async fn run(self) -> Result<(), AccessError> {
        let company = Company::new(USERS, BINDINGS);
        let before = rss_kib(std::process::id())?;
        let grants = Grants::gather(&company.facts());
        let mib = (rss_kib(std::process::id())? - before) / 1024.0;
        let gathering: Vec<f64> = (0..TURNS)
            .map(|_| millis(|| drop(black_box(Grants::gather(&company.facts())))))
            .collect();
        let mut turns = Vec::new();
        for turn in 0..TURNS {
            turns.push(decide(&company, &grants, turn)?);
        }
        let mut figures = Figures::default();
        figures.add("decision_us", median(&turns), Goal::AtMost(20.0));
        figures.add("decision_rss_mib", mib, Goal::None);
        figures.add("gather_ms", median(&gathering), Goal::None);
        figures.note(format!(
            "{USERS} users, {BINDINGS} bindings, {} clusters; a decision is whether somebody may go \
             to a cluster, and which of their groups count there",
            company.clusters()
        ));
        drop((grants, company));
        sync::measure(&mut figures).await?;
        say(&figures.table(&format!("access: {}", machine::description())));
        say(&format!(
            "written to {}",
            figures.write("access")?.display()
        ));
        Ok(())
    }
}

fn millis(work: impl FnOnce()) -> f64 {
    let start = Instant::now();
    work();
    start.elapsed().as_secs_f64() * 1e3
}

/// Microseconds that one decision takes.
fn decide(company: &Company, grants: &Grants, turn: usize) -> Result<f64, AccessError> {
    let mut allowed = 0;
    let start = Instant::now();
    for n in 0..DECISIONS {
        let (who, target) = company.request(turn * DECISIONS + n);
        if grants.may_enter(who, target) {
            allowed += 1;
            black_box(grants.groups_at(who.groups, target));
        }
    }
    let took: Duration = start.elapsed();
    // Both answers must be common, or one branch alone is measured.
    if !(DECISIONS / 10..=DECISIONS * 9 / 10).contains(&allowed) {
        return Err(AccessError::Lopsided(allowed));
    }
    #[expect(clippy::cast_precision_loss, reason = "few enough to be exact")]
    let decisions = DECISIONS as f64;
    Ok(took.as_secs_f64() * 1e6 / decisions)
}
