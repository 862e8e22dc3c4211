//! The facts about a managed cluster, and the state of its controllers.

mod facts;
mod memory;

use std::sync::Arc;

use drover_api::drift::{ACCESS, PROJECTS};
use drover_api::ids::ClusterUid;
use drover_api::kinds::Cluster;
use drover_reconcile::StatusRateLimiter;
use parking_lot::Mutex;
use tokio::sync::RwLock;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

pub(crate) use self::facts::{
    AccessState, ClusterFacts, EndpointCertificates, EndpointProgress, SETTLED_AFTER, UpgradeState,
};
pub(crate) use self::memory::{
    NodeSelection, ProjectsMemory, ProjectsState, RemovalState, Secrets, WrittenSelection,
    WrittenTokens,
};
use super::Controllers;
use super::agent_status::ReportedStatus;
use super::progress::Progress;
use drover_agent_gateway::tunnels::TunnelSource;

/// A managed cluster with the dependencies of its controllers.
pub(super) struct ManagedCluster {
    pub(super) controllers: Controllers,
    pub(super) uid: ClusterUid,
    pub(super) state: Arc<ClusterState>,
}

/// The state of a cluster between reconciliations.
pub(super) struct ClusterState {
    managed_since: Instant,
    facts: Mutex<Facts>,
    /// Cancelled when the Cluster is deleted or this server loses leadership.
    gone: CancellationToken,
    /// Cancelled when deletion of the Cluster begins.
    deleting: CancellationToken,
    /// A lock that delays the removal of the cluster. Work that must end before the removal begins
    /// holds a read lock.
    active_work: RwLock<()>,
    pub(super) status_rate: Mutex<StatusRateLimiter>,
    pub(super) access: Mutex<Progress>,
    pub(super) projects: tokio::sync::Mutex<ProjectsState>,
    /// The digest of the projects that the server applied most recently.
    pub(super) projects_digest: Mutex<Option<u64>>,
    pub(super) removal: tokio::sync::Mutex<RemovalState>,
    /// The nodes that the server selected for tunnels, as it wrote them to the cluster most recently.
    pub(super) tunnel_nodes: tokio::sync::Mutex<Option<WrittenSelection>>,
    /// The tokens of the authorized endpoint that the server wrote to the cluster most recently.
    pub(super) tokens: tokio::sync::Mutex<Option<WrittenTokens>>,
    /// The image that all node agents have according to this server.
    pub(super) node_agents_image: tokio::sync::Mutex<Option<String>>,
}

#[derive(Default)]
struct Facts {
    reported: ReportedStatus,
    reported_at: Option<Instant>,
    access: AccessState,
    endpoint: EndpointProgress,
    upgrade: Upgrade,
    key_errors: Vec<(TunnelSource, String)>,
}

/// The progress of an agent upgrade, with the time of the request. [`UpgradeState`] has the time
/// since the request.
#[derive(Clone, Default)]
pub(super) enum Upgrade {
    #[default]
    Idle,
    Requested {
        image: String,
        at: Instant,
    },
    Failed(String),
}

impl ClusterState {
    pub(super) fn new() -> Self {
        let gone = CancellationToken::new();
        Self {
            managed_since: Instant::now(),
            facts: Mutex::default(),
            deleting: gone.child_token(),
            gone,
            active_work: RwLock::new(()),
            status_rate: Mutex::default(),
            access: Mutex::default(),
            projects: tokio::sync::Mutex::default(),
            projects_digest: Mutex::default(),
            removal: tokio::sync::Mutex::default(),
            tunnel_nodes: tokio::sync::Mutex::default(),
            tokens: tokio::sync::Mutex::default(),
            node_agents_image: tokio::sync::Mutex::default(),
        }
    }

    /// Returns a token that is cancelled when the server stops managing the cluster.
    pub(super) fn gone(&self) -> CancellationToken {
        self.gone.clone()
    }
}

impl ManagedCluster {
    pub(super) fn new(controllers: Controllers, uid: ClusterUid, state: Arc<ClusterState>) -> Self {
        Self {
            controllers,
            uid,
            state,
        }
    }

    /// Returns the Cluster from the store. Returns `None` after its deletion.
    pub(super) fn object(&self) -> Option<Arc<Cluster>> {
        let clusters = &self.controllers.hub.stores().clusters;
        clusters.by_uid(self.uid.as_str())
    }

    /// Reports whether an agent of the cluster is connected.
    pub(super) fn is_connected(&self) -> bool {
        self.controllers.tunnels.is_connected(&self.uid)
    }

    /// Reports whether the server began to manage the cluster so recently that agents may not have
    /// connected and reported yet.
    pub(super) fn is_settling(&self) -> bool {
        self.state.managed_since.elapsed() < SETTLED_AFTER
    }

    /// Runs `work` until deletion of the Cluster begins. Returns `None` if the deletion interrupted
    /// or prevented `work`.
    pub(super) async fn unless_deleted<T>(&self, work: impl Future<Output = T>) -> Option<T> {
        let _working = self.state.active_work.read().await;
        self.state.deleting.run_until_cancelled(work).await
    }

    /// Cancels all work that runs in [`Self::unless_deleted`], and waits until this work has ended.
    pub(super) async fn stop_work(&self) {
        self.state.deleting.cancel();
        let _ended = self.state.active_work.write().await;
    }

