//! The hub side of GitOps: controllers of Fleet's kinds.
//!
//! *Owns* the Fleet Cluster, namespace and hub rights of each Cluster, and the Bundles, BundleDeployments
//! and Contents that follow from GitRepos. Agents pull from the hub. *Never* sends a request to a cluster,
//! except for the import of a cluster with a kubeconfig, which installs an agent.

mod bundles;
mod clusters;
mod contents;
mod foreign;
mod helm_ops;
mod image_scans;
mod limits;
mod mirror;
mod namespaces;
mod offline;
mod registration;
mod repos;
mod rights;
mod rollups;
mod schedules;
pub mod webhooks;
mod world;
mod writes;

use std::time::Duration;

use std::sync::Arc;

use drover_api::fleet::GitRepo;
use drover_api::gitops::SYNC_REQUEST;
use drover_charts::Charts;
use drover_git::Fetcher;
use drover_hub::Hub;
use drover_hub::settings::Settings;
use drover_reconcile::{Backoff, Controller, Options, Runtime, Trigger, on_change_of};

use self::bundles::Bundles;
use self::clusters::Clusters;
use self::contents::{Collection, Contents};
use self::helm_ops::{HelmOpPolls, HelmOps};
use self::image_scans::ImageScans;
use self::limits::concurrency::ConcurrencyLimits;
use self::registration::{HubAddress, Registration};
use self::repos::{BundleWriter, RepoStates, RepoStatuses, Repos};
use self::rights::Rights;
use self::rollups::{ClusterStatuses, GroupStatuses};
use self::schedules::Schedules;
use self::webhooks::Webhooks;
use self::world::World;

pub use drover_kubeconfig::Loopback;
pub use mirror::Key;
pub use registration::{AgentManifest, AgentValues, ImportOptions};

/// Interval between two collections of unused repositories in the cache.
const GIT_CACHE_CHECK: Duration = Duration::from_mins(1);
/// Bytes of the cache after a collection.
const GIT_CACHE_BYTES: u64 = 4 << 30;
/// Maximum number of concurrent calls of a controller.
const CONCURRENCY: usize = 32;
/// Pause after the reconciliation of a bundle. Merges the changes of many bundle deployments.
const COOLDOWN: Duration = Duration::from_millis(200);
/// Pause after a poll of a repository.
const POLL_PAUSE: Duration = Duration::from_secs(2);
/// Pause before and after a write of a status. A status is written at most every few seconds.
const STATUS_DELAY: Duration = Duration::from_secs(1);
/// Maximum number of HelmOps that search for versions at the same time.
const POLLS: usize = 4;
/// Maximum number of these HelmOps in one namespace.
const POLLS_OF_NAMESPACE: usize = 1;
/// Maximum number of processes that read git repositories.
pub const GIT_WORKERS: usize = 5;
/// Maximum number of GitRepos of one namespace that are polled at the same time.
const REPOS_OF_NAMESPACE: usize = GIT_WORKERS - 1;

/// The controllers of Fleet's kinds.
pub struct Gitops {
    hub: Hub,
    runtime: Runtime,
    fetcher: Arc<Fetcher>,
    charts: Arc<Charts>,
    world: World,
    states: RepoStates,
    repos: Trigger<Key>,
    address: HubAddress,
    import: ImportOptions,
}

impl std::fmt::Debug for Gitops {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Gitops")
            .field("hub", &self.hub)
            .finish_non_exhaustive()
    }
}

/// The triggers of the controllers that write statuses.
struct Statuses {
    repos: Trigger<Key>,
    clusters: Trigger<Key>,
    groups: Trigger<Key>,
}

impl Statuses {
    fn new(runtime: &Runtime) -> Self {
        let options = |name| Options {
            concurrency: CONCURRENCY,
            debounce: STATUS_DELAY,
            cooldown: STATUS_DELAY,
            ..Options::new(name)
        };
        Self {
            repos: runtime.trigger(options("git-repo-status")),
            clusters: runtime.trigger(options("fleet-cluster-status")),
            groups: runtime.trigger(options("cluster-group-status")),
        }
    }

