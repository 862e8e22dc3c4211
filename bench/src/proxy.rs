//! `drover-bench proxy`: the latency that Drover adds to requests to a cluster, and its throughput.
//!
//! Everything is real and on this machine: a hub, a server, an agent, TLS on each leg. Only the
//! cluster's API server is one of our own ([`crate::backend`]), because a real one would be the
//! limit of everything. What is compared takes turns within one run, so that whatever else the
//! machine does touches both.

mod bulk;
mod footprint;
mod joining;
mod latency;
mod peer;
mod small;
mod stage;
mod stall;

use std::time::Instant;

use crate::figures::machine;
use crate::figures::measure::Measure;
use crate::figures::{Figures, FiguresError};
use crate::load::ExchangeError;
use crate::meter::{Meter, say, shares_line};
use crate::process::ProcessError;
use stage::{Stage, StageError};

/// Why there are no figures.
#[derive(Debug, thiserror::Error)]
pub(crate) enum ProxyBenchError {
    /// Something did not start.
    #[error(transparent)]
    Stage(#[from] StageError),
    /// The load broke.
    #[error("{what} failed under load")]
    Load {
        what: &'static str,
        source: ExchangeError,
    },
    /// A process could not be looked at.
    #[error(transparent)]
    Process(#[from] ProcessError),
    /// The figures could not be kept.
    #[error(transparent)]
    Figures(#[from] FiguresError),
}

/// Which load a failure belongs to.
fn under<T>(what: &'static str, result: Result<T, ExchangeError>) -> Result<T, ProxyBenchError> {
    result.map_err(|source| ProxyBenchError::Load { what, source })
}

/// `drover-bench proxy`.
#[derive(clap::Args)]
pub(crate) struct ProxyBench {
    #[command(flatten)]
    measure: Measure<Part>,
}

/// A part of the bench.
#[derive(Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
enum Part {
    /// Memory at rest
    Footprint,
    /// Added latency
    Latency,
    /// Beside a stalled reader
    Stall,
    /// Small requests
    Small,
    /// Downloads
    Bulk,
    /// The server's start
    Ready,
}

impl ProxyBench {
    pub(crate) async fn run(self) -> Result<(), ProxyBenchError> {
        let start = Instant::now();
        let mut figures = Figures::default();
        say("starting hub, cluster, server, agent and the reference");
        let mut stage = Stage::start().await?;
        let measured = self.measure(&mut stage, &mut figures).await;
        figures.note(format!("{} s", start.elapsed().as_secs()));
        say(&figures.table(&format!("proxy: {}", machine::description())));
        // What was measured before a failure is worth seeing, but is no result to keep.
        measured?;
        if !self.measure.is_whole() {
            return Ok(());
        }
        say(&format!("written to {}", figures.write("proxy")?.display()));
        Ok(())
    }

    async fn measure(
        &self,
        stage: &mut Stage,
        figures: &mut Figures,
    ) -> Result<(), ProxyBenchError> {
        let wanted = |part| self.measure.wants(&part);
        if wanted(Part::Footprint) {
            footprint::measure(stage, figures).await?;
        }
        if wanted(Part::Latency) {
            latency::measure(stage, &self.measure, figures).await?;
        }
        if wanted(Part::Stall) {
            stall::measure(stage, &self.measure, figures).await?;
        }
        if wanted(Part::Small) {
            small::measure(stage, &self.measure, figures).await?;
        }
        if wanted(Part::Bulk) {
            bulk::measure(stage, &self.measure, figures).await?;
        }
        if wanted(Part::Ready) {
            footprint::measure_ready(stage, figures).await?;
        }
        Ok(())
    }
}
