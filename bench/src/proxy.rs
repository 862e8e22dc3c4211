//! The benchmark `drover-bench proxy`: the latency that Drover adds to requests to a cluster, and
//! Drover's throughput.
//!
//! A hub, a server and an agent run on this machine, with TLS on each connection.
//! [`crate::backend`] replaces the cluster's API server, because a real API server limits the
//! throughput. Compared measurements alternate within one run, so that other load on the machine
//! affects both measurements.

mod bulk;
mod footprint;
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
use crate::meter::{Meter, print_progress, shares_line};
use crate::process::ProcessError;
use crate::scale;
use stage::{Stage, StageError};

/// The reason why the benchmark failed.
#[derive(Debug, thiserror::Error)]
pub(crate) enum ProxyBenchError {
    /// A program did not start.
    #[error(transparent)]
    Stage(#[from] StageError),
    /// The clusters of the memory measurement failed.
    #[error(transparent)]
    Clusters(#[from] scale::StageError),
    /// A request of the load generator failed.
    #[error("cannot measure {operation}")]
    Load {
        operation: &'static str,
        source: ExchangeError,
    },
    /// The memory or CPU usage of a process cannot be read.
    #[error(transparent)]
    Process(#[from] ProcessError),
    /// The figures cannot be written.
    #[error(transparent)]
    Figures(#[from] FiguresError),
}

/// Adds the description of the load to an error.
fn named_load<T>(
    operation: &'static str,
    result: Result<T, ExchangeError>,
) -> Result<T, ProxyBenchError> {
    result.map_err(|source| ProxyBenchError::Load { operation, source })
}

/// Arguments of `drover-bench proxy`.
#[derive(clap::Args)]
pub(crate) struct ProxyBench {
    #[command(flatten)]
    measure: Measure<Measurement>,
}

/// A measurement of the proxy benchmark. `--only` selects measurements.
#[derive(Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
enum Measurement {
    /// Memory of the server and the agent without requests
    Footprint,
    /// Added latency
    Latency,
    /// Latency during a stalled download
    Stall,
    /// Small requests
    Small,
    /// Downloads
    Bulk,
    /// Start-up time of the server
    Ready,
}

impl ProxyBench {
    pub(crate) async fn run(self) -> Result<(), ProxyBenchError> {
        let start = Instant::now();
        let mut figures = Figures::default();
        print_progress("starting hub, cluster, server, agent and reference");
        let mut stage = Stage::start().await?;
        let measured = self.measure(&mut stage, &mut figures).await;
        figures.note(format!("{} s", start.elapsed().as_secs()));
        print_progress(&figures.table(&format!("proxy: {}", machine::description())));
        // Figures of a failed run are printed but not written.
        measured?;
        if self.measure.is_whole() {
            print_progress(&format!("wrote {}", figures.write("proxy")?.display()));
        }
        Ok(stage.stop().await?)
    }

    async fn measure(
        &self,
        stage: &mut Stage,
        figures: &mut Figures,
    ) -> Result<(), ProxyBenchError> {
        let expected = |part| self.measure.wants(&part);
        if expected(Measurement::Footprint) {
            footprint::measure(stage, figures).await?;
        }
        if expected(Measurement::Latency) {
            latency::measure(stage, &self.measure, figures).await?;
        }
        if expected(Measurement::Stall) {
            stall::measure(stage, &self.measure, figures).await?;
        }
        if expected(Measurement::Small) {
            small::measure(stage, &self.measure, figures).await?;
        }
        if expected(Measurement::Bulk) {
            bulk::measure(stage, &self.measure, figures).await?;
        }
        if expected(Measurement::Ready) {
            footprint::measure_ready(stage, figures).await?;
        }
        Ok(())
    }
}
