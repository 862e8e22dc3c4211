//! Controllers on the runtime of `drover-reconcile`: observe → decide (pure) → act.
//!
//! The cluster controllers use the UID of a Cluster as key and share the facts about the cluster
//! (`managed`). There is one cluster controller each for the report stream, access, projects, agent
//! upgrades, the nodes with a tunnel, the keys of agents, the authorized endpoint, the status, and
//! removal. All other controllers have a single key, for example
//! `credentials`, `roles` and `bindings`, which write the conditions of users, tokens, roles and
//! bindings.

mod access;
mod agent_keys;
pub mod agent_status;
mod bindings;
mod changes;
mod cluster;
mod credentials;
mod endpoint;
mod hub_access;
mod hub_uid;
mod list;
mod managed;
mod progress;
mod projects;
mod registration_tokens;
mod removal;
mod roles;
mod tunnel_nodes;
mod upgrade;

pub use self::hub_access::run_hub_access;

use std::collections::BTreeMap;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use drover_api::ids::ClusterUid;
use drover_reconcile::{
    Backoff, Controller, Options, Reconciler, Runtime, Trigger, on_change, on_change_of,
};
use futures::StreamExt as _;
use parking_lot::Mutex;

use self::access::reconciler::Access;
use self::agent_keys::AgentKeys;
use self::cluster::reports::AgentReports;
use self::cluster::status::ClusterStatuses;
use self::endpoint::Endpoints;
use self::list::ClusterList;
use self::managed::{ClusterState, ManagedCluster};
use self::projects::reconciler::Projects;
use self::removal::Removal;
use self::tunnel_nodes::TunnelNodes;
use self::upgrade::AgentUpgrades;
use drover_agent_gateway::registration::notice::Notices;
use drover_agent_gateway::tunnels::Tunnels;
use drover_hub::Hub;
use drover_hub::settings::Settings;

/// Timeout of a reconciliation that can write every object of a kind.
const BATCH_TIMEOUT: Duration = Duration::from_mins(10);
/// Maximum number of clusters that one controller changes concurrently.
const CONCURRENCY: usize = 32;
/// Maximum number of clusters whose status is written concurrently.
const STATUS_CONCURRENCY: usize = 128;
/// Pause after the reconciliation of a cluster. Merges a burst of changes into one reconciliation.
const COOLDOWN: Duration = Duration::from_millis(500);

/// The dependencies of all controllers. Cloning is cheap.
#[derive(Clone)]
pub struct Controllers {
    hub: Hub,
    tunnels: Tunnels,
    settings: Settings,
    notices: Arc<Notices>,
    /// UID of the hub's namespace kube-system. Unset until the server has read the UID.
    hub_uid: Arc<OnceLock<String>>,
    clusters: Arc<Mutex<BTreeMap<ClusterUid, Arc<ClusterState>>>>,
    triggers: Arc<Triggers>,
    runtime: Runtime,
}

impl std::fmt::Debug for Controllers {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Controllers")
            .field("hub", &self.hub)
            .finish_non_exhaustive()
    }
}

/// Triggers of the cluster controllers, one for each controller.
struct Triggers {
    reports: Trigger<ClusterUid>,
    status: Trigger<ClusterUid>,
    access: Trigger<ClusterUid>,
    projects: Trigger<ClusterUid>,
    upgrade: Trigger<ClusterUid>,
    removal: Trigger<ClusterUid>,
    tunnel_nodes: Trigger<ClusterUid>,
    agent_keys: Trigger<ClusterUid>,
    endpoint: Trigger<ClusterUid>,
}

