//! Creates the agent from its arguments and starts it.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use drover_agent_link::connection::Connection;
use drover_agent_link::hub::HubAccess;
use drover_agent_link::lanes::lane_client;
use drover_agent_link::lanes::tokens::{Account, LaneTokens};
use drover_agent_link::program::{self, StartError};
use drover_agent_link::registration::Store;
use drover_agent_link::server::Proxy;
use drover_agent_link::status::StatusPublisher;
use drover_agent_link::upstream::Upstream;
use drover_api::agent::Lane;
use tokio_util::sync::CancellationToken;

use crate::args::Args;
use crate::endorse::{Endorser, ReportLane};
use crate::fleet_hub::{FleetHub, FleetHubOptions};
use crate::gitops::{DEFAULT_DELAY, Gitops, GitopsOptions};
use crate::hub::HubSource;
use crate::status::StatusWriter;

/// Runs the program until SIGTERM or SIGINT.
pub fn main(args: &Args) -> Result<(), StartError> {
    program::start(&args.program, run(args))
}

async fn run(args: &Args) -> Result<(), StartError> {
    let program = &args.program;
    let config = program::cluster(program).await?;
    let shutdown = CancellationToken::new();
    let name = program::replica_name(program);
    if args.fleet_hub {
        let (namespace, stop) = (&program.namespace, shutdown.clone());
        let mut replica = assemble_fleet(&config, namespace, name, args.renderer(), stop)?;
        replica.removal_delay = Duration::from_secs(args.removal_delay);
        replica.proxy = program::proxy(program);
        if let Some(address) = program.health_listen {
            program::serve_probes(address, replica.published.subscribe()).await?;
        }
        return program::until_signal(replica.run(), &shutdown).await;
    }
    let renderer = (!args.no_gitops).then(|| args.renderer());
    let mut replica = assemble(
        &config,
        &program.namespace,
        name,
        renderer,
        shutdown.clone(),
    )?;
    replica.set_removal_delay(Duration::from_secs(args.removal_delay));
    replica.has_tunnel = !args.no_tunnel;
    program::configure(&mut replica.connection, program).await?;
    program::until_signal(replica.run(), &shutdown).await
}

/// One replica of the cluster agent.
#[derive(Debug)]
pub struct Replica {
    /// The connection to the server.
    pub connection: Connection<Store>,
    /// The writer of the connection's status to objects in the cluster.
    pub status: StatusWriter,
    /// False for an agent that only deploys bundles.
    pub has_tunnel: bool,
    /// The clients for the deployment of bundles. `None` deploys no bundles.
    gitops: Option<GitopsOptions>,
    store: Store,
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
            if self.has_tunnel {
                self.connection.run().await;
            } else {
                self.until_shutdown().await;
            }
            stopped.cancel();
        };
        tokio::join!(written, connected, self.deploy_bundles());
    }

    async fn until_shutdown(&self) {
        let (status, message) = (&self.connection.status, "the agent opens no tunnel");
        status.publish(true, "GitOpsOnly", message.to_owned());
        self.connection.shutdown.cancelled().await;
        status.publish(false, "Stopped", "the agent is shutting down".to_owned());
    }

    /// Sets the time between the first list of the hub's bundle deployments and the removal of releases
    /// without a bundle deployment.
    pub const fn set_removal_delay(&mut self, delay: Duration) {
        if let Some(options) = &mut self.gitops {
            options.removal_delay = delay;
        }
    }

    /// Deploys the bundles of the hub until the shutdown.
    async fn deploy_bundles(&self) {
        let Some(options) = self.gitops.clone() else {
            return;
        };
        let (source, proxy) = (self.connection.source, self.connection.proxy.clone());
        let hub = HubAccess::new(self.store.clone(), source, proxy);
        let hub = HubSource::Drover(hub);
        let gitops = Gitops::new(options, hub, self.connection.shutdown.clone());
        Box::pin(gitops.run()).await;
    }
}

