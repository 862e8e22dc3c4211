//! The benchmark `drover-bench failover`: node agents that replace a failed agent.
//!
//! The server is the program with its embedded hub. The agents and the node agents of all clusters run
//! in this process, and their tunnels are separate TLS connections to the server. The agents connect
//! through a relay ([`relay`]), which causes faults. All clusters use one stub of an API server, which
//! counts requests ([`api_server`]).

mod api_server;
mod client;
mod clusters;
mod node_agent;
mod relay;
mod simultaneous;
mod takeover;
mod webhook;

use std::sync::Arc;
use std::time::Instant;

use crate::administrator::AdministratorError;
use crate::figures::machine;
use crate::figures::measure::Measure;
use crate::figures::{Figures, FiguresError, Goal};
use crate::limits::{TooFewFiles, allow_files};
use crate::meter::{Meter, print_progress, shares_line};
use crate::process::{ProcessError, rss_kib};
use crate::scale::{Stage, StageError, settle};
use client::Client;
use clusters::{Clusters, ClustersError};

/// Number of clusters whose agents fail one after the other.
const FAULTY: u32 = 5;
/// Number of clusters before the measurement of the memory: the clusters with faults, and the cluster
/// of the program `drover-node-agent`.
const FEW: u32 = FAULTY + 1;
/// Maximum number of open files per cluster in this process: the tunnels, the relay and requests.
const FILES_PER_CLUSTER: u64 = 12;
/// Number of other open files: the requests to the clusters whose agents fail one after the other.
const OTHER_FILES: u64 = 4000;

