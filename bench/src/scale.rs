//! The benchmark `drover-bench scale`: one server with many clusters.
//!
//! The server is the program with its embedded hub. Each cluster is registered with a manifest and
//! has a separate TLS connection to the server. The agents of all clusters share one process and a
//! stub of an API server ([`stub`]). The benchmark does not run real API servers, because their
//! load would dominate the measurement. With the option `--node-agents`, a further process runs node
//! agents of all clusters.

mod agents;
mod latency;
mod node_agents;
mod reconnect;
mod stage;
mod stub;

use std::time::Instant;

use crate::figures::machine;
use crate::figures::measure::Measure;
use crate::figures::{Figures, FiguresError, Goal};
use crate::load::ExchangeError;
use crate::meter::print_progress;
use crate::process::{ProcessError, rss_kib};
pub(crate) use agents::{
    Agents, AgentsError, ClustersFile, Joining, Pace, all_connected, files, network, put_manifest,
};
pub(crate) use node_agents::{NodeAgents, WriteError, connection, selection, write_files};
pub(crate) use stage::{PER_SECOND, Stage, StageError, settle};
use stub::NODES;
pub(crate) use stub::{Refused as StubRefused, Stub, node_name};

const KIB_PER_MIB: f64 = 1024.0;

/// The reason why the benchmark failed.
#[derive(Debug, thiserror::Error)]
pub(crate) enum ScaleError {
    /// A program did not start, or it exited.
    #[error(transparent)]
    Stage(#[from] StageError),
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

/// Arguments of `drover-bench scale`.
#[derive(clap::Args)]
pub(crate) struct Scale {
    /// Number of clusters
    #[arg(long, default_value_t = 5000, value_parser = clap::value_parser!(u32).range(1..=100_000))]
    clusters: u32,
    /// Number of node agents with a tunnel in each cluster. The node agents connect after the
    /// measurement of the memory per cluster, and stay connected during all later measurements
    #[arg(long, default_value_t = 0, value_parser = clap::value_parser!(u32).range(0..=i64::from(NODES)))]
    node_agents: u32,
    /// Requests per second to all clusters together during the latency measurement
    #[arg(long, default_value_t = 200)]
    rate: u32,
    #[command(flatten)]
    measure: Measure<Measurement>,
}

/// A measurement of the scale benchmark. `--only` selects measurements.
#[derive(Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
enum Measurement {
    /// Memory of the server without requests
    Memory,
    /// Latency with all clusters connected
    Latency,
    /// Time until all clusters are connected again after a crash of the server
    Reconnect,
}

impl Scale {
    pub(crate) async fn run(self) -> Result<(), ScaleError> {
        let start = Instant::now();
        let mut figures = Figures::default();
        print_progress("starting the server");
        let mut stage = Stage::start(self.clusters, self.node_agents).await?;
        let measured = self.measure(&mut stage, &mut figures).await;
        figures.note(format!("{} s", start.elapsed().as_secs()));
        print_progress(&figures.table(&format!("scale: {}", machine::description())));
        // Figures of a failed run are printed but not written.
        measured?;
        if self.measure.is_whole() {
            print_progress(&format!("wrote {}", figures.write("scale")?.display()));
        }
        Ok(stage.stop().await?)
    }

    async fn measure(&self, stage: &mut Stage, figures: &mut Figures) -> Result<(), ScaleError> {
        let clusters = f64::from(self.clusters);
        figures.add("clusters", clusters, Goal::AtLeast(5000.0));
        settle().await;
        let before = rss_kib(stage.server_id())?;
        print_progress(&format!("registering and connecting {clusters} clusters"));
        let begun = Instant::now();
        stage.join(self.clusters).await?;
        figures.add("join_all_s", begun.elapsed().as_secs_f64(), Goal::None);
        if self.measure.wants(&Measurement::Memory) {
            print_progress("memory at rest");
            settle().await;
            let after = rss_kib(stage.server_id())?;
            let each = (after - before) / clusters;
            figures.add("kib_per_cluster", each, Goal::AtMost(60.0));
            figures.add("server_rss_mib", after / KIB_PER_MIB, Goal::None);
            let agents = rss_kib(stage.agents_id()?)?;
            figures.add("agents_rss_mib", agents / KIB_PER_MIB, Goal::None);
        }
        if self.node_agents > 0 {
            self.join_node_agents(stage, figures).await?;
        }
        if self.measure.wants(&Measurement::Latency) {
            latency::measure(stage, f64::from(self.rate), &self.measure, figures).await?;
        }
        if self.measure.wants(&Measurement::Reconnect) {
            reconnect::measure(stage, figures).await?;
        }
        Ok(())
    }

    /// Connects the node agents, and measures the memory per tunnel.
    async fn join_node_agents(
        &self,
        stage: &mut Stage,
        figures: &mut Figures,
    ) -> Result<(), ScaleError> {
        let tunnels = f64::from(self.clusters) * f64::from(self.node_agents);
        print_progress(&format!("connecting {tunnels} node agents"));
        let before = rss_kib(stage.server_id())?;
        let node_agents = stage.join_node_agents().await?;
        figures.add("node_tunnels", tunnels, Goal::None);
        if self.measure.wants(&Measurement::Memory) {
            settle().await;
            let after = rss_kib(stage.server_id())?;
            let each = (after - before) / tunnels;
            figures.add("kib_per_node_tunnel", each, Goal::AtMost(40.0));
            let rss = after / KIB_PER_MIB;
            figures.add("server_rss_with_node_tunnels_mib", rss, Goal::None);
            let rss = rss_kib(node_agents)? / KIB_PER_MIB;
            figures.add("node_agents_rss_mib", rss, Goal::None);
        }
        Ok(())
    }
}