/// One replica of an agent that registers at a hub as Fleet's agent does.
#[derive(Debug)]
pub struct FleetReplica {
    /// Time between the first list of the hub's bundle deployments and the removal of releases without a
    /// bundle deployment.
    pub removal_delay: Duration,
    /// HTTP proxy between the cluster and the hub.
    pub proxy: Option<Proxy>,
    /// The state of the access to the hub.
    pub published: StatusPublisher,
    /// Cancelled at the shutdown.
    pub shutdown: CancellationToken,
    status: StatusWriter,
    gitops: GitopsOptions,
}

impl FleetReplica {
    /// Deploys the bundles of the hub until the shutdown, and writes the state to the cluster.
    pub async fn run(&self) {
        let mut gitops = self.gitops.clone();
        gitops.removal_delay = self.removal_delay;
        let hub = FleetHub::new(FleetHubOptions {
            own: gitops.own.clone(),
            deployer: gitops.deployer.clone(),
            namespace: gitops.namespace.clone(),
            source: None,
            proxy: self.proxy.clone(),
            status: self.published.clone(),
        });
        let stopped = CancellationToken::new();
        let written = self.status.run(hub.status(), stopped.clone());
        let gitops = Gitops::new(
            gitops,
            HubSource::Fleet(Box::new(hub)),
            self.shutdown.clone(),
        );
        let deployed = async {
            Box::pin(gitops.run()).await;
            stopped.cancel();
        };
        tokio::join!(written, deployed);
    }
}

/// Creates a replica that registers at a hub as Fleet's agent does. `renderer` is the program that renders
/// charts.
pub fn assemble_fleet(
    config: &kube::Config,
    namespace: &str,
    name: String,
    renderer: PathBuf,
    shutdown: CancellationToken,
) -> Result<FleetReplica, StartError> {
    let (upstream, own) = program::clients(config)?;
    let tokens = Arc::new(LaneTokens::new(own.clone(), namespace));
    let deployer = lane_client(&upstream, &tokens, Account::Deployer, namespace);
    Ok(FleetReplica {
        removal_delay: DEFAULT_DELAY,
        proxy: None,
        published: StatusPublisher::default(),
        shutdown,
        status: StatusWriter::new(own.clone(), namespace, &name),
        gitops: GitopsOptions::new(own, deployer, namespace, name, renderer),
    })
}

/// Creates a replica of the agent. The replica serves the cluster to which `config` connects.
/// `renderer` is the program that renders charts. Without it, the replica deploys no bundles.
pub fn assemble(
    config: &kube::Config,
    namespace: &str,
    name: String,
    renderer: Option<PathBuf>,
    shutdown: CancellationToken,
) -> Result<Replica, StartError> {
    let (upstream, own) = program::clients(config)?;
    Ok(assemble_on(
        upstream, own, namespace, name, renderer, shutdown,
    ))
}

/// Creates a replica of the agent for the API server `upstream`. The client `own` authenticates as
/// the agent's own service account.
pub fn assemble_on(
    upstream: Upstream,
    own: kube::Client,
    namespace: &str,
    name: String,
    renderer: Option<PathBuf>,
    shutdown: CancellationToken,
) -> Replica {
    let mut lanes = drover_agent_report::lanes(upstream, own.clone(), namespace);
    let client = lane_client(&lanes.upstream, &lanes.tokens, Lane::Report, namespace);
    lanes.report = Arc::new(ReportLane {
        reports: Arc::clone(&lanes.report),
        endorser: Endorser::new(client),
    });
    let status = StatusWriter::new(own.clone(), namespace, &name);
    let store = Store::new(own.clone(), namespace);
    let deployer = lane_client(&lanes.upstream, &lanes.tokens, Account::Deployer, namespace);
    let gitops = renderer
        .map(|renderer| GitopsOptions::new(own, deployer, namespace, name.clone(), renderer));
    Replica {
        connection: Connection::new(name, store.clone(), lanes, shutdown),
        status,
        has_tunnel: true,
        gitops,
        store,
    }
}
