//! Builds the agent out of its parts.

use std::sync::Arc;

use drover_api::agent::Lane;
use drover_api::client_error::ClientError;
use drover_tunnel::memory::{MemoryLimit, MemorySize};
use drover_tunnel::protocol::Version;
use http::header::AUTHORIZATION;
use http::{HeaderValue, Request};
use kube::config::{KubeConfigOptions, Kubeconfig};
use thiserror::Error;
use tokio::signal::unix::{SignalKind, signal};
use tokio_util::sync::CancellationToken;
use tracing_subscriber::EnvFilter;

use crate::args::Args;
use crate::connect::Replica;
use crate::health::Probes;
use crate::lanes::Lanes;
use crate::lanes::refusals::Refusals;
use crate::lanes::tokens::LaneTokens;
use crate::memory::TunnelMemory;
use crate::registration::Store;
use crate::report::{Reporter, Source};
use crate::server::Proxy;
use crate::status::StatusBoard;
use crate::upstream::{Upstream, UpstreamError, boxed};

/// Why the agent did not start.
#[derive(Debug, Error)]
pub enum StartError {
    /// No way to the cluster.
    #[error("cannot use kubeconfig {file}: {source}")]
    Kubeconfig {
        /// The file.
        file: String,
        /// What is wrong with it.
        #[source]
        source: Box<kube::config::KubeconfigError>,
    },
    /// Not in a pod.
    #[error("this is no pod of a cluster ({0}); give --kubeconfig to run outside of one")]
    NotInCluster(#[source] kube::config::InClusterError),
    /// The API server cannot be verified.
    #[error(transparent)]
    Upstream(#[from] UpstreamError),
    /// The client cannot be built.
    #[error("cannot build a client for the cluster: {0}")]
    Client(#[source] ClientError),
    /// The log filter is none.
    #[error("--log: {0}; write for example info or info,drover_agent=debug")]
    Log(String),
    /// The address is taken or not ours.
    #[error("--health-listen: {0}")]
    Health(#[source] std::io::Error),
    /// The runtime or its signals.
    #[error("the system did not give what the agent needs: {0}")]
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

/// Chooses the one TLS provider; a second call changes nothing.
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
    replica.memory = Some(TunnelMemory::of(limit));
    replica.proxy = args
        .https_proxy
        .as_ref()
        .map(|url| Proxy::new(url, args.no_proxy.as_deref()));
    let probes = match args.health_listen {
        Some(address) => {
            let probes = Probes::bind(address, replica.board.subscribe()).await;
            Some(probes.map_err(StartError::Health)?)
        }
        None => None,
    };
    if let Some(probes) = probes {
        tokio::spawn(probes.serve());
    }
    let mut terminate = signal(SignalKind::terminate()).map_err(StartError::System)?;
    let mut interrupt = signal(SignalKind::interrupt()).map_err(StartError::System)?;
    let life = replica.run();
    tokio::pin!(life);
    tokio::select! {
        () = &mut life => return Ok(()),
        _ = terminate.recv() => {}
        _ = interrupt.recv() => {}
    }
    // Requests under way end first; the tunnel bounds how long that takes.
    shutdown.cancel();
    life.await;
    Ok(())
}

/// How to reach the cluster, from the kubeconfig or the pod's service account.
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
    // HTTPS_PROXY is for the server. The client has no support for proxies, and would refuse.
    config.proxy_url = None;
    Ok(config)
}

fn replica_name(args: &Args) -> String {
    let given = args
        .replica
        .clone()
        .or_else(|| std::fs::read_to_string("/etc/hostname").ok());
    let name: String = given
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

/// One replica on a cluster; [`Replica::run`] starts it.
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

/// One replica on a cluster that is reached in this way; `own` speaks as the agent's own service
/// account.
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
    Replica {
        board: StatusBoard::new(own.clone(), namespace, &name),
        name,
        store: Store::new(own, namespace),
        lanes: Arc::new(Lanes {
            upstream,
            tokens,
            refusals,
            reporter,
        }),
        protocols: Version::KNOWN.to_vec(),
        source: None,
        memory: None,
        proxy: None,
        shutdown,
    }
}

/// A client that speaks as a lane's service account.
fn lane_client(
    upstream: &Upstream,
    tokens: &Arc<LaneTokens>,
    lane: Lane,
    namespace: &str,
) -> kube::Client {
    let (upstream, tokens) = (upstream.clone(), Arc::clone(tokens));
    let service = tower::service_fn(move |request: Request<kube::client::Body>| {
        let (upstream, tokens) = (upstream.clone(), Arc::clone(&tokens));
        async move {
            let authorization = tokens.authorization(lane).await?;
            let mut request = request.map(boxed);
            request
                .headers_mut()
                .insert(AUTHORIZATION, authorization.clone());
            let host = HeaderValue::from_str(upstream.authority().as_str())?;
            request.headers_mut().insert(http::header::HOST, host);
            let response = upstream.send(request).await?;
            if response.status() == http::StatusCode::UNAUTHORIZED {
                tokens.forget(lane, &authorization);
            }
            Ok::<_, drover_tunnel::BoxError>(response)
        }
    });
    kube::Client::new(service, namespace)
}
