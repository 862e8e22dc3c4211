//! The node agents of many clusters in one process. Each tunnel is a separate TLS connection.

use std::fs;
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

use drover_agent_link::connection::Connection;
use drover_agent_link::registration::Store;
use drover_agent_link::upstream::Upstream;
use drover_api::group::TUNNEL_NODES;
use drover_node_agent::args::NodeArgs;
use drover_node_agent::enrollment::NodeEnrollment;
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;

use super::agents::{AgentsError, ClustersFile, Pace, all_connected, files, network, put_manifest};
use super::stub::{NODES, Stub, node_name};
use crate::limits::{TooFewFiles, allow_files};

/// The reason why the node agents cannot run.
#[derive(Debug, thiserror::Error)]
pub(crate) enum NodeAgentsError {
    /// A cluster cannot be used, or a node agent did not connect.
    #[error(transparent)]
    Agents(#[from] AgentsError),
    /// A file of a node agent cannot be written.
    #[error(transparent)]
    Files(#[from] WriteError),
    /// The limit of open files is too low.
    #[error(transparent)]
    Limit(#[from] TooFewFiles),
}

/// A file of a node agent cannot be written.
#[derive(Debug, thiserror::Error)]
#[error("cannot write {path}")]
pub(crate) struct WriteError {
    path: PathBuf,
    source: io::Error,
}

/// Arguments of `drover-bench node-agents`: the clusters of the node agents.
#[derive(clap::Args)]
pub(crate) struct NodeAgents {
    #[command(flatten)]
    clusters: ClustersFile,
    #[command(flatten)]
    pace: Pace,
    /// Number of node agents per cluster.
    #[arg(long)]
    per_cluster: u32,
    /// Folder for the files of the node agents.
    #[arg(long)]
    folder: PathBuf,
}

impl NodeAgents {
    /// Runs until the process ends. Prints `ready` when all node agents are connected.
    pub(crate) async fn run(self) -> Result<(), NodeAgentsError> {
        let clusters = self.clusters.read()?;
        allow_files(files(clusters.len() as u64 * u64::from(self.per_cluster)))?;
        let stub = Stub::with_control_plane();
        let mut names = Vec::new();
        for mut cluster in clusters {
            cluster.objects.push(selection(&cluster.name));
            names.push(put_manifest(&stub, cluster)?);
        }
        let (mut statuses, mut pace) = (Vec::new(), self.pace.start());
        // The server limits the registrations of a network, so the node agents of a cluster start at
        // different times.
        for node in (0..self.per_cluster).map(node_name) {
            for (number, name) in (0_u32..).zip(&names) {
                let own = kube::Client::new(stub.clone(), name);
                let args = write_files(&self.folder, name, &node)?;
                let mut connection = connection(stub.upstream(), own, name, args);
                connection.source = Some(network(number));
                statuses.push((name.clone(), connection.status.subscribe()));
                tokio::spawn(async move { connection.run().await });
                pace.wait().await;
            }
        }
        all_connected(statuses).await?;
        // The parent process reads this line. Ignore errors.
        let _ = writeln!(io::stdout(), "ready");
        std::future::pending().await
    }
}

/// Returns the ConfigMap that selects all nodes of a cluster for tunnels. The stub does not store the
/// ConfigMap that the server applies.
pub(crate) fn selection(namespace: &str) -> Value {
    let nodes: Vec<String> = (0..NODES).map(node_name).collect();
    json!({
        "kind": "ConfigMap",
        "apiVersion": "v1",
        "metadata": {"name": TUNNEL_NODES, "namespace": namespace},
        "data": {"nodes": nodes.join("\n")},
    })
}

/// Writes the files of a node agent. Returns the arguments that name the files.
pub(crate) fn write_files(
    folder: &Path,
    cluster: &str,
    node: &str,
) -> Result<NodeArgs, WriteError> {
    let key_folder = folder.join(format!("{cluster}-{node}"));
    let token_file = key_folder.join("token");
    // In a review by the stub, the token is the name of the node.
    let written = fs::create_dir_all(&key_folder).and_then(|()| fs::write(&token_file, node));
    written.map_err(|source| WriteError {
        path: token_file.clone(),
        source,
    })?;
    Ok(NodeArgs {
        node: node.to_owned(),
        token_file,
        key_folder,
    })
}

/// Creates the connection of a node agent. `own` is the client with the node agent's service account.
pub(crate) fn connection(
    upstream: Upstream,
    own: kube::Client,
    namespace: &str,
    args: NodeArgs,
) -> Connection<NodeEnrollment> {
    let name = args.node.clone();
    let enrollment = NodeEnrollment::new(Store::new(own.clone(), namespace), args);
    let lanes = drover_agent_report::lanes(upstream, own, namespace);
    Connection::new(name, enrollment, lanes, CancellationToken::new())
}