impl Triggers {
    fn new(runtime: &Runtime) -> Self {
        let (second, minute) = (Duration::from_secs(1), Duration::from_mins(1));
        Self {
            reports: runtime.trigger(Options {
                // Each call keeps a report stream open.
                concurrency: usize::MAX,
                timeout: None,
                cooldown: COOLDOWN,
                backoff: Backoff::new(second, Duration::from_secs(15)),
                ..Options::new("agent-reports")
            }),
            status: runtime.trigger(Options {
                concurrency: STATUS_CONCURRENCY,
                cooldown: COOLDOWN,
                backoff: Backoff::new(second, Duration::from_secs(5)),
                ..Options::new("cluster-status")
            }),
            access: runtime.trigger(Options {
                concurrency: CONCURRENCY,
                timeout: Some(Duration::from_mins(3)),
                backoff: Backoff::new(second, Duration::from_secs(20)),
                ..Options::new("access")
            }),
            projects: runtime.trigger(Options {
                concurrency: CONCURRENCY,
                debounce: Duration::from_millis(250),
                backoff: Backoff::new(second, Duration::from_secs(20)),
                ..Options::new("projects")
            }),
            upgrade: runtime.trigger(Options {
                concurrency: CONCURRENCY,
                cooldown: COOLDOWN,
                backoff: Backoff::new(minute, minute),
                ..Options::new("agent-upgrade")
            }),
            removal: runtime.trigger(Options {
                concurrency: CONCURRENCY,
                timeout: Some(Duration::from_mins(5)),
                backoff: Backoff::new(second, Duration::from_secs(5)),
                ..Options::new("cluster-removal")
            }),
            tunnel_nodes: runtime.trigger(Options {
                concurrency: CONCURRENCY,
                cooldown: COOLDOWN,
                backoff: Backoff::new(second, Duration::from_secs(20)),
                ..Options::new("tunnel-nodes")
            }),
            agent_keys: runtime.trigger(Options {
                concurrency: CONCURRENCY,
                timeout: Some(Duration::from_mins(3)),
                cooldown: COOLDOWN,
                backoff: Backoff::new(second, Duration::from_secs(20)),
                ..Options::new("agent-keys")
            }),
            endpoint: runtime.trigger(Options {
                concurrency: CONCURRENCY,
                timeout: Some(Duration::from_mins(2)),
                cooldown: COOLDOWN,
                backoff: Backoff::new(second, Duration::from_secs(20)),
                ..Options::new("authorized-endpoint")
            }),
        }
    }

    /// Triggers the controllers that depend on the Cluster object.
    fn object_changed(&self, uid: &ClusterUid) {
        for trigger in [
            &self.status,
            &self.upgrade,
            &self.removal,
            &self.tunnel_nodes,
            &self.agent_keys,
            &self.endpoint,
        ] {
            trigger.enqueue(uid.clone());
        }
    }

    /// Triggers all cluster controllers, for example after a tunnel opened or closed.
    fn connection_changed(&self, uid: &ClusterUid) {
        self.object_changed(uid);
        for trigger in [&self.reports, &self.access, &self.projects] {
            trigger.enqueue(uid.clone());
        }
    }
}

impl Controllers {
    /// Creates the controllers. [`Self::run`] starts the controllers.
    pub fn new(
        hub: Hub,
        tunnels: Tunnels,
        settings: Settings,
        notices: Arc<Notices>,
        runtime: Runtime,
    ) -> Self {
        Self {
            hub,
            tunnels,
            settings,
            notices,
            hub_uid: Arc::default(),
            clusters: Arc::default(),
            triggers: Arc::new(Triggers::new(&runtime)),
            runtime,
        }
    }

    /// Runs all controllers until the runtime stops. Controllers act only while this server is the
    /// leader.
    pub async fn run(self) {
        let (hub, runtime) = (&self.hub, &self.runtime);
        tokio::join!(
            self.run_clusters(),
            hub_uid::run(hub, &self.hub_uid, runtime),
            credentials::run(hub, runtime),
            roles::built_in::run(hub, runtime),
            roles::run(hub, runtime),
            bindings::run(hub, runtime),
            projects::status::run_without_cluster(hub, runtime),
            registration_tokens::run(hub, runtime),
        );
    }

