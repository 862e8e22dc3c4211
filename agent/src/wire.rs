//! Creates the agent from its arguments and starts it.

use std::sync::Arc;

use drover_agent_link::connection::Connection;
use drover_agent_link::lanes::refusals::Refusals;
use drover_agent_link::lanes::tokens::LaneTokens;
use drover_agent_link::lanes::{Lanes, lane_client};
use drover_agent_link::memory::TunnelMemory;
use drover_agent_link::probes::Probes;
use drover_agent_link::registration::Store;
use drover_agent_link::server::Proxy;
use drover_agent_link::upstream::{Upstream, UpstreamError};
use drover_api::agent::Lane;
use drover_api::client_error::ClientError;
use drover_tunnel::memory::{MemoryLimit, MemorySize};
use kube::config::{KubeConfigOptions, Kubeconfig};
use thiserror::Error;
use tokio::signal::unix::{SignalKind, signal};
use tokio_util::sync::CancellationToken;
use tracing_subscriber::EnvFilter;

use crate::args::Args;
use crate::report::{Reporter, Source};
use crate::status::StatusWriter;

/// The reason why the agent cannot start.
#[derive(Debug, Error)]
pub enum StartError {
    /// The agent cannot use the kubeconfig.
    #[error("cannot use kubeconfig {file}: {source}")]
    Kubeconfig {
        /// Path of the kubeconfig file.
        file: String,
        /// Error of the kubeconfig parser.
        #[source]
        source: Box<kube::config::KubeconfigError>,
    },
    /// The agent does not run in a pod.
    #[error(
        "cannot read the service account of the pod: {cause}; set --kubeconfig to run outside of \
         a cluster", cause = .0
    )]
    NotInCluster(#[source] kube::config::InClusterError),
    /// The agent cannot use the client configuration for the API server.
    #[error(transparent)]
    Upstream(#[from] UpstreamError),
    /// The agent cannot create a Kubernetes client.
    #[error("cannot build a client for the cluster: {cause}", cause = .0)]
    Client(#[source] ClientError),
    /// The log filter in the arguments is not valid.
    #[error(
        "cannot parse --log: {cause}; use for example info or info,drover_agent=debug",
        cause = .0
    )]
    Log(String),
    /// The agent cannot listen on the address for `/livez` and `/readyz`.
    #[error("cannot listen on the address of --health-listen: {cause}", cause = .0)]
    Health(#[source] std::io::Error),
    /// The runtime or its signal handlers cannot be started.
    #[error("cannot start the runtime: {cause}", cause = .0)]
    System(#[source] std::io::Error),
}

/// Runs the program until SIGTERM or SIGINT.
pub fn main(args: &Args) -> Result<(), StartError> {
    let filter =
        EnvFilter::try_new(&args.log).map_err(|error| StartError::Log(error.to_string()))?;
    tracing_subscriber::fmt()
        .json()
        .flatten_event(true)
        .with_env_filter(filter)
        .init();
    install_crypto();
    tokio::runtime::Builder::new_multi_thread()
        .worker_threads(usize::from(args.threads))
        .enable_all()
        .build()
        .map_err(StartError::System)?
        .block_on(run(args))
}

/// Installs the cryptography provider of rustls for the process. A second call has no effect.
pub fn install_crypto() {
    let _ = rustls::crypto::aws_lc_rs::default_provider().install_default();
}

async fn run(args: &Args) -> Result<(), StartError> {
    let config = cluster(args).await?;
    let shutdown = CancellationToken::new();
    let mut replica = assemble(
        &config,
        &args.namespace,
        replica_name(args),
        shutdown.clone(),
    )?;
    let limit = MemoryLimit::new(args.memory_limit.map(MemorySize::bytes));
    replica.connection.memory = Some(TunnelMemory::new(limit));
    replica.connection.proxy = args
        .https_proxy
        .as_ref()
        .map(|url| Proxy::new(url, args.no_proxy.as_deref()));
    if let Some(address) = args.health_listen {
        let probes = Probes::bind(address, replica.connection.status.subscribe()).await;
        tokio::spawn(probes.map_err(StartError::Health)?.serve());
    }
    let mut terminate = signal(SignalKind::terminate()).map_err(StartError::System)?;
    let mut interrupt = signal(SignalKind::interrupt()).map_err(StartError::System)?;
    let running = replica.run();
    tokio::pin!(running);
    tokio::select! {
        () = &mut running => return Ok(()),
        _ = terminate.recv() => {}
        _ = interrupt.recv() => {}
    }
    // Wait for open requests, within the tunnel's timeout.
    shutdown.cancel();
    running.await;
    Ok(())
}

/// Returns the client configuration from the kubeconfig or the pod's service account.
async fn cluster(args: &Args) -> Result<kube::Config, StartError> {
    let Some(file) = &args.kubeconfig else {
        return kube::Config::incluster().map_err(StartError::NotInCluster);
    };
    let problem = |source| StartError::Kubeconfig {
        file: file.display().to_string(),
        source: Box::new(source),
    };
    let kubeconfig = Kubeconfig::read_from(file).map_err(problem)?;
    let options = KubeConfigOptions {
        context: args.context.clone(),
        ..Default::default()
    };
    let mut config = kube::Config::from_custom_kubeconfig(kubeconfig, &options)
        .await
        .map_err(problem)?;
    // HTTPS_PROXY applies to the server only. The Kubernetes client does not support proxies and
    // would fail.
    config.proxy_url = None;
    Ok(config)
}

fn replica_name(args: &Args) -> String {
    let name = args
        .replica
        .clone()
        .or_else(|| std::fs::read_to_string("/etc/hostname").ok());
    let name: String = name
        .unwrap_or_default()
        .trim()
        .chars()
        .filter(|c| c.is_ascii_alphanumeric() || matches!(c, '-' | '.'))
        .take(63)
        .collect();
    if name.is_empty() {
        uuid::Uuid::new_v4().to_string()
    } else {
        name
    }
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
    let upstream = Upstream::new(config)?;
    let own =
        kube::Client::try_from(config.clone()).map_err(|error| StartError::Client(error.into()))?;
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
    let tokens = Arc::new(LaneTokens::new(own.clone(), namespace));
    let refusals = Arc::new(Refusals::default());
    let reporter = Reporter::new(Source {
        client: lane_client(&upstream, &tokens, Lane::Report, namespace),
        namespace: namespace.to_owned(),
        refusals: Arc::clone(&refusals),
    });
    let lanes = Lanes {
        upstream,
        tokens,
        refusals,
        report: Some(Arc::new(reporter)),
    };
    let status = StatusWriter::new(own.clone(), namespace, &name);
    let store = Store::new(own, namespace);
    Replica {
        connection: Connection::new(name, store, lanes, shutdown),
        status,
    }
}