    /// Enqueues the objects whose status a changed bundle deployment or cluster concerns.
    fn connect(&self, world: &World) {
        let (repos, clusters, seen) = (self.repos.clone(), self.clusters.clone(), world.clone());
        world.deployments.listen(move |change| {
            for deployment in [&change.before, &change.after].into_iter().flatten() {
                if let Some(cluster) = rollups::cluster_of(deployment) {
                    clusters.enqueue(cluster);
                }
                let bundle = world::bundle_of(deployment);
                let bundle = bundle.and_then(|bundle| seen.bundles.get(&bundle));
                if let Some(repo) = bundle.and_then(|bundle| repos::owner(&bundle)) {
                    repos.enqueue(repo);
                }
            }
        });
        let (clusters, groups, seen) = (self.clusters.clone(), self.groups.clone(), world.clone());
        world.clusters.listen(move |change| {
            clusters.enqueue(change.key.clone());
            for group in seen.groups.in_namespace(&change.key.namespace) {
                groups.enqueue(Key::of(&*group));
            }
        });
        let groups = self.groups.clone();
        world
            .groups
            .listen(move |change| groups.enqueue(change.key.clone()));
    }
}

impl Gitops {
    /// Creates the controllers. [`Self::run`] starts the controllers.
    ///
    /// Fleet's own agents connect to the server's URL in `settings`. `trust` has the CA certificates for
    /// these agents in PEM, or is `None` if the agents already trust the server's certificate.
    pub fn new(
        hub: Hub,
        runtime: Runtime,
        fetcher: Fetcher,
        charts: Charts,
        settings: Settings,
        trust: Option<Arc<str>>,
        import: ImportOptions,
    ) -> Self {
        let repos = runtime.trigger(Options {
            concurrency: CONCURRENCY,
            timeout: Some(Duration::from_mins(10)),
            // Webhooks can request many polls.
            cooldown: POLL_PAUSE,
            ..Options::new("git-repos")
        });
        Self {
            hub,
            runtime,
            fetcher: Arc::new(fetcher),
            charts: Arc::new(charts),
            world: World::new(),
            states: RepoStates::default(),
            repos,
            address: HubAddress { settings, trust },
            import,
        }
    }

    /// Returns the state of the route for webhooks.
    pub fn webhooks(&self) -> Webhooks {
        let (client, world) = (self.hub.client(), self.world.clone());
        Webhooks::new(client, world, self.states.clone(), self.repos.clone())
    }

    /// Runs all controllers until the runtime stops. Controllers act only while this server is the
    /// leader.
    pub async fn run(self) {
        let stop = self.runtime.stop.clone();
        let client = self.hub.client();
        let controllers = async {
            let may_start = async {
                foreign::absent(&client).await;
                self.world.synced().await;
            };
            if stop.run_until_cancelled(may_start).await.is_some() {
                Box::pin(self.run_controllers()).await;
            }
        };
        tokio::join!(self.world.run(&client, &stop), controllers);
    }

