//! A simulated cluster: API, listener and simulation.

use std::convert::Infallible;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use drover_apiserver::access::Caller;
use drover_apiserver::builtin::Kinds;
use drover_apiserver::serve::Version;
use drover_apiserver::server::{ApiServer, Options};
use drover_apiserver::store::{Durability, StoreOptions};
use kube::Client;
use parking_lot::{Mutex, RwLock};
use rustls::pki_types::CertificateDer;
use tokio_util::sync::{CancellationToken, WaitForCancellationFutureOwned};
use tokio_util::task::TaskTracker;
use tower::ServiceExt as _;

use crate::annotations::Timing;
use crate::answers::{self, Answers};
use crate::clock::Clock;
use crate::listen::{ListenError, Listener};
use crate::plan::{Plan, VERSION};
use crate::run::Simulation;
use crate::setup::{self, SetupError};

/// User name of the simulation at its own API.
const CALLER: &str = "system:drover-simulation";
/// Timeout for open requests after the end of a cluster.
const CLOSE_TIMEOUT: Duration = Duration::from_secs(5);

/// The options of a simulated cluster.
#[derive(Clone, Debug)]
pub struct ClusterOptions {
    /// File with the state. It is created if it does not exist.
    pub path: PathBuf,
    /// The nodes and objects that the first start creates.
    pub plan: Plan,
    /// Default delays of simulated pods and nodes.
    pub timing: Timing,
    /// Clock of the simulation.
    pub clock: Clock,
}

impl ClusterOptions {
    /// Creates options with the default delays and the system clock.
    pub fn new(path: impl Into<PathBuf>, plan: Plan) -> Self {
        Self {
            path: path.into(),
            plan,
            timing: Timing::default(),
            clock: Clock::default(),
        }
    }
}

/// The reason why a cluster cannot start.
#[derive(Debug, thiserror::Error)]
pub enum StartError {
    /// The API cannot be opened.
    #[error("cannot open the API of the simulated cluster")]
    Api(#[from] drover_apiserver::server::StartError),
    /// The listener cannot be started.
    #[error("cannot start the listener of the simulated cluster")]
    Listen(#[from] ListenError),
    /// The setup failed.
    #[error("cannot create nodes and workloads of the simulated cluster")]
    Setup(#[from] SetupError),
}

/// A running cluster. It ends when it is stopped or dropped.
pub struct Cluster {
    client: Client,
    door: ApiAccess,
    address: SocketAddr,
    certificate: CertificateDer<'static>,
    tasks: TaskTracker,
    stop: CancellationToken,
    closed: Pin<Box<WaitForCancellationFutureOwned>>,
}

impl std::fmt::Debug for Cluster {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Cluster")
            .field("address", &self.address)
            .finish_non_exhaustive()
    }
}

impl Drop for Cluster {
    fn drop(&mut self) {
        self.stop.cancel();
    }
}

impl Cluster {
    /// Opens the API, applies the plan at the first start, and starts the simulation.
    ///
    /// # Errors
    /// Returns an error if the file, the port or the plan cannot be used.
    pub async fn start(options: ClusterOptions) -> Result<Self, StartError> {
        let stop = CancellationToken::new();
        // A failed start stops the tasks that it started.
        let unfinished = stop.clone().drop_guard();
        let tasks = TaskTracker::new();
        let listener = Listener::bind().await?;
        let world = Arc::default();
        let server = ApiServer::open(api(&options, &listener.pem, &world, &stop)).await?;
        tasks.spawn({
            let (server, stop) = (server.clone(), stop.clone());
            async move { server.run(stop).await }
        });
        let door = ApiAccess(Arc::new(RwLock::new(Some(server.router()))));
        let client = door.client();
        setup::apply_plan(&client, &options.plan).await?;
        let (address, certificate) = (listener.address, listener.certificate.clone());
        tasks.spawn(listener.serve(server.router(), tasks.clone(), stop.clone()));
        let simulation = Simulation {
            client: client.clone(),
            world,
            timing: options.timing,
            clock: options.clock,
            retries: Mutex::default(),
        };
        tasks.spawn(simulation.run(stop.clone()));
        unfinished.disarm();
        Ok(Self {
            client,
            door,
            address,
            certificate,
            tasks,
            stop,
            closed: Box::pin(server.closed()),
        })
    }

    /// Returns an in-process client with all permissions.
    pub fn client(&self) -> Client {
        self.client.clone()
    }

    /// Returns the address of the API, which uses TLS.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Returns the certificate of the API, which clients trust as root.
    pub fn certificate(&self) -> &CertificateDer<'static> {
        &self.certificate
    }

    /// Stops the cluster and waits until its file is closed. The file preserves the state.
    pub async fn stop(mut self) {
        self.stop.cancel();
        self.tasks.close();
        self.tasks.wait().await;
        self.door.0.write().take();
        let closed = tokio::time::timeout(CLOSE_TIMEOUT, &mut self.closed);
        if closed.await.is_err() {
            tracing::warn!("open requests delay the shutdown of a simulated cluster");
        }
    }
}

/// Opens an API with small buffers, because a process can contain hundreds of clusters.
fn api(
    options: &ClusterOptions,
    root_ca: &str,
    world: &Arc<Mutex<crate::world::World>>,
    stop: &CancellationToken,
) -> Options {
    let mut api = Options::new(&options.path);
    api.store = StoreOptions {
        ring_changes: 2048,
        ring_bytes: 1 << 20,
        watch_bytes: 4 << 20,
        readers: 1,
        cache_kib: 256,
        // The simulation recreates changes that are lost in a power failure.
        durability: Durability::Written,
        ..StoreOptions::default()
    };
    api.version = Version {
        git_version: VERSION.to_owned(),
        ..Version::default()
    };
    api.lifecycle.root_ca = Some(root_ca.to_owned());
    api.kinds = Kinds::Cluster;
    api.answered = answers::answered();
    api.connect = Some(Arc::new(Answers {
        world: Arc::clone(world),
        clock: options.clock.clone(),
        stop: stop.clone(),
    }));
    api
}

/// A service that forwards requests to the API in this process. The cluster closes the service when
/// it stops, because clients can outlive the cluster.
#[derive(Clone)]
struct ApiAccess(Arc<RwLock<Option<Router>>>);

/// The error of calls after the cluster has stopped.
#[derive(Clone, Copy, Debug, thiserror::Error)]
#[error("the simulated cluster is stopped")]
struct ClusterStopped;

impl ApiAccess {
    /// Returns a client with all permissions.
    fn client(&self) -> Client {
        let door = self.clone();
        let service = tower::service_fn(move |mut request: http::Request<kube::client::Body>| {
            let router = door.0.read().clone();
            async move {
                let router = router.ok_or(ClusterStopped)?;
                request.extensions_mut().insert(Caller::privileged(CALLER));
                match router.oneshot(request).await {
                    Ok(response) => Ok::<_, ClusterStopped>(response),
                    Err(never) => match never as Infallible {},
                }
            }
        });
        Client::new(service, "default")
    }
}
