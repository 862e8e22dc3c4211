//! Creates the agent from its arguments and starts it.

use std::sync::Arc;

use drover_agent_link::connection::Connection;
use drover_agent_link::lanes::lane_client;
use drover_agent_link::program::{self, ProgramArgs, StartError};
use drover_agent_link::registration::Store;
use drover_agent_link::upstream::Upstream;
use drover_api::agent::Lane;
use tokio_util::sync::CancellationToken;

use crate::args::Args;
use crate::endorse::{Endorser, ReportLane};
use crate::status::StatusWriter;

/// Runs the program until SIGTERM or SIGINT.
pub fn main(args: &Args) -> Result<(), StartError> {
    program::start(&args.program, run(&args.program))
}

async fn run(args: &ProgramArgs) -> Result<(), StartError> {
    let config = program::cluster(args).await?;
    let shutdown = CancellationToken::new();
    let name = program::replica_name(args);
    let mut replica = assemble(&config, &args.namespace, name, shutdown.clone())?;
    program::configure(&mut replica.connection, args).await?;
    program::until_signal(replica.run(), &shutdown).await
}

/// One replica of the cluster agent.
#[derive(Debug)]
pub struct Replica {
    /// The connection to the server.
    pub connection: Connection<Store>,
    /// The writer of the connection's status to objects in the cluster.
    pub status: StatusWriter,
}

impl Replica {
    /// Keeps the agent connected to the server until the shutdown, and writes the connection's
    /// status to the cluster.
    pub async fn run(&self) {
        let stopped = CancellationToken::new();
        let written = self
            .status
            .run(self.connection.status.subscribe(), stopped.clone());
        let connected = async {
            self.connection.run().await;
            stopped.cancel();
        };
        tokio::join!(written, connected);
    }
}

/// Creates a replica of the agent. The replica serves the cluster to which `config` connects.
pub fn assemble(
    config: &kube::Config,
    namespace: &str,
    name: String,
    shutdown: CancellationToken,
) -> Result<Replica, StartError> {
    let (upstream, own) = program::clients(config)?;
    Ok(assemble_on(upstream, own, namespace, name, shutdown))
}

/// Creates a replica of the agent for the API server `upstream`. The client `own` authenticates as
/// the agent's own service account.
pub fn assemble_on(
    upstream: Upstream,
    own: kube::Client,
    namespace: &str,
    name: String,
    shutdown: CancellationToken,
) -> Replica {
    let mut lanes = drover_agent_report::lanes(upstream, own.clone(), namespace);
    let client = lane_client(&lanes.upstream, &lanes.tokens, Lane::Report, namespace);
    lanes.report = Arc::new(ReportLane {
        reports: Arc::clone(&lanes.report),
        endorser: Endorser::new(client),
    });
    let status = StatusWriter::new(own.clone(), namespace, &name);
    let store = Store::new(own, namespace);
    Replica {
        connection: Connection::new(name, store, lanes, shutdown),
        status,
    }
}