    async fn run_controllers(&self) {
        let (runtime, client) = (&self.runtime, self.hub.client());
        let (world, rights) = (self.world.clone(), Rights::new(client.clone()));
        let contents = Contents::new(client.clone(), world.clone());
        let states = self.states.clone();
        let statuses = Statuses::new(runtime);
        statuses.connect(&world);
        let repo_statuses = RepoStatuses {
            client: client.clone(),
            world: world.clone(),
            states: states.clone(),
        };
        let cluster_statuses = ClusterStatuses {
            client: client.clone(),
            world: world.clone(),
            rights: rights.clone(),
        };
        let group_statuses = GroupStatuses {
            client: client.clone(),
            world: world.clone(),
        };
        let registration = Registration {
            client: client.clone(),
            world: world.clone(),
            rights: rights.clone(),
            address: self.address.clone(),
            import: self.import.clone(),
        };
        let (repos, clusters, groups) = (world.clone(), world.clone(), world.clone());
        let (helm_ops, helm_op_polls) = self.helm_ops();
        tokio::join!(
            namespaces::run(client, runtime),
            registration.run(runtime),
            runtime.run(self.clusters(rights.clone())),
            runtime.run(self.bundles(contents.clone(), rights)),
            runtime.run(self.repos(contents.clone(), statuses.repos.clone())),
            runtime.run(
                Controller::new(statuses.repos, repo_statuses)
                    .at_start(move || keys(&repos.git_repos.all()))
            ),
            runtime.run(
                Controller::new(statuses.clusters, cluster_statuses)
                    .at_start(move || keys(&clusters.clusters.all()))
            ),
            runtime.run(
                Controller::new(statuses.groups, group_statuses)
                    .at_start(move || keys(&groups.groups.all()))
            ),
            runtime.run(self.schedules()),
            runtime.run(helm_ops),
            runtime.run(helm_op_polls),
            runtime.run(self.image_scans()),
            runtime.run_single(Options::new("contents"), Collection(contents), []),
            self.clean_git_cache(),
        );
    }

    /// Ends idle git workers, and removes the least recently used repositories from their cache.
    async fn clean_git_cache(&self) {
        let cleaning = async {
            let mut interval = tokio::time::interval(GIT_CACHE_CHECK);
            loop {
                interval.tick().await;
                self.fetcher.close_idle();
                if let Err(error) = self.fetcher.collect_garbage(GIT_CACHE_BYTES).await {
                    tracing::warn!(
                        error = &error as &dyn std::error::Error,
                        "cannot remove unused repositories from the cache of git repositories"
                    );
                }
            }
        };
        self.runtime.stop.run_until_cancelled(cleaning).await;
    }

    fn repos(&self, contents: Contents, statuses: Trigger<Key>) -> Controller<Repos> {
        let (trigger, states) = (self.repos.clone(), self.states.clone());
        let (enqueue, requests) = (trigger.clone(), states.clone());
        self.world.git_repos.listen(move |change| {
            let spec = |it: &Option<Arc<GitRepo>>| it.as_ref().map(|it| it.metadata.generation);
            let request = |it: &Option<Arc<GitRepo>>| {
                let annotations = it.as_ref()?.metadata.annotations.as_ref()?;
                annotations.get(SYNC_REQUEST).cloned()
            };
            let request =
                request(&change.after).filter(|it| request(&change.before).as_ref() != Some(it));
            let is_due = request.is_some_and(|it| requests.request_sync(&change.key, it));
            if is_due || spec(&change.before) != spec(&change.after) {
                enqueue.enqueue(change.key.clone());
            }
        });
        limits::connect(&self.world, &trigger, |world, namespace| {
            keys(&world.git_repos.in_namespace(namespace))
        });
        let (client, world) = (self.hub.client(), self.world.clone());
        let (fetcher, charts) = (Arc::clone(&self.fetcher), Arc::clone(&self.charts));
        let writer = BundleWriter {
            client,
            world: world.clone(),
        };
        let enqueue = trigger.clone();
        let limits = ConcurrencyLimits::new(REPOS_OF_NAMESPACE, move |key| enqueue.enqueue(key));
        let repos = Repos::new(writer, contents, fetcher, charts, states, statuses, limits);
        Controller::new(trigger, repos).at_start(move || Repos::keys(&world))
    }

