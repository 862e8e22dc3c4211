//! The keeper of one cluster: five loops and what they share.

use std::sync::Arc;
use std::time::Duration;

use drover_api::ids::ClusterUid;
use drover_api::kinds::Cluster;
use parking_lot::Mutex;
use tokio::sync::watch;
use tokio::time::Instant;

use super::cluster::decide::{AccessState, Known, SETTLED_AFTER, UpgradeState};
use super::cluster::heard::Heard;
use super::{Controllers, access, cluster, projects, removal, upgrade};

/// What the loops of one keeper tell each other.
pub(super) struct Shared {
    pub(super) controllers: Controllers,
    pub(super) uid: ClusterUid,
    begun: Instant,
    state: Mutex<State>,
    changed: watch::Sender<u64>,
}

#[derive(Default)]
struct State {
    heard: Heard,
    heard_at: Option<Instant>,
    access: AccessState,
    upgrade: Upgrade,
}

/// [`UpgradeState`] with the time it began.
#[derive(Clone, Default)]
pub(super) enum Upgrade {
    #[default]
    Idle,
    Asked {
        image: String,
        at: Instant,
    },
    Failed(String),
}

impl Shared {
    /// The Cluster as memory has it; `None` once it is gone.
    pub(super) fn cluster(&self) -> Option<Arc<Cluster>> {
        self.controllers
            .hub
            .stores()
            .clusters
            .by_uid(self.uid.as_str())
    }

    /// Ticks when memory has the Cluster otherwise.
    pub(super) fn followed(&self) -> watch::Receiver<u64> {
        let clusters = &self.controllers.hub.stores().clusters;
        clusters.watch(self.uid.as_str())
    }

    /// Ticks when a loop told something.
    pub(super) fn changed(&self) -> watch::Receiver<u64> {
        self.changed.subscribe()
    }

    /// Whether an agent of the cluster is connected.
    pub(super) fn is_connected(&self) -> bool {
        self.controllers.tunnels.is_connected(&self.uid)
    }

    /// Waits until an agent of the cluster is connected.
    pub(super) async fn connected(&self) {
        let mut tunnels = self.controllers.tunnels.watch_cluster(&self.uid);
        while !self.is_connected() {
            // The sender lives in `controllers`, so a failure cannot be.
            if tunnels.changed().await.is_err() {
                std::future::pending::<()>().await;
            }
        }
    }

    /// Resolves when no agent of the cluster is connected.
    pub(super) async fn disconnected(&self) {
        let mut tunnels = self.controllers.tunnels.watch_cluster(&self.uid);
        while self.is_connected() && tunnels.changed().await.is_ok() {}
    }

    /// Resolves when the cluster was away and is back.
    pub(super) async fn reconnected(&self) {
        self.disconnected().await;
        self.connected().await;
    }

    /// Whether not everything has been heard yet: the server started, or was cut off from the hub.
    pub(super) fn is_settling(&self) -> bool {
        self.begun.elapsed() < SETTLED_AFTER
    }

    /// What the agent's Deployment runs, as last heard.
    pub(super) fn heard(&self) -> Heard {
        self.state.lock().heard.clone()
    }

    /// The last reported digest of an owner's objects in the cluster.
    pub(super) fn drift_digest(&self, owner: &str) -> Option<String> {
        self.state
            .lock()
            .heard
            .drift
            .digest(owner)
            .map(str::to_owned)
    }

    /// Merges into what was heard; a stream that begins starts from nothing.
    pub(super) fn hear<T>(&self, merge: impl FnOnce(&mut Heard) -> T) -> T {
        let mut state = self.state.lock();
        state.heard_at = Some(Instant::now());
        let before = state.heard.clone();
        let merged = merge(&mut state.heard);
        let changed = state.heard != before;
        drop(state);
        if changed {
            self.tick();
        }
        merged
    }

    pub(super) fn set_access(&self, access: AccessState) {
        self.state.lock().access = access;
        self.tick();
    }

    /// What was applied is not what is wanted any more.
    pub(super) fn outdate_access(&self) {
        let mut state = self.state.lock();
        if state.access == AccessState::Applied {
            state.access = AccessState::Pending;
            drop(state);
            self.tick();
        }
    }

    pub(super) fn set_upgrade(&self, upgrade: Upgrade) {
        self.state.lock().upgrade = upgrade;
        self.tick();
    }

    /// Once there is nothing to change, a failure counts no more, and a roll-out that is done is
    /// over: a replica that is missing later is no upgrade that is stuck.
    pub(super) fn settle_upgrade(&self) {
        let mut state = self.state.lock();
        let over = match (&state.upgrade, &state.heard.agent) {
            (Upgrade::Idle, _) => false,
            (Upgrade::Failed(_), _) => true,
            (Upgrade::Asked { image, .. }, agent) => agent.as_ref().is_some_and(|agent| {
                agent.image == *image && agent.updated_available >= agent.wanted
            }),
        };
        if over {
            state.upgrade = Upgrade::Idle;
            drop(state);
            self.tick();
        }
    }

    /// Everything that the status is decided from.
    pub(super) fn known(&self) -> Known {
        let tunnels = self.controllers.tunnels.connected(&self.uid);
        let newest = tunnels.last().map(|tunnel| tunnel.agent.clone());
        let state = self.state.lock();
        Known {
            tunnels: tunnels.len().try_into().unwrap_or(u32::MAX),
            protocol: newest.as_ref().map_or(0, |agent| agent.protocol),
            agent_version: newest.map(|agent| agent.version),
            heard: state.heard.clone(),
            hub_uid: self.controllers.hub_uid.get().cloned(),
            silence: state.heard_at.map(|at| at.elapsed()),
            access: state.access.clone(),
            settling: self.is_settling(),
            upgrade: match &state.upgrade {
                Upgrade::Idle => UpgradeState::Idle,
                Upgrade::Failed(why) => UpgradeState::Failed(why.clone()),
                Upgrade::Asked { image, at } => UpgradeState::Asked {
                    image: image.clone(),
                    since: at.elapsed(),
                },
            },
        }
    }

    fn tick(&self) {
        self.changed
            .send_modify(|count| *count = count.wrapping_add(1));
    }
}

/// Keeps one cluster until it is gone or the task is dropped.
pub(super) async fn keep(controllers: Controllers, uid: ClusterUid) {
    let shared = Shared {
        controllers,
        uid,
        begun: Instant::now(),
        state: Mutex::default(),
        changed: watch::Sender::new(0),
    };
    let living = async {
        tokio::join!(
            cluster::listen::listen(&shared),
            cluster::status::keep(&shared),
            access::keep::keep(&shared),
            projects::keep::keep(&shared),
            upgrade::keep(&shared),
        );
    };
    tokio::select! {
        () = living => {}
        () = deleting(&shared) => {}
    }
    // Rare and large: it shall not take room in every cluster's task.
    Box::pin(removal::finish(&shared)).await;
}

/// Resolves when the Cluster is to be deleted; before that, sees to it that deletion waits for us.
async fn deleting(shared: &Shared) {
    let mut clusters = shared.followed();
    loop {
        match shared.cluster() {
            None => return,
            Some(cluster) if cluster.metadata.deletion_timestamp.is_some() => return,
            // Boxed: it is held already, nearly always.
            Some(cluster) => {
                Box::pin(removal::hold(&shared.controllers.hub, &cluster)).await;
            }
        }
        let _ = tokio::time::timeout(Duration::from_secs(10), clusters.changed()).await;
    }
}
