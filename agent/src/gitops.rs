//! Deploys the bundles of the hub in this cluster.
//!
//! One replica of the agent has the Lease and deploys. It pulls its bundle deployments from the hub's API
//! with its own credential, and needs no tunnel. While the hub is unreachable, the deployed objects stay
//! as they are; after that, the agent continues where it was.

mod charts;
mod check_in;
mod content;
mod deployments;
mod lease;
mod reconcile;
mod stale;
mod windows;

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use drover_agent_link::hub::HubPlace;
use drover_api::fleet::BundleDeployment;
use drover_charts::Charts;
use drover_deploy::cluster::Cluster;
use drover_deploy::deployment::{Deployer, Settings};
use drover_deploy::renderer::{Renderer, Settings as RendererSettings};
use drover_deploy::signature::SigningKeys;
use drover_deploy::watch::Kinds;
use drover_reconcile::{
    Backoff, Controller, LeaderGate, Metrics, Options, Runtime, Trigger, fault,
};
use futures::TryStreamExt as _;
use kube::runtime::WatchStreamExt as _;
use kube::runtime::watcher::{self, Event, watcher};
use kube::{Api, Client, ResourceExt as _};
use tokio_util::sync::CancellationToken;

use self::charts::HelmOpCharts;
use self::content::Contents;
use self::deployments::Deployments;
use self::lease::Lease;
use self::reconcile::Reconcile;
pub(crate) use self::stale::DEFAULT_DELAY;
use self::stale::Removal;
use self::windows::Windows;
use crate::hub::HubSource;

/// Maximum number of bundles that the agent deploys at the same time.
const CONCURRENCY: usize = 4;
/// Pause after a reconciliation. Merges the changes of many objects, and limits the status writes.
const COOLDOWN: Duration = Duration::from_millis(500);
/// Time until a change of an object causes an observation. The agent has then usually observed its own
/// write.
const OWN_WRITES: Duration = Duration::from_millis(300);
/// Pause after a failed attempt to reach the hub. The access to the hub has its own backoff.
const PAUSE: Duration = Duration::from_secs(1);
/// Namespace of releases without a configured namespace.
const DEFAULT_NAMESPACE: &str = "default";

/// The clients and names of one replica.
#[derive(Clone)]
pub(crate) struct GitopsOptions {
    /// Client of the cluster with the agent's own account.
    pub(crate) own: Client,
    /// Client of the cluster with the account that deploys bundles.
    pub(crate) deployer: Client,
    /// Namespace of the agent.
    pub(crate) namespace: String,
    /// Name of the replica.
    pub(crate) replica: String,
    /// Path of the program that renders charts.
    pub(crate) renderer: PathBuf,
    /// Time between the first list of bundle deployments and the removal of releases without a bundle
    /// deployment.
    pub(crate) removal_delay: Duration,
}

impl GitopsOptions {
    /// Creates options with the default delay of removals.
    pub(crate) fn new(
        own: Client,
        deployer: Client,
        namespace: &str,
        replica: String,
        renderer: PathBuf,
    ) -> Self {
        Self {
            own,
            deployer,
            namespace: namespace.to_owned(),
            replica,
            renderer,
            removal_delay: DEFAULT_DELAY,
        }
    }
}

impl std::fmt::Debug for GitopsOptions {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("GitopsOptions")
            .field("replica", &self.replica)
            .finish_non_exhaustive()
    }
}

/// The deployment of bundles by one replica of the agent.
pub(crate) struct Gitops {
    hub: HubSource,
    lease: Lease,
    deployer: Arc<Deployer>,
    charts: Arc<Charts>,
    cluster: Cluster,
    namespace: String,
    removal_delay: Duration,
    shutdown: CancellationToken,
}

impl std::fmt::Debug for Gitops {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Gitops")
            .field("hub", &self.hub)
            .finish_non_exhaustive()
    }
}

impl Gitops {
    /// Creates the deployment of bundles.
    pub(crate) fn new(options: GitopsOptions, hub: HubSource, shutdown: CancellationToken) -> Self {
        let cluster = Cluster::new(fault::counting(options.deployer));
        let charts = charts::fetcher(options.renderer.clone());
        let renderer = Renderer::new(RendererSettings::new(options.renderer));
        let settings = Settings {
            agent_namespace: options.namespace.clone(),
            default_namespace: DEFAULT_NAMESPACE.to_owned(),
        };
        let keys = SigningKeys::new(options.own.clone(), &options.namespace);
        let deployer = Deployer::new(cluster.clone(), Arc::new(renderer), settings, keys);
        Self {
            hub,
            lease: Lease::new(options.own, &options.namespace, options.replica),
            deployer: Arc::new(deployer),
            charts: Arc::new(charts),
            cluster,
            namespace: options.namespace,
            removal_delay: options.removal_delay,
            shutdown,
        }
    }

