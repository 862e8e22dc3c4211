//! `drover-bench scale`: one server with very many clusters.
//!
//! The server is the program, on its embedded hub. The clusters are registered as every cluster is,
//! by a manifest and the agent's own library, and each has its own TLS connection to the server;
//! their agents share a process and a stub of an API server ([`stub`]), because as many real
//! ones would be what is measured.

mod agents;
mod latency;
mod limits;
mod reconnect;
mod stage;
mod stub;

use std::time::Instant;

use crate::figures::machine;
use crate::figures::measure::Measure;
use crate::figures::{Figures, FiguresError, Goal};
use crate::load::ExchangeError;
use crate::meter::say;
use crate::process::{ProcessError, rss_kib};
pub(crate) use agents::Agents;
use stage::{Stage, StageError};

const KIB_PER_MIB: f64 = 1024.0;

/// Why there are no figures.
#[derive(Debug, thiserror::Error)]
pub(crate) enum ScaleError {
    /// Something did not start, or ended.
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

/// `drover-bench scale`.
#[derive(clap::Args)]
pub(crate) struct Scale {
    /// How many clusters
    #[arg(long, default_value_t = 5000, value_parser = clap::value_parser!(u32).range(1..=100_000))]
    clusters: u32,
    /// Requests a second, to all clusters together, while latency is measured
    #[arg(long, default_value_t = 200)]
    rate: u32,
    #[command(flatten)]
    measure: Measure<Part>,
}

/// A part of the bench.
#[derive(Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
enum Part {
    /// Memory at rest
    Memory,
    /// Latency with all clusters connected
    Latency,
    /// Reconnecting after the server was killed
    Reconnect,
}

impl Scale {
    pub(crate) async fn run(self) -> Result<(), ScaleError> {
        let start = Instant::now();
        let mut figures = Figures::default();
        say("starting the server");
        let mut stage = Stage::start(self.clusters).await?;
        let measured = self.measure(&mut stage, &mut figures).await;
        figures.note(format!("{} s", start.elapsed().as_secs()));
        say(&figures.table(&format!("scale: {}", machine::description())));
        // What was measured before a failure is worth seeing, but is no result to keep.
        measured?;
        if self.measure.is_whole() {
            say(&format!("written to {}", figures.write("scale")?.display()));
        }
        Ok(())
    }

    async fn measure(&self, stage: &mut Stage, figures: &mut Figures) -> Result<(), ScaleError> {
        let clusters = f64::from(self.clusters);
        figures.add("clusters", clusters, Goal::AtLeast(5000.0));
        stage::settle().await;
        let before = rss_kib(stage.server_id())?;
        say(&format!("registering and connecting {clusters} clusters"));
        let begun = Instant::now();
        stage.join().await?;
        figures.add("join_all_s", begun.elapsed().as_secs_f64(), Goal::None);
        if self.measure.wants(&Part::Memory) {
            say("memory at rest");
            stage::settle().await;
            let after = rss_kib(stage.server_id())?;
            let each = (after - before) / clusters;
            figures.add("kib_per_cluster", each, Goal::AtMost(60.0));
            figures.add("server_rss_mib", after / KIB_PER_MIB, Goal::None);
            let agents = rss_kib(stage.agents_id()?)?;
            figures.add("agents_rss_mib", agents / KIB_PER_MIB, Goal::None);
        }
        if self.measure.wants(&Part::Latency) {
            latency::measure(stage, f64::from(self.rate), &self.measure, figures).await?;
        }
        if self.measure.wants(&Part::Reconnect) {
            reconnect::measure(stage, figures).await?;
        }
        Ok(())
    }
}
