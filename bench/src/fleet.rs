//! The agents of many clusters in one process: the agent's own library, once for each cluster.
//!
//! All the clusters share one API server, each with a namespace of its own for the agent's objects.

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

/// How long all the agents together may take to connect.
const PATIENCE: Duration = Duration::from_mins(2);

/// Why the fleet does not run.
#[derive(Debug, thiserror::Error)]
pub(crate) enum FleetError {
    /// The kubeconfig.
    #[error("read the kubeconfig of the fleet's API server")]
    Kubeconfig(#[from] KubeconfigError),
    /// An agent.
    #[error("start the agent in namespace {namespace}")]
    Start {
        namespace: String,
        source: StartError,
    },
    /// Not all of them connected.
    #[error("the agent in namespace {namespace} did not connect: {last}")]
    NotConnected { namespace: String, last: String },
}

/// Which clusters.
#[derive(clap::Args)]
pub(crate) struct Fleet {
    /// Kubeconfig of the API server that they share.
    #[arg(long)]
    kubeconfig: PathBuf,
    /// Number of the first cluster.
    #[arg(long)]
    first: u32,
    /// How many.
    #[arg(long)]
    count: u32,
}

/// The namespace of a cluster's agent, and the cluster's name.
pub(crate) fn name(number: u32) -> String {
    format!("fleet-{number:08}")
}

/// Waits until each of these agents is connected, prints `ready`, and goes on until the process is
/// ended.
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
    // Whoever started it reads this; if nobody does, that is no reason to stop.
    let _ = writeln!(io::stdout(), "ready");
    std::future::pending().await
}

impl Fleet {
    /// Runs until the process is ended; prints `ready` when all are connected.
    pub(crate) async fn run(self) -> Result<(), FleetError> {
        // An agent stays on the thread that it was started on.
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
        stay_connected(conditions, Instant::now() + PATIENCE).await
    }
}