    /// Deploys bundles while this replica has the Lease, until the shutdown.
    pub(crate) async fn run(&self) {
        let running = async {
            loop {
                self.hub.stand_by();
                let term = self.lease.acquire().await;
                let session = Box::pin(self.deploy_until_lost());
                tokio::select! {
                    () = session => {}
                    () = self.lease.renew(&term) => {
                        tracing::info!("another replica of the agent deploys bundles");
                    }
                }
            }
        };
        self.shutdown.run_until_cancelled(running).await;
        self.lease.release().await;
    }

    async fn deploy_until_lost(&self) {
        loop {
            match self.hub.client().await {
                Ok((client, place)) => {
                    let mut places = self.hub.places();
                    let current = Some(place.clone());
                    tokio::select! {
                        () = Box::pin(self.deploy(client, &place)) => {}
                        _ = places.wait_for(|place| *place != current) => {}
                    }
                }
                Err(error) => {
                    tracing::debug!(reason = error.reason(), "no access to the hub's API");
                    tokio::time::sleep(PAUSE).await;
                }
            }
        }
    }

    /// Deploys the bundle deployments of one place on the hub. Does not return.
    async fn deploy(&self, client: Client, place: &HubPlace) {
        let windows = Arc::new(Windows::of(place));
        let client = windows.limit(fault::counting(client));
        let deployments = Arc::new(Deployments::default());
        let (kinds, mut changes) = Kinds::new(self.cluster.clone());
        // The tasks of the controller end with this future.
        let stop = CancellationToken::new();
        let _guard = stop.clone().drop_guard();
        let runtime = Runtime {
            metrics: Metrics::default(),
            leader: LeaderGate::always_open(),
            stop,
        };
        let trigger: Trigger<String> = runtime.trigger(Options {
            concurrency: CONCURRENCY,
            timeout: Some(Duration::from_mins(30)),
            cooldown: COOLDOWN,
            backoff: Backoff::new(Duration::from_secs(2), Duration::from_mins(2)),
            ..Options::new("bundle-deployments")
        });
        let reconcile = Reconcile {
            windows: Arc::clone(&windows),
            deployer: Arc::clone(&self.deployer),
            deployments: Arc::clone(&deployments),
            contents: Contents::new(client.clone()),
            charts: HelmOpCharts {
                hub: client.clone(),
                charts: Arc::clone(&self.charts),
            },
            hub: client.clone(),
            namespace: place.namespace.clone(),
            cluster: place.cluster_uid.clone(),
            kinds: Arc::new(kinds),
        };
        let following = async {
            while let Some(change) = changes.recv().await {
                tokio::time::sleep_until(change.at + OWN_WRITES).await;
                for name in deployments.unobserved(&change) {
                    trigger.enqueue(name);
                }
            }
        };
        tokio::join!(
            runtime.run(Controller::new(trigger.clone(), reconcile)),
            self.follow(&client, place, &deployments, &trigger, &windows),
            following,
            check_in::run(&client, place, &self.namespace, &windows),
            windows.run(|| self.hub.disconnect()),
        );
    }

    /// Follows the bundle deployments on the hub in each window.
    async fn follow(
        &self,
        client: &Client,
        place: &HubPlace,
        deployments: &Deployments,
        trigger: &Trigger<String>,
        windows: &Windows,
    ) {
        let mut removal = Removal::after(self.removal_delay);
        loop {
            windows.opened().await;
            tokio::select! {
                () = self.follow_window(client, place, deployments, trigger, &mut removal) => {}
                () = windows.closed() => {}
            }
        }
    }

    async fn follow_window(
        &self,
        client: &Client,
        place: &HubPlace,
        deployments: &Deployments,
        trigger: &Trigger<String>,
        removal: &mut Removal,
    ) {
        let api = Api::<BundleDeployment>::namespaced(client.clone(), &place.namespace);
        let mut events = Box::pin(watcher(api, watcher::Config::default()).default_backoff());
        let mut listed = BTreeSet::new();
        loop {
            let event = tokio::select! {
                event = events.try_next() => event,
                () = removal.due() => {
                    let missing = removal.missing();
                    let found =
                        stale::find(&self.deployer, deployments, client, place, missing).await;
                    for name in removal.finish(found) {
                        trigger.enqueue(name);
                    }
                    continue;
                }
            };
            match event {
                Ok(Some(Event::Apply(object))) => {
                    if let Some(name) = deployments.set_changed(object) {
                        trigger.enqueue(name);
                    }
                }
                Ok(Some(Event::Delete(object))) => {
                    let name = object.name_any();
                    deployments.remove(&name);
                    trigger.enqueue(name);
                }
                Ok(Some(Event::Init)) => listed.clear(),
                Ok(Some(Event::InitApply(object))) => {
                    let name = deployments.set(object);
                    listed.insert(name.clone());
                    trigger.enqueue(name);
                }
                Ok(Some(Event::InitDone)) => {
                    removal.listed(deployments.missing(&listed));
                }
                Ok(None) => return,
                // The watcher continues after an error, with a backoff.
                Err(error) => {
                    tracing::debug!(%error, "cannot watch the bundle deployments on the hub");
                }
            }
        }
    }
}
