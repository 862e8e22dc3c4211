//! A simulated cluster as a whole.

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

use crate::annotations::Pace;
use crate::answers::{self, Answers};
use crate::clock::Clock;
use crate::listen::{ListenError, Listener};
use crate::plan::{Plan, VERSION};
use crate::run::Simulation;
use crate::setup::{self, SetupError};

/// Who the simulation is to its own API.
const CALLER: &str = "system:drover-simulation";
/// Longest that requests under way may keep a cluster open that has ended.
const CLOSED_WITHIN: Duration = Duration::from_secs(5);

/// How a cluster is simulated.
#[derive(Clone, Debug)]
pub struct ClusterOptions {
    /// File of its state; made if it is not there, and the cluster goes on from what is in it.
    pub path: PathBuf,
    /// What it is like before anyone changes it.
    pub plan: Plan,
    /// How long things take.
    pub pace: Pace,
    /// What time it is.
    pub clock: Clock,
}

impl ClusterOptions {
    /// A cluster of this plan, at the usual pace.
    pub fn new(path: impl Into<PathBuf>, plan: Plan) -> Self {
        Self {
            path: path.into(),
            plan,
            pace: Pace::default(),
            clock: Clock::default(),
        }
    }
}

/// Why a cluster does not start.
#[derive(Debug, thiserror::Error)]
pub enum StartError {
    /// Its API does not open.
    #[error("the simulated cluster's API does not open")]
    Api(#[from] drover_apiserver::server::StartError),
    /// It cannot be reached.
    #[error("the simulated cluster cannot be reached")]
    Listen(#[from] ListenError),
    /// It does not get its nodes and workloads.
    #[error("the simulated cluster does not get its nodes and workloads")]
    Setup(#[from] SetupError),
}

/// A cluster that runs; it ends when it is stopped, or dropped.
pub struct Cluster {
    client: Client,
    door: Door,
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
    /// Opens its API, carries its plan out if that was not done before, and plays it.
    ///
    /// # Errors
    /// If the file, the port or the plan cannot be used.
    pub async fn start(options: ClusterOptions) -> Result<Self, StartError> {
        let stop = CancellationToken::new();
        // A start that fails ends what it began.
        let unfinished = stop.clone().drop_guard();
        let tasks = TaskTracker::new();
        let listener = Listener::bind().await?;
        let world = Arc::default();
        let server = ApiServer::open(api(&options, &listener.pem, &world, &stop)).await?;
        tasks.spawn({
            let (server, stop) = (server.clone(), stop.clone());
            async move { server.run(stop).await }
        });
        let door = Door(Arc::new(RwLock::new(Some(server.router()))));
        let client = door.client();
        setup::carry_out(&client, &options.plan).await?;
        let (address, certificate) = (listener.address, listener.certificate.clone());
        tasks.spawn(listener.serve(server.router(), tasks.clone(), stop.clone()));
        let simulation = Simulation {
            client: client.clone(),
            world,
            pace: options.pace,
            clock: options.clock,
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

    /// A client in this process that may do everything.
    pub fn client(&self) -> Client {
        self.client.clone()
    }

    /// Where its API is served, by TLS.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// What it proves itself with: the only root that its clients need.
    pub fn certificate(&self) -> &CertificateDer<'static> {
        &self.certificate
    }

    /// Ends it, and waits until its file is closed; its state stays there.
    pub async fn stop(mut self) {
        self.stop.cancel();
        self.tasks.close();
        self.tasks.wait().await;
        self.door.0.write().take();
        let closed = tokio::time::timeout(CLOSED_WITHIN, &mut self.closed);
        if closed.await.is_err() {
            tracing::warn!("requests keep a simulated cluster open that has ended");
        }
    }
}

/// An API that takes little room: there may be a hundred of them in a process.
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
        // What is lost with the machine's power is made again by the simulation.
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

/// The way in from this process, until it is shut: clients may outlive the cluster.
#[derive(Clone)]
struct Door(Arc<RwLock<Option<Router>>>);

/// Why a call in this process has no answer.
#[derive(Clone, Copy, Debug, thiserror::Error)]
#[error("the simulated cluster has ended")]
struct Ended;

impl Door {
    /// Calls the API as one who may do everything.
    fn client(&self) -> Client {
        let door = self.clone();
        let service = tower::service_fn(move |mut request: http::Request<kube::client::Body>| {
            let router = door.0.read().clone();
            async move {
                let router = router.ok_or(Ended)?;
                request.extensions_mut().insert(Caller::privileged(CALLER));
                match router.oneshot(request).await {
                    Ok(response) => Ok::<_, Ended>(response),
                    Err(never) => match never as Infallible {},
                }
            }
        });
        Client::new(service, "default")
    }
}
