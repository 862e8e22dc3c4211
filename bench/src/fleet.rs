//! The agents of many clusters in one process. The agent's library runs once for each cluster.
//!
//! All clusters share one API server. Each cluster has a separate namespace for the agent's
//! objects.

pub(crate) mod manifest;

use std::io::{self, Write as _};
use std::path::PathBuf;
use std::time::Duration;

use drover_agent::wire::{self, Replica, StartError};
use drover_agent_link::status::ConnectionStatus;
use kube::config::{KubeConfigOptions, Kubeconfig, KubeconfigError};
use tokio::sync::watch;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

/// Time limit for connecting all agents.
const TIMEOUT: Duration = Duration::from_mins(2);

/// The reason why the agents do not run.
#[derive(Debug, thiserror::Error)]
pub(crate) enum FleetError {
    /// The kubeconfig cannot be read.
    #[error("cannot read the kubeconfig of the fleet's API server")]
    Kubeconfig(#[from] KubeconfigError),
    /// An agent cannot be started.
    #[error("cannot start the agent in namespace {namespace}")]
    Start {
        namespace: String,
        source: StartError,
    },
    /// An agent did not connect.
    #[error(
        "the agent in namespace {namespace} did not connect: {last_status}",
        last_status = .last
    )]
    NotConnected { namespace: String, last: String },
}

/// Arguments of `drover-bench fleet`: the clusters of the agents.
#[derive(clap::Args)]
pub(crate) struct Fleet {
    /// Kubeconfig of the shared API server.
    #[arg(long)]
    kubeconfig: PathBuf,
    /// Number of the first cluster.
    #[arg(long)]
    first: u32,
    /// Number of clusters, each with one agent.
    #[arg(long)]
    count: u32,
}

/// Returns the name of a cluster. The namespace of the cluster's agent has the same name.
pub(crate) fn name(number: u32) -> String {
    format!("fleet-{number:08}")
}

/// Waits until all agents are connected, prints `ready`, and runs until the process ends.
pub(crate) async fn stay_connected(
    conditions: Vec<(String, watch::Receiver<ConnectionStatus>)>,
    deadline: Instant,
) -> Result<(), FleetError> {
    for (namespace, mut condition) in conditions {
        let connected = condition.wait_for(|condition| condition.connected);
        let in_time = tokio::time::timeout_at(deadline, connected).await.is_ok();
        if !in_time {
            let last = condition.borrow().message.clone();
            return Err(FleetError::NotConnected { namespace, last });
        }
    }
    // The parent process reads this line. Ignore errors.
    let _ = writeln!(io::stdout(), "ready");
    std::future::pending().await
}

impl Fleet {
    /// Runs until the process ends. Prints `ready` when all agents are connected.
    pub(crate) async fn run(self) -> Result<(), FleetError> {
        // A `LocalSet` is necessary, because an agent is not `Send`.
        tokio::task::LocalSet::new().run_until(self.connect()).await
    }

    async fn connect(self) -> Result<(), FleetError> {
        let file = Kubeconfig::read_from(&self.kubeconfig)?;
        let options = KubeConfigOptions::default();
        let config = kube::Config::from_custom_kubeconfig(file, &options).await?;
        let mut conditions = Vec::new();
        for number in self.first..self.first + self.count {
            let namespace = name(number);
            let shutdown = CancellationToken::new();
            let replica: Replica =
                wire::assemble(&config, &namespace, "fleet".to_owned(), shutdown).map_err(
                    |source| FleetError::Start {
                        namespace: namespace.clone(),
                        source,
                    },
                )?;
            conditions.push((namespace, replica.connection.status.subscribe()));
            tokio::task::spawn_local(async move { replica.run().await });
        }
        stay_connected(conditions, Instant::now() + TIMEOUT).await
    }
}