    /// Runs the controllers that have a cluster as key.
    async fn run_clusters(&self) {
        let (triggers, stores) = (&self.triggers, self.hub.stores());
        let all = || {
            let this = self.clone();
            on_change_of(stores.settings.changed(), move || this.uids(|_| true))
        };
        let access = {
            let this = self.clone();
            on_change_of(stores.grants.changed(), move || {
                this.uids(access::reconciler::is_outdated)
            })
        };
        let projects = {
            let this = self.clone();
            on_change_of(stores.projects.changed(), move || {
                this.uids(projects::reconciler::is_outdated)
            })
        };
        tokio::join!(
            self.run_list(),
            self.run_one(Controller::new(
                triggers.reports.clone(),
                AgentReports(self.clone())
            )),
            self.run_one(
                Controller::new(triggers.status.clone(), ClusterStatuses(self.clone())).on(all())
            ),
            self.run_one(
                Controller::new(triggers.upgrade.clone(), AgentUpgrades(self.clone())).on(all())
            ),
            self.run_one(Controller::new(triggers.access.clone(), Access(self.clone())).on(access)),
            self.run_one(
                Controller::new(triggers.projects.clone(), Projects(self.clone())).on(projects)
            ),
            self.run_one(Controller::new(
                triggers.removal.clone(),
                Removal(self.clone())
            )),
            self.run_one(Controller::new(
                triggers.tunnel_nodes.clone(),
                TunnelNodes(self.clone())
            )),
            self.run_one(Controller::new(
                triggers.agent_keys.clone(),
                AgentKeys(self.clone())
            )),
            self.run_one(Controller::new(
                triggers.endpoint.clone(),
                Endpoints(self.clone())
            )),
            endpoint::run_changes(self),
        );
    }

    async fn run_one<R: Reconciler>(&self, controller: Controller<R>) {
        self.runtime.run(controller).await;
    }

    async fn run_list(&self) {
        let trigger = self.runtime.trigger(list::OPTIONS);
        let fresh = self.clone();
        let controller = Controller::new(trigger, ClusterList(self.clone()))
            .on(on_change(self.hub.stores().clusters.changed(), ()))
            .on(on_change(self.tunnels.watch(), ()))
            .at_start(move || {
                // The state from an earlier leadership may be outdated.
                fresh.clear_clusters();
                vec![()]
            });
        self.run_one(controller).await;
    }

    /// Returns the managed cluster with this UID.
    fn cluster(&self, uid: &ClusterUid) -> Option<ManagedCluster> {
        let state = self.clusters.lock().get(uid).cloned()?;
        Some(ManagedCluster::new(self.clone(), uid.clone(), state))
    }

    /// Returns the UIDs of the managed clusters for which `matches` returns true.
    fn uids(&self, matches: impl Fn(&ManagedCluster) -> bool) -> Vec<ClusterUid> {
        let all = self.clusters.lock().clone();
        let clusters = all
            .into_iter()
            .map(|(uid, state)| ManagedCluster::new(self.clone(), uid, state));
        clusters
            .filter(|cluster| matches(cluster))
            .map(|cluster| cluster.uid)
            .collect()
    }

    /// Adds a managed cluster, and triggers its controllers after each change of its Cluster or
    /// tunnels.
    fn add(&self, uid: &ClusterUid) {
        let state = Arc::new(ClusterState::new());
        let gone = state.gone();
        self.clusters.lock().insert(uid.clone(), state);
        let clusters = &self.hub.stores().clusters;
        let triggers = Arc::clone(&self.triggers);
        let object = on_change(clusters.watch(uid.as_str()), uid.clone())
            .inspect(move |uid| triggers.object_changed(uid));
        let triggers = Arc::clone(&self.triggers);
        let tunnels = on_change(self.tunnels.watch_cluster(uid), uid.clone())
            .inspect(move |uid| triggers.connection_changed(uid));
        let changes = futures::stream::select(object, tunnels);
        let changes = changes.take_until(gone.cancelled_owned());
        self.triggers.removal.follow(changes.boxed());
        self.triggers.connection_changed(uid);
    }

    fn clear_clusters(&self) {
        let all = std::mem::take(&mut *self.clusters.lock());
        for state in all.values() {
            state.gone().cancel();
        }
    }
}
