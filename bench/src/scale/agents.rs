//! The agents of very many clusters in one process: the agent's own library, once for each cluster,
//! on one stub of an API server; each tunnel is a TLS connection of its own.

use std::fs::File;
use std::io::{self, BufRead as _, BufReader};
use std::net::{IpAddr, Ipv4Addr};
use std::path::PathBuf;
use std::time::Duration;

use drover_agent::wire::{self, Replica};
use drover_agent_link::upstream::Upstream;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use super::limits::{TooFewFiles, allow_files};
use super::stub::Stub;
use crate::fleet::{FleetError, stay_connected};

/// What a process opens beside its tunnels.
const OTHER_FILES: u64 = 200;
/// How long the last agent may take to connect after it was started.
const PATIENCE: Duration = Duration::from_mins(3);

/// Why the agents do not run.
#[derive(Debug, thiserror::Error)]
pub(crate) enum AgentsError {
    /// The clusters' file.
    #[error("read {path}")]
    Read { path: PathBuf, source: io::Error },
    /// A line of it.
    #[error("{path} holds something else than clusters")]
    Malformed {
        path: PathBuf,
        source: serde_json::Error,
    },
    /// A manifest holds something that the stub does not keep.
    #[error("the stub does not take an object of {name}")]
    Object {
        name: String,
        source: super::stub::Refused,
    },
    /// The system's limit.
    #[error(transparent)]
    Files(#[from] TooFewFiles),
    /// An agent.
    #[error(transparent)]
    Fleet(#[from] FleetError),
}

/// A cluster as its agent finds it, a line of the file each.
#[derive(Serialize, Deserialize)]
pub(crate) struct Joining {
    /// The cluster's name, and its agent's namespace.
    pub(crate) name: String,
    /// What the manifest puts there.
    pub(crate) objects: Vec<Value>,
}

/// Which clusters.
#[derive(clap::Args)]
pub(crate) struct Agents {
    /// File with the clusters.
    #[arg(long)]
    clusters: PathBuf,
    /// Agents that are started in a second.
    #[arg(long)]
    per_second: u32,
}

/// Files that a process with so many tunnels needs.
pub(crate) const fn files(clusters: u64) -> u64 {
    // A tunnel, and while it is opened the call before it.
    2 * clusters + OTHER_FILES
}

impl Agents {
    /// Runs until the process is ended; prints `ready` when all are connected.
    pub(crate) async fn run(self) -> Result<(), AgentsError> {
        let clusters = self.read()?;
        allow_files(files(clusters.len() as u64))?;
        let stub = Stub::new();
        let upstream = stub.upstream();
        let pause = Duration::from_secs(1) / self.per_second.max(1);
        let (mut conditions, start) = (Vec::new(), Instant::now());
        for (number, cluster) in (0_u32..).zip(clusters) {
            let name = cluster.name;
            for object in cluster.objects {
                let put = stub.put(object);
                put.map_err(|source| AgentsError::Object {
                    name: name.clone(),
                    source,
                })?;
            }
            let mut replica = assemble(&upstream, &stub, &name);
            replica.connection.source = Some(network(number));
            conditions.push((name, replica.connection.status.subscribe()));
            tokio::spawn(async move { replica.run().await });
            tokio::time::sleep_until(start + pause * number).await;
        }
        Ok(stay_connected(conditions, Instant::now() + PATIENCE).await?)
    }

    fn read(&self) -> Result<Vec<Joining>, AgentsError> {
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

fn assemble(upstream: &Upstream, stub: &Stub, name: &str) -> Replica {
    let own = kube::Client::new(stub.clone(), name);
    wire::assemble_on(
        upstream.clone(),
        own,
        name,
        "fleet".to_owned(),
        CancellationToken::new(),
    )
}

/// An address of this machine for each cluster: to the server, whose patience with strangers is
/// counted by network, clusters are as far apart as they are in life.
fn network(number: u32) -> IpAddr {
    let [_, high, middle, low] = number.to_be_bytes();
    IpAddr::V4(Ipv4Addr::new(127, high.saturating_add(1), middle, low))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn clusters_come_from_networks_of_their_own_on_loopback() {
        assert_eq!(network(0), IpAddr::from([127, 1, 0, 0]));
        assert_eq!(network(259), IpAddr::from([127, 1, 1, 3]));
        assert_ne!(network(65_536), network(0));
    }
}
