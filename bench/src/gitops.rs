//! The benchmark `drover-bench gitops`: the time from a bundle on the hub to its objects in all clusters.
//!
//! The server is the program with its embedded hub. The benchmark has three parts:
//! 1. Three real control planes with the program `drover-agent` and its renderer ([`control_planes`]).
//! 2. Simulated clusters whose agents run the code of `drover-agent` with a renderer for each agent
//!    ([`deploying`]). The agents and the APIs of the clusters share one process.
//! 3. Thousands of clusters whose agents get a token, watch and read the hub as `drover-agent` does, and
//!    then report a ready deployment without applying it ([`reporting`]). The machine cannot run
//!    thousands of agents that apply objects.
//!
//! With `--only fleet`, the benchmark measures Fleet's own controllers and agents like the first part.

mod agents;
mod bundles;
mod control_planes;
mod deploying;
mod hub;
mod observer;
mod processes;
mod reporting;
mod requests;

use std::time::Instant;

use crate::figures::machine;
use crate::figures::measure::Measure;
use crate::figures::{Figures, FiguresError};
use crate::meter::print_progress;
use crate::process::ProcessError;
use crate::scale::StageError;
pub(crate) use agents::BundleAgents;

/// The reason why the benchmark failed.
#[derive(Debug, thiserror::Error)]
pub(crate) enum GitopsError {
    /// The server or the agents failed.
    #[error(transparent)]
    Stage(#[from] StageError),
    /// A real control plane or its agent failed.
    #[error(transparent)]
    ControlPlane(#[from] control_planes::ControlPlaneError),
    /// Fleet's controllers or agents failed, or they have not been built.
    #[error(transparent)]
    Fleet(#[from] control_planes::FleetError),
    /// The hub rejected a request.
    #[error(transparent)]
    Hub(#[from] hub::HubError),
    /// The deployments did not become ready.
    #[error(transparent)]
    TimedOut(#[from] observer::TimedOut),
    /// The memory or CPU usage of a process cannot be read.
    #[error(transparent)]
    Process(#[from] ProcessError),
    /// The figures cannot be written.
    #[error(transparent)]
    Figures(#[from] FiguresError),
}

/// Arguments of `drover-bench gitops`.
#[derive(clap::Args)]
pub(crate) struct Gitops {
    /// Number of bundles on the real control planes and in the deploying simulated clusters
    #[arg(long, default_value_t = 50, value_parser = clap::value_parser!(u32).range(1..=1000))]
    bundles: u32,
    /// Number of simulated clusters whose agents deploy
    #[arg(long, default_value_t = 50, value_parser = clap::value_parser!(u32).range(1..=500))]
    deploying: u32,
    /// Numbers of simulated clusters whose agents only report, in ascending order
    #[arg(long, value_delimiter = ',', default_values_t = [1000, 5000])]
    reporting: Vec<u32>,
    #[command(flatten)]
    measure: Measure<Measurement>,
}

/// A measurement of the GitOps benchmark. `--only` selects measurements.
#[derive(Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
enum Measurement {
    /// Real control planes with real agents
    ControlPlanes,
    /// Simulated clusters whose agents deploy
    Deploying,
    /// Simulated clusters whose agents only report
    Reporting,
    /// Fleet's controllers and agents on real control planes. Not part of the complete benchmark
    Fleet,
}

impl Gitops {
    pub(crate) async fn run(self) -> Result<(), GitopsError> {
        let start = Instant::now();
        let mut figures = Figures::default();
        let measured = Box::pin(self.measure(&mut figures)).await;
        figures.note(format!("{} s", start.elapsed().as_secs()));
        print_progress(&figures.table(&format!("gitops: {}", machine::description())));
        // Figures of a failed run are printed but not written.
        measured?;
        if self.measure.is_whole() {
            print_progress(&format!("wrote {}", figures.write("gitops")?.display()));
        }
        Ok(())
    }

    async fn measure(&self, figures: &mut Figures) -> Result<(), GitopsError> {
        if self.measure.wants(&Measurement::ControlPlanes) {
            Box::pin(control_planes::measure(self.bundles, figures)).await?;
        }
        if self.measure.wants(&Measurement::Deploying) {
            Box::pin(deploying::measure(self.deploying, self.bundles, figures)).await?;
        }
        if self.measure.wants(&Measurement::Reporting) {
            Box::pin(reporting::measure(&self.reporting, figures)).await?;
        }
        if self.measure.names(&Measurement::Fleet) {
            Box::pin(control_planes::measure_fleet(self.bundles, figures)).await?;
        }
        Ok(())
    }
}
