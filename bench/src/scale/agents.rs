//! The agents of many clusters in one process. The agent's library runs once for each cluster, and
//! all agents use one stub of an API server. Each tunnel is a separate TLS connection.

use std::fs::File;
use std::io::{self, BufRead as _, BufReader, Write as _};
use std::net::{IpAddr, Ipv4Addr};
use std::path::PathBuf;
use std::time::Duration;

use drover_agent::wire::{self, Replica};
use drover_agent_link::status::ConnectionStatus;
use drover_agent_link::upstream::Upstream;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use tokio::sync::watch;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use super::stub::Stub;
use crate::limits::{TooFewFiles, allow_files};

/// Number of files that a process opens in addition to its tunnels.
const OTHER_FILES: u64 = 200;
/// Timeout for connecting the last agent.
const TIMEOUT: Duration = Duration::from_mins(3);

/// The reason why the agents cannot run.
#[derive(Debug, thiserror::Error)]
pub(crate) enum AgentsError {
    /// The file of clusters cannot be read.
    #[error("cannot read {path}")]
    Read { path: PathBuf, source: io::Error },
    /// A line of the file cannot be parsed.
    #[error("cannot parse the clusters in {path}")]
    Malformed {
        path: PathBuf,
        source: serde_json::Error,
    },
    /// The stub does not support an object of a manifest.
    #[error("the stub rejects an object of {name}")]
    Object {
        name: String,
        source: super::stub::Refused,
    },
    /// The limit of open files is too low.
    #[error(transparent)]
    Files(#[from] TooFewFiles),
    /// An agent did not connect.
    #[error("the agent of {name} did not connect: {last_status}", last_status = .last)]
    NotConnected { name: String, last: String },
}

/// The description of one cluster: one line of the clusters file.
#[derive(Serialize, Deserialize)]
pub(crate) struct Joining {
    /// Name of the cluster. The namespace of the cluster's agent has the same name.
    pub(crate) name: String,
    /// The objects of the cluster's import manifest.
    pub(crate) objects: Vec<Value>,
}

/// The clusters of a program with agents.
#[derive(clap::Args)]
pub(crate) struct ClustersFile {
    /// File with one cluster per line.
    #[arg(long)]
    clusters: PathBuf,
}

impl ClustersFile {
    pub(crate) fn read(&self) -> Result<Vec<Joining>, AgentsError> {
        let unread = |source| AgentsError::Read {
            path: self.clusters.clone(),
            source,
        };
        let file = File::open(&self.clusters).map_err(unread)?;
        let mut clusters = Vec::new();
        for line in BufReader::new(file).lines() {
            let cluster = serde_json::from_str(&line.map_err(unread)?);
            clusters.push(cluster.map_err(|source| AgentsError::Malformed {
                path: self.clusters.clone(),
                source,
            })?);
        }
        Ok(clusters)
    }
}

/// The rate at which a program starts agents.
#[derive(clap::Args)]
pub(crate) struct Pace {
    /// Number of agents to start per second.
    #[arg(long)]
    per_second: u32,
}

impl Pace {
    pub(crate) fn start(&self) -> Pacer {
        Pacer {
            interval: Duration::from_secs(1) / self.per_second.max(1),
            next: Instant::now(),
        }
    }
}

/// Waits between the starts of agents.
pub(crate) struct Pacer {
    interval: Duration,
    next: Instant,
}

impl Pacer {
    /// Waits until the time of the next start.
    pub(crate) async fn wait(&mut self) {
        self.next += self.interval;
        tokio::time::sleep_until(self.next).await;
    }
}

/// Arguments of `drover-bench agents`: the clusters of the agents.
#[derive(clap::Args)]
pub(crate) struct Agents {
    #[command(flatten)]
    clusters: ClustersFile,
    #[command(flatten)]
    pace: Pace,
    /// The nodes of the clusters are control-plane nodes, so that their node agents may have tunnels.
    #[arg(long)]
    control_plane: bool,
}

/// Returns the number of open files that a process with this many tunnels needs.
pub(crate) const fn files(tunnels: u64) -> u64 {
    // Count the tunnel and the preceding registration request.
    2 * tunnels + OTHER_FILES
}

impl Agents {
    /// Runs until the process ends. Prints `ready` when all agents are connected.
    pub(crate) async fn run(self) -> Result<(), AgentsError> {
        let clusters = self.clusters.read()?;
        allow_files(files(clusters.len() as u64))?;
        let stub = if self.control_plane {
            Stub::with_control_plane()
        } else {
            Stub::new()
        };
        let upstream = stub.upstream();
        let (mut conditions, mut pace) = (Vec::new(), self.pace.start());
        for (number, cluster) in (0_u32..).zip(clusters) {
            let name = put_manifest(&stub, cluster)?;
            let mut replica = assemble(&upstream, &stub, &name);
            replica.connection.source = Some(network(number));
            conditions.push((name, replica.connection.status.subscribe()));
            tokio::spawn(async move { replica.run().await });
            pace.wait().await;
        }
        all_connected(conditions).await?;
        // The parent process reads this line. Ignore errors.
        let _ = writeln!(io::stdout(), "ready");
        std::future::pending().await
    }
}

/// Stores the objects of a cluster's manifest in the stub. Returns the name of the cluster.
pub(crate) fn put_manifest(stub: &Stub, cluster: Joining) -> Result<String, AgentsError> {
    let name = cluster.name;
    for object in cluster.objects {
        let put = stub.put(object);
        put.map_err(|source| AgentsError::Object {
            name: name.clone(),
            source,
        })?;
    }
    Ok(name)
}

/// Waits until all agents are connected.
pub(crate) async fn all_connected(
    conditions: Vec<(String, watch::Receiver<ConnectionStatus>)>,
) -> Result<(), AgentsError> {
    let deadline = Instant::now() + TIMEOUT;
    for (name, mut condition) in conditions {
        let connected = condition.wait_for(|condition| condition.connected);
        let waited = tokio::time::timeout_at(deadline, connected).await;
        let is_connected = matches!(waited, Ok(Ok(_)));
        drop(waited);
        if !is_connected {
            let last = condition.borrow().message.clone();
            return Err(AgentsError::NotConnected { name, last });
        }
    }
    Ok(())
}

fn assemble(upstream: &Upstream, stub: &Stub, name: &str) -> Replica {
    let own = kube::Client::new(stub.clone(), name);
    wire::assemble_on(
        upstream.clone(),
        own,
        name,
        "bench".to_owned(),
        None,
        CancellationToken::new(),
    )
}

/// Returns a loopback address for each cluster. The server limits unauthenticated requests per
/// network, and real clusters are in different networks.
pub(crate) fn network(number: u32) -> IpAddr {
    let [_, high, middle, low] = number.to_be_bytes();
    IpAddr::V4(Ipv4Addr::new(127, high.saturating_add(1), middle, low))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_simulated_cluster_has_a_unique_loopback_network() {
        assert_eq!(network(0), IpAddr::from([127, 1, 0, 0]));
        assert_eq!(network(259), IpAddr::from([127, 1, 1, 3]));
        assert_ne!(network(65_536), network(0));
    }
}
