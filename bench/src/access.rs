//! The benchmark `drover-bench access`: authorization decisions with many users and bindings.
//!
//! The index contains as many users, roles and bindings as a large company has. Each decision
//! evaluates the same data as a proxied request: access to the cluster, groups and permissions.
//! [`sync`] measures how fast a server applies roles to clusters.

mod company;
mod sync;

use std::hint::black_box;
use std::time::{Duration, Instant};

use drover_access::grants::Grants;

use crate::figures::machine;
use crate::figures::{Figures, FiguresError, Goal, median};
use crate::meter::print_progress;
use crate::process::{ProcessError, rss_kib};
use company::Company;

const USERS: usize = 10_000;
const BINDINGS: usize = 50_000;
const ROUNDS: usize = 9;
/// Number of decisions in one round.
const DECISIONS: usize = 200_000;

/// The reason why the benchmark failed.
#[derive(Debug, thiserror::Error)]
pub(crate) enum AccessError {
    /// The memory usage of the process cannot be read.
    #[error(transparent)]
    Process(#[from] ProcessError),
    /// The figures cannot be written.
    #[error(transparent)]
    Figures(#[from] FiguresError),
    /// The server did not apply roles to clusters.
    #[error(transparent)]
    Sync(#[from] sync::SyncError),
    /// Nearly all decisions have the same result, so the data of the benchmark is wrong.
    #[error(
        "cannot use the measurement: {allowed} of {DECISIONS} decisions were allowed; the \
         measurement requires allowed and denied decisions", allowed = .0
    )]
    Lopsided(usize),
}

/// Arguments of `drover-bench access`.
#[derive(clap::Args)]
pub(crate) struct Access {}

impl Access {
    pub(crate) async fn run(self) -> Result<(), AccessError> {
        let company = Company::new(USERS, BINDINGS);
        let before = rss_kib(std::process::id())?;
        let grants = Grants::gather(&company.facts());
        let mib = (rss_kib(std::process::id())? - before) / 1024.0;
        let gathering: Vec<f64> = (0..ROUNDS)
            .map(|_| millis(|| drop(black_box(Grants::gather(&company.facts())))))
            .collect();
        let mut turns = Vec::new();
        for turn in 0..ROUNDS {
            turns.push(decide(&company, &grants, turn)?);
        }
        let mut figures = Figures::default();
        figures.add("decision_us", median(&turns), Goal::AtMost(5.0));
        figures.add("decision_rss_mib", mib, Goal::None);
        figures.add("gather_ms", median(&gathering), Goal::None);
        figures.note(format!(
            "{USERS} users, {BINDINGS} bindings, {} clusters; a decision checks the access of a user \
             to a cluster, and the groups that count there",
            company.clusters()
        ));
        drop((grants, company));
        sync::measure(&mut figures).await?;
        print_progress(&figures.table(&format!("access: {}", machine::description())));
        print_progress(&format!("wrote {}", figures.write("access")?.display()));
        Ok(())
    }
}

fn millis(work: impl FnOnce()) -> f64 {
    let start = Instant::now();
    work();
    start.elapsed().as_secs_f64() * 1e3
}

/// Measures the duration of one decision, in microseconds.
fn decide(company: &Company, grants: &Grants, turn: usize) -> Result<f64, AccessError> {
    let mut allowed = 0;
    let start = Instant::now();
    for n in 0..DECISIONS {
        let (user, target) = company.request(turn * DECISIONS + n);
        if grants.may_enter(user, target) {
            allowed += 1;
            black_box(grants.groups_at(user.groups, target));
        }
    }
    let took: Duration = start.elapsed();
    // Both results must be common, so that the benchmark measures both branches.
    if !(DECISIONS / 10..=DECISIONS * 9 / 10).contains(&allowed) {
        return Err(AccessError::Lopsided(allowed));
    }
    #[expect(clippy::cast_precision_loss, reason = "few enough to be exact")]
    let decisions = DECISIONS as f64;
    Ok(took.as_secs_f64() * 1e6 / decisions)
}
