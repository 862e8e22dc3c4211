//! The parts that the programs of the cluster agent and of the node agent have in common: arguments,
//! start and shutdown.

mod args;

use std::net::SocketAddr;

use kube::config::{KubeConfigOptions, Kubeconfig};
use thiserror::Error;
use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;
use tracing_subscriber::EnvFilter;

use drover_api::client_error::ClientError;
use drover_tunnel::memory::{MemoryLimit, MemorySize};

use crate::connection::Connection;
use crate::enrollment::Enrollment;
use crate::memory::TunnelMemory;
use crate::probes::Probes;
use crate::server::Proxy;
use crate::status::ConnectionStatus;
use crate::upstream::{Upstream, UpstreamError};
pub use args::ProgramArgs;

/// The reason why the program cannot start.
#[derive(Debug, Error)]
pub enum StartError {
    /// The program cannot use the kubeconfig.
    #[error("cannot use kubeconfig {file}: {source}")]
    Kubeconfig {
        /// Path of the kubeconfig file.
        file: String,
        /// Error of the kubeconfig parser.
        #[source]
        source: Box<kube::config::KubeconfigError>,
    },
    /// The program does not run in a pod.
    #[error(
        "cannot read the service account of the pod: {cause}; set --kubeconfig to run outside of \
         a cluster", cause = .0
    )]
    NotInCluster(#[source] kube::config::InClusterError),
    /// The program cannot use the client configuration for the API server.
    #[error(transparent)]
    Upstream(#[from] UpstreamError),
    /// The program cannot create a Kubernetes client.
    #[error("cannot build a client for the cluster: {cause}", cause = .0)]
    Client(#[source] ClientError),
    /// The log filter in the arguments is not valid.
    #[error(
        "cannot parse --log: {cause}; use for example info or info,drover_agent_link=debug",
        cause = .0
    )]
    Log(String),
    /// The program cannot listen on the address for `/livez` and `/readyz`.
    #[error("cannot listen on the address of --health-listen: {cause}", cause = .0)]
    Health(#[source] std::io::Error),
    /// The runtime or its signal handlers cannot be started.
    #[error("cannot start the runtime: {cause}", cause = .0)]
    System(#[source] std::io::Error),
}

/// Starts logging and the runtime, and runs `program` until it ends.
pub fn start(
    args: &ProgramArgs,
    program: impl Future<Output = Result<(), StartError>>,
) -> Result<(), StartError> {
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
        .block_on(program)
}

/// Installs the cryptography provider of rustls for the process. A second call has no effect.
pub fn install_crypto() {
    let _ = rustls::crypto::aws_lc_rs::default_provider().install_default();
}

/// Returns the client configuration from the kubeconfig or the pod's service account.
pub async fn cluster(args: &ProgramArgs) -> Result<kube::Config, StartError> {
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

/// Creates the client for the lanes' requests, and a client with the program's own credential.
pub fn clients(config: &kube::Config) -> Result<(Upstream, kube::Client), StartError> {
    Ok((Upstream::new(config)?, client(config)?))
}

/// Creates a client with the program's own credential.
pub fn client(config: &kube::Config) -> Result<kube::Client, StartError> {
    kube::Client::try_from(config.clone()).map_err(|error| StartError::Client(error.into()))
}

/// Returns the name of the replica from the arguments or the host name.
pub fn replica_name(args: &ProgramArgs) -> String {
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

/// Applies the arguments to a connection, and serves the probes of the kubelet.
pub async fn configure<E: Enrollment>(
    connection: &mut Connection<E>,
    args: &ProgramArgs,
) -> Result<(), StartError> {
    let limit = MemoryLimit::new(args.memory_limit.map(MemorySize::bytes));
    connection.memory = Some(TunnelMemory::new(limit));
    connection.proxy = proxy(args);
    if let Some(address) = args.health_listen {
        serve_probes(address, connection.status.subscribe()).await?;
    }
    Ok(())
}

/// Returns the HTTP proxy in the arguments.
pub fn proxy(args: &ProgramArgs) -> Option<Proxy> {
    let url = args.https_proxy.as_ref()?;
    Some(Proxy::new(url, args.no_proxy.as_deref()))
}

/// Serves the probes of the kubelet with the state of a connection.
pub async fn serve_probes(
    address: SocketAddr,
    status: watch::Receiver<ConnectionStatus>,
) -> Result<(), StartError> {
    let probes = Probes::bind(address, status).await;
    tokio::spawn(probes.map_err(StartError::Health)?.serve());
    Ok(())
}

/// Runs a program until it ends. After SIGTERM or SIGINT, cancels `shutdown` and waits until the program
/// ends.
pub async fn until_signal(
    running: impl Future<Output = ()>,
    shutdown: &CancellationToken,
) -> Result<(), StartError> {
    let mut terminate = signal(SignalKind::terminate()).map_err(StartError::System)?;
    let mut interrupt = signal(SignalKind::interrupt()).map_err(StartError::System)?;
    let mut running = std::pin::pin!(running);
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
