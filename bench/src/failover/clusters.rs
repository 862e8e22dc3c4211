//! The clusters of the benchmark. Their agents run in this process, with an API server that is shared
//! by all clusters.

use std::io;
use std::net::{IpAddr, SocketAddr};
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::time::Duration;

use drover_agent::wire::assemble_on;
use drover_agent_link::status::ConnectionStatus;
use drover_node_agent::args::NodeArgs;
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;

use super::api_server::{ApiServer, Caller, Posts, Reachability};
use super::relay::{Flow, Relay};
use crate::scale::{
    AgentsError, Joining, PER_SECOND, Stub, WriteError, all_connected, connection, network,
    node_name, put_manifest, selection, write_files,
};

/// The reason why the agents cannot run.
#[derive(Debug, thiserror::Error)]
pub(crate) enum ClustersError {
    /// An agent did not connect, or its objects cannot be stored.
    #[error(transparent)]
    Agents(#[from] AgentsError),
    /// The relay cannot start.
    #[error("cannot start the relay between the agents and the server")]
    Relay(#[source] io::Error),
    /// The address of the server cannot be parsed.
    #[error("cannot parse the address of the server")]
    Address(#[from] std::net::AddrParseError),
    /// A file of a node agent cannot be written.
    #[error(transparent)]
    Write(#[from] WriteError),
}

/// A fault of a cluster's agent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Fault {
    /// The tunnel closes. The agent opens a new tunnel.
    TunnelClosed,
    /// The agent does not respond, and its tunnel stays open.
    Hung,
    /// The network between the agent and the server drops all packets.
    Partitioned,
    /// The agent's API server refuses the connections of the agent.
    ApiServerRefusing,
    /// The agent shuts down and completes its open requests.
    Drained,
    /// The network between the agent and its API server drops all packets.
    ApiServerSilent,
}

impl Fault {
    pub(super) const ALL: [Self; 6] = [
        Self::TunnelClosed,
        Self::Hung,
        Self::Partitioned,
        Self::ApiServerRefusing,
        Self::Drained,
        Self::ApiServerSilent,
    ];

    /// Returns the name in the keys of figures.
    pub(super) const fn key(self) -> &'static str {
        match self {
            Self::TunnelClosed => "closed",
            Self::Hung => "hung",
            Self::Partitioned => "partitioned",
            Self::ApiServerRefusing => "api_server_refusing",
            Self::Drained => "drained",
            Self::ApiServerSilent => "api_server_silent",
        }
    }
}

/// A cluster with its agents.
pub(super) struct Cluster {
    /// Name of the cluster, and of the namespace of its agents' objects.
    pub(super) name: String,
    address: IpAddr,
    relay: Relay,
    agent_api: ApiServer,
    node_agent_api: ApiServer,
    /// Number of started agents.
    agents: u32,
    shutdown: CancellationToken,
}

impl Cluster {
    /// Starts a new agent. Returns the status of its connection.
    fn start_agent(&mut self) -> watch::Receiver<ConnectionStatus> {
        self.agents += 1;
        self.shutdown = CancellationToken::new();
        let (upstream, own) = (self.agent_api.upstream(), self.agent_api.client(&self.name));
        let replica = format!("agent-{}", self.agents);
        let mut agent = assemble_on(
            upstream,
            own,
            &self.name,
            replica,
            None,
            self.shutdown.clone(),
        );
        agent.connection.source = Some(self.address);
        agent.connection.proxy = Some(self.relay.proxy());
        let status = agent.connection.status.subscribe();
        tokio::spawn(async move { agent.run().await });
        status
    }

    /// Starts the node agent of the first node, without a relay.
    fn start_node_agent(&self, files: NodeArgs) -> watch::Receiver<ConnectionStatus> {
        let api = &self.node_agent_api;
        let mut connection = connection(api.upstream(), api.client(&self.name), &self.name, files);
        connection.source = Some(self.address);
        let status = connection.status.subscribe();
        tokio::spawn(async move { connection.run().await });
        status
    }

    /// Causes a fault of the agent.
    pub(super) fn inject(&self, fault: Fault) {
        match fault {
            Fault::TunnelClosed => self.relay.close(self.address),
            Fault::Hung => self.relay.set_flow(self.address, Flow::Stalled),
            Fault::Partitioned => self.relay.set_flow(self.address, Flow::Partitioned),
            Fault::ApiServerRefusing => {
                self.agent_api.set_reachability(Reachability::Refusing);
            }
            Fault::ApiServerSilent => self.agent_api.set_reachability(Reachability::Silent),
            Fault::Drained => self.shutdown.cancel(),
        }
    }

    /// Ends a fault.
    pub(super) fn repair(&mut self, fault: Fault) {
        match fault {
            Fault::TunnelClosed => {}
            Fault::Hung | Fault::Partitioned => self.relay.set_flow(self.address, Flow::Open),
            Fault::ApiServerRefusing | Fault::ApiServerSilent => {
                self.agent_api.set_reachability(Reachability::Reachable);
            }
            Fault::Drained => {
                self.start_agent();
            }
        }
    }
}

/// All clusters.
pub(super) struct Clusters {
    pub(super) list: Vec<Cluster>,
    /// The API server of all clusters.
    pub(super) stub: Stub,
    pub(super) posts: Posts,
    relay: Relay,
    folder: PathBuf,
}

impl Clusters {
    /// Creates an empty set of clusters whose agents connect to `server`.
    pub(super) async fn new(server: &str, folder: &Path) -> Result<Self, ClustersError> {
        let server: SocketAddr = server.parse()?;
        Ok(Self {
            list: Vec::new(),
            stub: Stub::with_control_plane(),
            posts: Posts::default(),
            relay: Relay::start(server).await.map_err(ClustersError::Relay)?,
            folder: folder.to_owned(),
        })
    }

    /// Connects the agents of further clusters.
    pub(super) async fn add(&mut self, clusters: Vec<Joining>) -> Result<(), ClustersError> {
        let mut statuses = Vec::new();
        for (number, mut joining) in (self.list.len()..).zip(clusters) {
            joining.objects.push(selection(&joining.name));
            let name = put_manifest(&self.stub, joining)?;
            let api = |caller| ApiServer::new(&self.stub, caller, &self.posts);
            let mut cluster = Cluster {
                address: network(u32::try_from(number).unwrap_or(u32::MAX)),
                relay: self.relay.clone(),
                agent_api: api(Caller::Agent),
                node_agent_api: api(Caller::NodeAgent),
                agents: 0,
                shutdown: CancellationToken::new(),
                name,
            };
            statuses.push((cluster.name.clone(), cluster.start_agent()));
            self.list.push(cluster);
            pause().await;
        }
        Ok(all_connected(statuses).await?)
    }

    /// Connects a node agent of each cluster in a range.
    pub(super) async fn start_node_agents(&self, range: Range<usize>) -> Result<(), ClustersError> {
        let mut statuses = Vec::new();
        for cluster in &self.list[range] {
            let files = self.node_agent_files(&cluster.name, &node_name(0))?;
            statuses.push((cluster.name.clone(), cluster.start_node_agent(files)));
            pause().await;
        }
        Ok(all_connected(statuses).await?)
    }

    /// Writes the files of a node agent. Returns the arguments that name the files.
    pub(super) fn node_agent_files(
        &self,
        cluster: &str,
        node: &str,
    ) -> Result<NodeArgs, ClustersError> {
        Ok(write_files(&self.folder, cluster, node)?)
    }
}

/// Waits between the starts of two agents, because the server limits registrations.
async fn pause() {
    tokio::time::sleep(Duration::from_secs(1) / PER_SECOND).await;
}