    fn bundles(&self, contents: Contents, rights: Rights) -> Controller<Bundles> {
        let trigger = self.runtime.trigger(Options {
            concurrency: CONCURRENCY,
            timeout: Some(Duration::from_mins(10)),
            cooldown: COOLDOWN,
            backoff: Backoff::new(Duration::from_secs(1), Duration::from_mins(1)),
            ..Options::new("bundles")
        });
        bundles::triggers::connect(&self.world, &trigger);
        limits::connect(&self.world, &trigger, |world, namespace| {
            keys(&world.bundles.in_namespace(namespace))
        });
        let bundles = Bundles::new(self.hub.client(), self.world.clone(), contents, rights);
        let world = self.world.clone();
        Controller::new(trigger, bundles).at_start(move || {
            let all = world.bundles.all();
            let bundles = all.iter().map(|bundle| Key::of(&**bundle));
            let deployments = world.deployments.all();
            let orphans = deployments.iter().filter_map(|it| world::bundle_of(it));
            let keys: std::collections::BTreeSet<Key> = bundles.chain(orphans).collect();
            keys.into_iter().collect()
        })
    }

    fn helm_ops(&self) -> (Controller<HelmOps>, Controller<HelmOpPolls>) {
        let trigger = self.runtime.trigger(Options {
            concurrency: CONCURRENCY,
            cooldown: STATUS_DELAY,
            ..Options::new("helm-ops")
        });
        HelmOps::connect(&self.world, &trigger);
        let polling = self.runtime.trigger(Options {
            concurrency: POLLS,
            // Each request of a poll has a timeout.
            timeout: None,
            ..Options::new("helm-op-polls")
        });
        HelmOpPolls::connect(&self.world, &polling);
        let versions = Arc::default();
        let enqueue = polling.clone();
        let polls = HelmOpPolls {
            client: self.hub.client(),
            charts: Arc::clone(&self.charts),
            world: self.world.clone(),
            versions: Arc::clone(&versions),
            helm_ops: trigger.clone(),
            limits: ConcurrencyLimits::new(POLLS_OF_NAMESPACE, move |key| enqueue.enqueue(key)),
        };
        let helm_ops = HelmOps::new(self.hub.client(), self.world.clone(), versions);
        let (world, seen) = (self.world.clone(), self.world.clone());
        (
            Controller::new(trigger, helm_ops).at_start(move || HelmOps::keys(&world)),
            Controller::new(polling, polls).at_start(move || keys(&seen.helm_ops.all())),
        )
    }

    fn image_scans(&self) -> Controller<ImageScans> {
        let trigger = self.runtime.trigger(Options::new("image-scans"));
        let enqueue = trigger.clone();
        self.world
            .image_scans
            .listen(move |change| enqueue.enqueue(change.key.clone()));
        let scans = ImageScans {
            client: self.hub.client(),
            world: self.world.clone(),
        };
        let world = self.world.clone();
        Controller::new(trigger, scans).at_start(move || keys(&world.image_scans.all()))
    }

    fn schedules(&self) -> Controller<Schedules> {
        let trigger = self.runtime.trigger(Options {
            debounce: Duration::from_millis(100),
            backoff: Backoff::new(Duration::from_secs(1), Duration::from_secs(30)),
            ..Options::new("schedules")
        });
        Schedules::connect(&self.world, &trigger);
        let schedules = Schedules {
            client: self.hub.client(),
            world: self.world.clone(),
        };
        let world = self.world.clone();
        Controller::new(trigger, schedules).at_start(move || Schedules::namespaces(&world))
    }

    fn clusters(&self, rights: Rights) -> Controller<Clusters> {
        let clusters = Clusters::new(self.hub.clone(), self.world.clone(), rights);
        let trigger = self.runtime.trigger(Options {
            concurrency: CONCURRENCY,
            debounce: Duration::from_millis(100),
            backoff: Backoff::new(Duration::from_secs(1), Duration::from_secs(30)),
            ..Options::new("fleet-clusters")
        });
        let changed = clusters.clone();
        let source = on_change_of(self.hub.stores().clusters.changed(), move || {
            changed.outdated()
        });
        let fresh = clusters.clone();
        Controller::new(trigger, clusters)
            .on(source)
            .at_start(move || {
                fresh.forget();
                fresh.outdated()
            })
    }
}

/// Returns the keys of objects.
fn keys<K: kube::Resource>(objects: &[Arc<K>]) -> Vec<Key> {
    objects.iter().map(|object| Key::of(&**object)).collect()
}
