//! The agents of simulated clusters in one process, for the benchmark.
//!
//! With `--deploy-in`, the complete code of `drover-agent` runs once for each cluster. Each cluster has its
//! own embedded API, and each agent has its own renderer. The agents call the APIs in this process.
//! Without the option, the agents only report ([`reporter`]).

mod cluster;
mod reporter;

use std::io::{self, Write as _};
use std::path::PathBuf;

use drover_agent::args::renderer_beside_program;
use drover_agent::wire::assemble_on;
use drover_agent_link::hub::HubAccess;
use drover_agent_link::registration::Store;
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;

use self::cluster::{ClusterError, SimulatedCluster};
use crate::limits::{TooFewFiles, allow_files};
use crate::scale::{
    AgentsError, ClustersFile, Pace, Stub, all_connected, files, network, put_manifest,
};

/// Number of open files for each cluster with an embedded API and a renderer.
const FILES_PER_CLUSTER: u64 = 40;

/// The reason why the agents cannot run.
#[derive(Debug, thiserror::Error)]
pub(crate) enum BundleAgentsError {
    /// The clusters cannot be read, or an agent did not connect.
    #[error(transparent)]
    Agents(#[from] AgentsError),
    /// A simulated cluster cannot start.
    #[error(transparent)]
    Cluster(#[from] ClusterError),
    /// The limit of open files is too low.
    #[error(transparent)]
    Files(#[from] TooFewFiles),
}

/// Arguments of `drover-bench bundle-agents`: the clusters of the agents.
#[derive(clap::Args)]
pub(crate) struct BundleAgents {
    #[command(flatten)]
    clusters: ClustersFile,
    #[command(flatten)]
    pace: Pace,
    /// Number of clusters whose agents run in other processes
    #[arg(long, default_value_t = 0)]
    first: u32,
    /// Folder for the state of the clusters. The agents then deploy
    #[arg(long)]
    deploy_in: Option<PathBuf>,
}

impl BundleAgents {
    /// Runs until the process ends. Prints `ready` when all agents follow their bundle deployments.
    pub(crate) async fn run(self) -> Result<(), BundleAgentsError> {
        match &self.deploy_in {
            Some(folder) => self.deploy(folder.clone()).await,
            None => self.report().await,
        }
    }

    async fn deploy(&self, folder: PathBuf) -> Result<(), BundleAgentsError> {
        let clusters = self.clusters.read()?;
        allow_files(FILES_PER_CLUSTER * clusters.len() as u64 + files(0))?;
        let (mut conditions, mut pace, mut running) = (Vec::new(), self.pace.start(), Vec::new());
        for (number, joining) in (self.first..).zip(clusters) {
            let name = joining.name.clone();
            let cluster = SimulatedCluster::start(&folder, joining).await?;
            let mut replica = assemble_on(
                cluster.upstream(),
                cluster.client(),
                &name,
                "bench".to_owned(),
                Some(renderer_beside_program()),
                CancellationToken::new(),
            );
            replica.connection.source = Some(network(number));
            conditions.push((name, replica.connection.status.subscribe()));
            tokio::spawn(async move { replica.run().await });
            running.push(cluster);
            pace.wait().await;
        }
        all_connected(conditions).await?;
        print_ready();
        std::future::pending().await
    }

    async fn report(&self) -> Result<(), BundleAgentsError> {
        let clusters = self.clusters.read()?;
        let count = clusters.len();
        allow_files(files(count as u64))?;
        let (stub, mut pace) = (Stub::new(), self.pace.start());
        let (sender, mut ready) = mpsc::channel(count.max(1));
        for (number, joining) in (self.first..).zip(clusters) {
            let name = put_manifest(&stub, joining)?;
            let store = Store::new(kube::Client::new(stub.clone(), &*name), &name);
            let hub = HubAccess::new(store, Some(network(number)), None);
            tokio::spawn(reporter::run(hub, sender.clone()));
            pace.wait().await;
        }
        // The parent process limits the wait.
        for _ in 0..count {
            ready.recv().await;
        }
        print_ready();
        std::future::pending().await
    }
}

/// The parent process waits for this line.
fn print_ready() {
    // Ignore errors, because standard output may be closed.
    let _ = writeln!(io::stdout(), "ready");
}