/// The reason why the benchmark failed.
#[derive(Debug, thiserror::Error)]
pub(crate) enum FailoverError {
    /// The server failed.
    #[error(transparent)]
    Stage(#[from] StageError),
    /// The agents failed.
    #[error(transparent)]
    Clusters(#[from] ClustersError),
    /// The client cannot be created.
    #[error(transparent)]
    Client(#[from] AdministratorError),
    /// A takeover cannot be measured.
    #[error(transparent)]
    Takeover(#[from] takeover::TakeoverError),
    /// The simultaneous takeover cannot be measured.
    #[error(transparent)]
    Simultaneous(#[from] simultaneous::NoResponse),
    /// The node agent cannot be measured.
    #[error(transparent)]
    NodeAgent(#[from] node_agent::NodeAgentError),
    /// The memory or CPU usage of a process cannot be read.
    #[error(transparent)]
    Process(#[from] ProcessError),
    /// The limit of open files is too low.
    #[error(transparent)]
    Files(#[from] TooFewFiles),
    /// The figures cannot be written.
    #[error(transparent)]
    Figures(#[from] FiguresError),
}

/// Arguments of `drover-bench failover`.
#[derive(clap::Args)]
pub(crate) struct Failover {
    /// Number of faults of each kind
    #[arg(long, default_value_t = 20)]
    runs: u32,
    /// Number of clusters whose agents fail at the same time
    #[arg(long, default_value_t = 1000, value_parser = clap::value_parser!(u32).range(1..=10_000))]
    clusters: u32,
    #[command(flatten)]
    measure: Measure<Measurement>,
}

/// A measurement of the failover benchmark. `--only` selects measurements.
#[derive(Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
enum Measurement {
    /// Time until a node agent replaces an agent with a fault
    Takeover,
    /// Memory and webhook of the program `drover-node-agent`
    NodeAgent,
    /// Memory of the server per node agent
    Memory,
    /// Time until node agents replace the agents of all clusters
    Simultaneous,
}

impl Failover {
    pub(crate) async fn run(self) -> Result<(), FailoverError> {
        let start = Instant::now();
        let mut figures = Figures::default();
        print_progress("starting the server");
        // The server inherits the limit of open files.
        allow_files(FILES_PER_CLUSTER * u64::from(FEW + self.clusters) + OTHER_FILES)?;
        let mut stage = Stage::start(FEW + self.clusters, 0).await?;
        let measured = self.measure(&mut stage, &mut figures).await;
        figures.note(format!("{} s", start.elapsed().as_secs()));
        print_progress(&figures.table(&format!("failover: {}", machine::description())));
        // Figures of a failed run are printed but not written.
        measured?;
        if self.measure.is_whole() {
            print_progress(&format!("wrote {}", figures.write("failover")?.display()));
        }
        Ok(stage.stop().await?)
    }

    async fn measure(&self, stage: &mut Stage, figures: &mut Figures) -> Result<(), FailoverError> {
        let expected = |part| self.measure.wants(&part);
        let mut clusters = Clusters::new(stage.server_address(), stage.folder()).await?;
        let client = Arc::new(Client::new(stage.api())?);
        join(stage, &mut clusters, FEW).await?;
        if expected(Measurement::Takeover) {
            print_progress(&format!("faults of the agent, {} times each", self.runs));
            clusters.start_node_agents(0..FAULTY as usize).await?;
            let meter = Meter::start(&[("server", stage.server_id())])?;
            let faulty = &mut clusters.list[..FAULTY as usize];
            takeover::measure(faulty, &client, self.runs, figures).await?;
            figures.note(shares_line("faults", &meter.shares()?));
        }
        if expected(Measurement::NodeAgent) {
            print_progress("starting the program drover-node-agent");
            let cluster = &clusters.list[FAULTY as usize].name;
            let (folder, effort) = (stage.folder(), &self.measure);
            node_agent::measure(&clusters, cluster, folder, effort, figures).await?;
        }
        if expected(Measurement::Memory) || expected(Measurement::Simultaneous) {
            self.measure_many(stage, &mut clusters, &client, figures)
                .await?;
        }
        if expected(Measurement::Takeover) || expected(Measurement::Simultaneous) {
            // Requests of a fault can arrive until their timeout.
            tokio::time::sleep(client::TIMEOUT).await;
            let (received, repeated) = clusters.posts.received_and_repeated();
            let repeated = u32::try_from(repeated).unwrap_or(u32::MAX);
            let repeated = f64::from(repeated);
            figures.add("requests_repeated_unsafe", repeated, Goal::AtMost(0.0));
            figures.note(format!("{received} POST requests reached an API server"));
        }
        Ok(())
    }

    /// Measures the memory per node agent and the simultaneous takeover with all clusters.
    async fn measure_many(
        &self,
        stage: &mut Stage,
        clusters: &mut Clusters,
        client: &Arc<Client>,
        figures: &mut Figures,
    ) -> Result<(), FailoverError> {
        let many = self.clusters;
        print_progress(&format!("connecting {many} more clusters"));
        join(stage, clusters, many).await?;
        settle().await;
        let before = rss_kib(stage.server_id())?;
        print_progress(&format!("connecting {many} node agents"));
        let all = FEW as usize..clusters.list.len();
        clusters.start_node_agents(all.clone()).await?;
        settle().await;
        let after = rss_kib(stage.server_id())?;
        let each = (after - before) / f64::from(many);
        figures.add("clusters", f64::from(many), Goal::None);
        figures.add("kib_per_node_tunnel", each, Goal::AtMost(40.0));
        if self.measure.wants(&Measurement::Simultaneous) {
            print_progress("all agents hang");
            let meter = Meter::start(&[("server", stage.server_id())])?;
            simultaneous::measure(&mut clusters.list[all], client, figures).await?;
            figures.note(shares_line("simultaneous takeover", &meter.shares()?));
        }
        Ok(())
    }
}

/// Imports clusters, and connects their agents.
async fn join(stage: &mut Stage, clusters: &mut Clusters, count: u32) -> Result<(), FailoverError> {
    let imported = stage.import(count).await?;
    clusters.add(imported).await?;
    Ok(stage.until_all_ready().await?)
}