    /// Returns the agent's latest report.
    pub(super) fn reported(&self) -> ReportedStatus {
        self.state.facts.lock().reported.clone()
    }

    /// Returns the last reported digest of an owner's objects in the cluster.
    pub(super) fn drift_digest(&self, owner: &str) -> Option<String> {
        let facts = self.state.facts.lock();
        facts.reported.drift.digest(owner).map(str::to_owned)
    }

    /// Merges a report, and triggers the controllers whose input changed.
    pub(super) fn report<T>(&self, merge: impl FnOnce(&mut ReportedStatus) -> T) -> T {
        let mut facts = self.state.facts.lock();
        facts.reported_at = Some(Instant::now());
        let before = facts.reported.clone();
        let merged = merge(&mut facts.reported);
        let changed = facts.reported != before;
        let drifted = |owner| facts.reported.drift.digest(owner) != before.drift.digest(owner);
        let (access, projects) = (drifted(ACCESS), drifted(PROJECTS));
        drop(facts);
        let triggers = &self.controllers.triggers;
        if changed {
            self.trigger_status();
        }
        if access {
            triggers.access.enqueue(self.uid.clone());
        }
        if projects {
            triggers.projects.enqueue(self.uid.clone());
        }
        merged
    }

    pub(super) fn set_access(&self, access: AccessState) {
        self.state.facts.lock().access = access;
        self.trigger_status();
    }

    /// Reports whether the cluster has no tokens of the authorized endpoint.
    pub(super) fn is_endpoint_removed(&self) -> bool {
        self.state.facts.lock().endpoint == EndpointProgress::Removed
    }

    pub(super) fn set_endpoint(&self, endpoint: EndpointProgress) {
        self.state.facts.lock().endpoint = endpoint;
        self.trigger_status();
    }

    /// Records for which agents the last attempt to replace the key failed, and why.
    pub(super) fn set_key_errors(&self, errors: Vec<(TunnelSource, String)>) {
        let mut facts = self.state.facts.lock();
        if facts.key_errors != errors {
            facts.key_errors = errors;
            drop(facts);
            self.trigger_status();
        }
    }

    /// Sets the access state from Applied to Pending because the hub's roles changed.
    pub(super) fn set_access_pending(&self) {
        let mut facts = self.state.facts.lock();
        if facts.access == AccessState::Applied {
            facts.access = AccessState::Pending;
            drop(facts);
            self.trigger_status();
        }
    }

    pub(super) fn upgrade(&self) -> Upgrade {
        self.state.facts.lock().upgrade.clone()
    }

    pub(super) fn set_upgrade(&self, upgrade: Upgrade) {
        self.state.facts.lock().upgrade = upgrade;
        self.trigger_status();
    }

    /// Resets the upgrade state after a failure, or when the requested image runs in the cluster. A
    /// replica that becomes unavailable later is not a failed upgrade.
    pub(super) fn finish_upgrade(&self) {
        let mut facts = self.state.facts.lock();
        let over = match (&facts.upgrade, &facts.reported.agent) {
            (Upgrade::Idle, _) => false,
            (Upgrade::Failed(_), _) => true,
            (Upgrade::Requested { image, .. }, agent) => agent.as_ref().is_some_and(|agent| {
                agent.image == *image && agent.updated_available >= agent.wanted
            }),
        };
        if over {
            facts.upgrade = Upgrade::Idle;
            drop(facts);
            self.trigger_status();
        }
    }

    /// Collects the facts from which the status is decided.
    pub(super) fn facts(&self) -> ClusterFacts {
        let mut tunnels = self.controllers.tunnels.connected(&self.uid);
        let mut switches = self.controllers.tunnels.switches(&self.uid);
        let is_connected = !tunnels.is_empty();
        if !is_connected {
            switches.clear();
        }
        tunnels.retain(|tunnel| tunnel.agent.source == TunnelSource::Agent);
        let newest = tunnels.last().map(|tunnel| tunnel.agent.clone());
        let facts = self.state.facts.lock();
        ClusterFacts {
            switches,
            tunnels: tunnels.len().try_into().unwrap_or(u32::MAX),
            protocol: newest.as_ref().map_or(0, |agent| agent.protocol),
            agent_version: newest.map(|agent| agent.version),
            reported: facts.reported.clone(),
            hub_uid: self.controllers.hub_uid.get().cloned(),
            silence: facts.reported_at.map(|at| at.elapsed()),
            access: facts.access.clone(),
            endpoint: facts.endpoint.clone(),
            key_errors: facts.key_errors.clone(),
            settling: self.is_settling(),
            upgrade: match &facts.upgrade {
                Upgrade::Idle => UpgradeState::Idle,
                Upgrade::Failed(reason) => UpgradeState::Failed(reason.clone()),
                Upgrade::Requested { image, at } => UpgradeState::Requested {
                    image: image.clone(),
                    since: at.elapsed(),
                },
            },
        }
    }

    fn trigger_status(&self) {
        let triggers = &self.controllers.triggers;
        triggers.status.enqueue(self.uid.clone());
        triggers.upgrade.enqueue(self.uid.clone());
    }
}
