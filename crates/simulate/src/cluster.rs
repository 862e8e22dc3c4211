//! A simulated cluster, which consists of an embedded API, a listener and a simulation.

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

/// User name with which the simulation sends requests to its own API.
const CALLER: &str = "system:drover-simulation";
/// Timeout for open requests when a cluster stops.
const CLOSE_TIMEOUT: Duration = Duration::from_secs(5);

/// The options of a simulated cluster.
#[derive(Clone, Debug)]
pub struct ClusterOptions {
    /// File with the state of the cluster. The first start creates the file.
    pub path: PathBuf,
    /// The nodes and objects that the simulation creates at the first start.
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
    /// The nodes and sample workloads cannot be created.
    #[error("cannot create nodes and workloads of the simulated cluster")]
    Setup(#[from] SetupError),
}

/// A running simulated cluster. The cluster stops when this value is stopped or dropped.
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
    /// Opens the API and starts the simulation. The first start also creates the objects of the
    /// plan.
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

    /// Returns a client for the API in this process. The client has all permissions.
    pub fn client(&self) -> Client {
        self.client.clone()
    }

    /// Returns the address of the API server's TLS listener.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Returns the certificate of the API server. Clients trust the certificate as root.
    pub fn certificate(&self) -> &CertificateDer<'static> {
        &self.certificate
    }

    /// Stops the cluster and waits until its file is closed. The next start reads the state from
    /// the file.
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
        list_bytes: 0,
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

/// Forwards requests of in-process clients to the API. A stopped cluster closes this service,
/// because clients may still exist.
#[derive(Clone)]
struct ApiAccess(Arc<RwLock<Option<Router>>>);

/// The error that clients receive after the cluster has stopped.
#[derive(Clone, Copy, Debug, thiserror::Error)]
#[error("the simulated cluster is stopped")]
struct ClusterStopped;

impl ApiAccess {
    /// Returns an in-process client with all permissions.
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
