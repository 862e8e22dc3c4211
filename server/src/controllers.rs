//! What keeps clusters as the hub wants them: observe → decide (pure) → act.
//!
//! Each cluster has a keeper, a task with five loops that meet in `keeper::Shared`: the report
//! stream, access, projects, the agent's upgrade, and the one place that writes the Cluster's status.
//! Beside them, one loop each says on users and tokens (`credentials`), on roles (`roles`) and on
//! bindings (`bindings`) whether they can be used, pins what bindings name, and keeps the roles of the
//! start; and one lets projects go whose cluster is not there any more (`projects`).

pub mod access;
pub mod bindings;
pub mod cluster;
pub mod credentials;
mod drift;
mod hub_access;
mod hub_uid;
mod keeper;
pub mod projects;
pub mod registration_tokens;
pub mod removal;
pub mod roles;
mod status_writer;
pub mod upgrade;

pub use self::hub_access::run_hub_access;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use drover_api::ids::ClusterUid;
use drover_reconcile::Runtime;
use kube::ResourceExt as _;
use tokio::sync::Semaphore;
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;

use drover_agent_gateway::registration::notice::Notices;
use drover_agent_gateway::tunnels::Tunnels;
use drover_hub::Hub;
use drover_hub::lease::{Leadership, Standing};
use drover_hub::settings::Settings;

/// The longest time between two looks at which clusters there are.
const LOOK_EVERY: Duration = Duration::from_secs(10);
/// Pause after a change, so that a burst of them is one look.
const BREATH: Duration = Duration::from_millis(100);

/// Longest time of a reconciliation that may write every object of a kind.
const BATCH_TIMEOUT: Duration = Duration::from_mins(10);
/// Clusters to which access or projects are applied at a time.
const APPLY_AT_ONCE: usize = 32;

/// What every controller stands on; cheap to clone.
#[derive(Clone)]
pub struct Controllers {
    hub: Hub,
    tunnels: Tunnels,
    settings: Settings,
    notices: Arc<Notices>,
    /// Clusters to which access or projects are applied at a time.
    applying: Arc<Semaphore>,
    /// UID of the hub's namespace kube-system, once it is known.
    hub_uid: Arc<OnceLock<String>>,
}

impl std::fmt::Debug for Controllers {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Controllers")
            .field("hub", &self.hub)
            .finish_non_exhaustive()
    }
}

/// A keeper's task, ended when this is dropped.
struct Keeper(JoinHandle<()>);

impl Drop for Keeper {
    fn drop(&mut self) {
        self.0.abort();
    }
}

impl Controllers {
    /// Controllers of the clusters on a hub.
    pub fn new(hub: Hub, tunnels: Tunnels, settings: Settings, notices: Arc<Notices>) -> Self {
        Self {
            hub,
            tunnels,
            settings,
            notices,
            applying: Arc::new(Semaphore::new(APPLY_AT_ONCE)),
            hub_uid: Arc::default(),
        }
    }

    /// Runs all controllers until the runtime is stopped, whenever this server leads.
    pub async fn run(self, leadership: Leadership, runtime: Runtime) {
        let (hub, runtime) = (&self.hub, &runtime);
        tokio::join!(
            self.run_keepers(leadership, &runtime.stop),
            hub_uid::run(hub, &self.hub_uid, runtime),
            credentials::run(hub, runtime),
            roles::built_in::run(hub, runtime),
            roles::run(hub, runtime),
            bindings::run(hub, runtime),
            projects::status::run_strays(hub, runtime),
            registration_tokens::run(hub, runtime),
        );
    }

    async fn run_keepers(&self, mut leadership: Leadership, stop: &CancellationToken) {
        loop {
            let leading = leadership.wait_for(Standing::may_control);
            let Some(Some(_)) = stop.run_until_cancelled(leading).await else {
                return;
            };
            let lost = async {
                leadership
                    .clone()
                    .wait_for(|standing| !standing.may_control())
                    .await
            };
            tokio::select! {
                () = self.keep_clusters() => {}
                _ = lost => {}
                () = stop.cancelled() => return,
            }
        }
    }

    /// One keeper for every Cluster, and no tunnel for what is none.
    async fn keep_clusters(&self) {
        let mut keepers: BTreeMap<String, Keeper> = BTreeMap::new();
        let mut stores = self.hub.stores().changed();
        let mut tunnels = self.tunnels.watch();
        loop {
            if self.hub.stores().health().is_trusted() {
                self.look(&mut keepers);
            }
            let tick = tokio::time::sleep(LOOK_EVERY);
            tokio::select! {
                _ = stores.changed() => tokio::time::sleep(BREATH).await,
                _ = tunnels.changed() => tokio::time::sleep(BREATH).await,
                () = tick => {}
            }
        }
    }

    fn look(&self, keepers: &mut BTreeMap<String, Keeper>) {
        let clusters = self.hub.stores().clusters.all();
        let uids: BTreeSet<String> = clusters
            .iter()
            .filter_map(|cluster| cluster.uid())
            .collect();
        keepers.retain(|uid, keeper| uids.contains(uid) && !keeper.0.is_finished());
        for uid in &uids {
            keepers.entry(uid.clone()).or_insert_with(|| {
                let cluster = ClusterUid::new(uid.clone());
                Keeper(tokio::spawn(keeper::keep(self.clone(), cluster)))
            });
        }
        for uid in self
            .tunnels
            .all()
            .into_keys()
            .filter(|uid| !uids.contains(uid.as_str()))
        {
            self.tunnels
                .disconnect(&uid, "the Cluster was deleted at the server");
        }
    }
}
