//! The tunnels of all clusters, and the selection of a tunnel for a request.
//!
//! *Owns* the tunnels of every cluster from attach to close, and their health. *Never* checks the
//! permissions of callers, because the proxy checks permissions first.
//!
//! A cluster's agent has several replicas, each with a tunnel. At most three node agents have a tunnel,
//! too, which receives requests while the agent has no healthy tunnel. The server probes each tunnel
//! with `GET /livez` of the cluster's API server. New requests use a healthy tunnel. Within five seconds
//! after a tunnel fails, new requests use a different tunnel. Requests in flight stay on their
//! tunnel. With each probe, the server also sends a ping to the agent, to distinguish a slow API
//! server from a lost agent. If all tunnels of a cluster have slow API servers, the server uses one
//! of these tunnels.

mod choice;
mod client;
mod cluster;
mod draining;
mod entry;
mod report_call;
mod source;

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use drover_api::agent::{LANE_HEADER, Lane};
use drover_api::ids::ClusterUid;
use drover_tunnel::{BoxError, Limits, OpenOptions, SendError, ServerBudget, Tunnel};
use http::{HeaderName, HeaderValue, Request, Response};
use parking_lot::{Mutex, RwLock};
use thiserror::Error;
use tokio::sync::watch;

pub use self::choice::Health;
pub use self::client::ANSWER_BYTES;
use self::client::TunnelService;
use self::cluster::ClusterTunnels;
pub use self::cluster::{ActiveAgent, SwitchReason};
use self::draining::DrainingTunnels;
use self::entry::TunnelEntry;
pub use self::report_call::{ReportAnswer, ReportCallError};
pub use self::source::{AttachedAgent, BoundKey, TunnelSource};
use drover_telemetry::Metrics;

/// Maximum number of tunnels of a cluster's agent. When the agent has this number of tunnels, a new
/// tunnel replaces the oldest tunnel.
const MAX_AGENT_TUNNELS: usize = 8;
/// Maximum number of tunnels of a cluster's node agents. A new tunnel replaces the oldest tunnel.
const MAX_NODE_TUNNELS: usize = 3;
/// Maximum number of tunnels of a cluster.
const MAX_TUNNELS: usize = MAX_AGENT_TUNNELS + MAX_NODE_TUNNELS;

/// Memory limits for tunnels, in bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TunnelMemory {
    /// Memory limit of all tunnels together, in bytes.
    pub all: usize,
    /// Memory limit of one tunnel, in bytes.
    pub one: usize,
}

impl Default for TunnelMemory {
    /// Returns the default limits, which are suitable for a process with a few GiB of memory.
    fn default() -> Self {
        Self {
            all: Limits::SERVER.buffered_bytes,
            one: Limits::TUNNEL.buffered_bytes,
        }
    }
}

/// A connected tunnel, its agent, its health and its load.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Connected {
    /// The agent at the other end of the tunnel.
    pub agent: AttachedAgent,
    /// Health according to the probes.
    pub health: Health,
    /// Number of requests in flight.
    pub open_streams: usize,
}

/// The reason why no tunnel is available.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum NoTunnel {
    /// The agent has no connected replica.
    #[error("no agent of the cluster is connected")]
    NotConnected,
    /// Replicas of the agent have tunnels, but none of these replicas responds.
    #[error("the cluster's agent is connected but does not respond")]
    Silent,
}

/// The reason why a request through a tunnel failed.
#[derive(Debug, Error)]
pub enum TunnelSendError {
    /// The cluster has no usable tunnel.
    #[error(transparent)]
    NoTunnel(#[from] NoTunnel),
    /// The tunnel failed while the server was sending the request.
    #[error(transparent)]
    Send(#[from] SendError),
}

/// The tunnels of all clusters. Clones share the tunnels.
#[derive(Clone)]
pub struct Tunnels(Arc<Inner>);

struct Inner {
    clusters: RwLock<HashMap<ClusterUid, Arc<ClusterTunnels>>>,
    next_id: AtomicU64,
    changed: watch::Sender<u64>,
    /// Change counters of the clusters' tunnels. A watcher of a cluster subscribes to the counter
    /// of the cluster.
    changed_in: Mutex<HashMap<ClusterUid, watch::Sender<u64>>>,
    draining: DrainingTunnels,
    budget: Arc<ServerBudget>,
    limits: Limits,
    metrics: Metrics,
}

/// The tunnel that the server selected for one request.
pub struct SelectedTunnel {
    entry: Arc<TunnelEntry>,
}

impl SelectedTunnel {
    /// Returns the selected tunnel.
    pub fn tunnel(&self) -> &Tunnel {
        &self.entry.tunnel
    }

    /// Returns the name of the node of a node agent's tunnel, or `None` for a tunnel of the cluster
    /// agent.
    pub fn node(&self) -> Option<&str> {
        self.entry.agent.source.node()
    }

    /// Sends one request on a lane. The path of the request is the API path in the cluster.
    pub async fn send<B>(
        &self,
        lane: Lane,
        mut request: Request<B>,
    ) -> Result<Response<drover_tunnel::tunnel::Body>, SendError>
    where
        B: http_body::Body + Send + 'static,
        B::Data: Send,
        B::Error: Into<BoxError>,
    {
        request.headers_mut().insert(
            HeaderName::from_static(LANE_HEADER),
            HeaderValue::from_static(lane.as_str()),
        );
        self.tunnel().send(request).await
    }
}

impl std::fmt::Debug for Tunnels {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Tunnels").finish_non_exhaustive()
    }
}

/// A guard that detaches the tunnel when the guard is dropped. If the tunnel closes earlier, the
/// server detaches the tunnel at that time.
#[must_use = "dropping the guard detaches the tunnel"]
pub struct AttachGuard {
    tunnels: Tunnels,
    cluster: ClusterUid,
    id: u64,
}

impl Drop for AttachGuard {
    fn drop(&mut self) {
        self.tunnels.detach(&self.cluster, self.id);
    }
}

impl Tunnels {
    /// Creates an empty set of tunnels with the default memory limits.
    pub fn new(metrics: &Metrics) -> Self {
        Self::within(TunnelMemory::default(), metrics)
    }

    /// Creates an empty set of tunnels with these memory limits.
    pub fn within(memory: TunnelMemory, metrics: &Metrics) -> Self {
        let budget = ServerBudget::new(Limits {
            buffered_bytes: memory.all,
            ..Limits::SERVER
        });
        Self(Arc::new(Inner {
            clusters: RwLock::default(),
            next_id: AtomicU64::new(1),
            changed: watch::Sender::new(0),
            changed_in: Mutex::default(),
            draining: DrainingTunnels::default(),
            budget,
            limits: Limits {
                buffered_bytes: memory.one,
                ..Limits::TUNNEL
            },
            metrics: metrics.clone(),
        }))
    }

    /// Returns the memory budget that all tunnels of this server share.
    pub fn budget(&self) -> Arc<ServerBudget> {
        Arc::clone(&self.0.budget)
    }

    /// Returns the options with which the server opens a tunnel.
    pub fn options(&self) -> OpenOptions {
        OpenOptions {
            limits: self.0.limits,
            ..OpenOptions::new(self.budget())
        }
    }

    /// Attaches a tunnel whose agent has proved this cluster's key, and starts to probe it.
    ///
    /// Call this method inside a tokio runtime. A replica has one tunnel. A new connection of the
    /// replica replaces the previous connection, even if the server has not detected the end of the
    /// previous connection. If the replica proved a new key, the open streams of the previous tunnel
    /// continue. An agent has at most eight tunnels, and node agents have at most three. A
    /// new tunnel beyond these numbers replaces the oldest tunnel of the agent or of the node agents.
    pub fn attach(&self, cluster: ClusterUid, agent: AttachedAgent, tunnel: Tunnel) -> AttachGuard {
        let id = self.0.next_id.fetch_add(1, Ordering::Relaxed);
        let (entry, displaced) = {
            let mut clusters = self.0.clusters.write();
            let new = || Arc::new(ClusterTunnels::new(self.0.metrics.clone()));
            let entries = clusters.entry(cluster.clone()).or_insert_with(new);
            let usage = entries.usage(&agent.source);
            let entry = Arc::new(TunnelEntry::new(id, agent, tunnel, usage));
            let displaced = entries.take(Arc::clone(&entry));
            // Before the lock is released, because the task of a detached tunnel removes the tunnel from
            // the draining tunnels when the tunnel has closed.
            for (displaced, reason) in &displaced {
                if reason.is_none() {
                    self.0.draining.add(&cluster, displaced);
                }
            }
            (entry, displaced)
        };
        self.0.metrics.tunnels.inc();
        for (displaced, reason) in displaced {
            if let Some(reason) = reason {
                self.gone(&displaced);
                displaced.tunnel.close(reason);
            }
        }
        self.changed(&cluster);
        let (tunnels, uid) = (self.clone(), cluster.clone());
        tokio::spawn(async move {
            entry
                .probe(|before, after| tunnels.health_changed(&uid, &entry, before, after))
                .await;
            tunnels.detach(&uid, entry.id);
            // Returns immediately if the tunnel is closed.
            entry.close_when_idle().await;
            if tunnels.0.draining.remove(entry.id) {
                tunnels.gone(&entry);
            }
        });
        AttachGuard {
            tunnels: self.clone(),
            cluster,
            id,
        }
    }

    /// Returns the attached tunnels of a cluster, oldest first.
    fn entries(&self, cluster: &ClusterUid) -> Vec<Arc<TunnelEntry>> {
        self.of(cluster)
            .map_or_else(Vec::new, |entries| entries.entries())
    }

    fn of(&self, cluster: &ClusterUid) -> Option<Arc<ClusterTunnels>> {
        self.0.clusters.read().get(cluster).cloned()
    }

    /// Selects the tunnel for a new request to a cluster.
    pub fn choose(&self, cluster: &ClusterUid) -> Result<SelectedTunnel, NoTunnel> {
        let entries = self.of(cluster);
        let entries = entries.ok_or(NoTunnel::NotConnected)?;
        let entry = entries.choose()?;
        entry.used();
        Ok(SelectedTunnel { entry })
    }

    /// Returns the agent whose tunnels receive new requests to a cluster, or `None` if no agent of the
    /// cluster is connected.
    pub fn active(&self, cluster: &ClusterUid) -> Option<ActiveAgent> {
        let entries = self.of(cluster)?;
        entries.active()
    }

    /// Returns the last switches between the agents of a cluster, oldest first, at most ten.
    pub fn switches(&self, cluster: &ClusterUid) -> Vec<ActiveAgent> {
        let entries = self.of(cluster);
        entries.map_or_else(Vec::new, |entries| entries.switches())
    }

    /// Selects a healthy tunnel of the cluster agent. Node agents are not selected.
    pub fn choose_agent(&self, cluster: &ClusterUid) -> Result<SelectedTunnel, NoTunnel> {
        let entries = self.of(cluster);
        let entry = entries.and_then(|entries| entries.of_agent());
        let entry = entry.ok_or(NoTunnel::NotConnected)?;
        Ok(SelectedTunnel { entry })
    }

    /// Closes the tunnels of agents for which `allowed` returns false, and the draining tunnels of agents
    /// for which `may_drain` returns false.
    pub fn retain(
        &self,
        cluster: &ClusterUid,
        allowed: impl Fn(&AttachedAgent) -> bool,
        may_drain: impl Fn(&AttachedAgent) -> bool,
    ) {
        // First the attached tunnels, because an attached tunnel can become a draining tunnel.
        let mut invalid = self.entries(cluster);
        invalid.retain(|entry| !allowed(&entry.agent));
        let draining = self.0.draining.of(cluster).into_iter();
        invalid.extend(draining.filter(|entry| !may_drain(&entry.agent)));
        for entry in invalid {
            entry.tunnel.close("the agent's key is no longer valid");
        }
    }

    /// Returns all healthy tunnels of a cluster, oldest first, with their agents.
    pub fn select_healthy(&self, cluster: &ClusterUid) -> Vec<(AttachedAgent, SelectedTunnel)> {
        self.entries(cluster)
            .into_iter()
            .filter(|entry| entry.health() == Health::Healthy)
            .map(|entry| (entry.agent.clone(), SelectedTunnel { entry }))
            .collect()
    }

    /// Sends one request to a cluster on a lane. The path of the request is the API path in the
    /// cluster.
    pub async fn send<B>(
        &self,
        cluster: &ClusterUid,
        lane: Lane,
        request: Request<B>,
    ) -> Result<Response<drover_tunnel::tunnel::Body>, TunnelSendError>
    where
        B: http_body::Body + Send + 'static,
        B::Data: Send,
        B::Error: Into<BoxError>,
    {
        Ok(self.choose(cluster)?.send(lane, request).await?)
    }

    /// Waits until the server detaches the selected tunnel, or until a different tunnel of the
    /// cluster is healthier.
    pub async fn superseded(&self, cluster: &ClusterUid, selected: &SelectedTunnel) {
        let mut changes = self.watch_cluster(cluster);
        let superseded = |_: &u64| self.is_superseded(cluster, selected);
        // Fails only if the sender is dropped, and the sender exists while it has a receiver.
        let _ = changes.wait_for(superseded).await;
    }

    fn is_superseded(&self, cluster: &ClusterUid, selected: &SelectedTunnel) -> bool {
        let entries = self.of(cluster);
        entries.is_none_or(|entries| entries.is_superseded(&selected.entry))
    }

    /// Returns a Kubernetes client that sends its requests to a cluster on a lane.
    ///
    /// Responses are limited to [`ANSWER_BYTES`]. Pass errors through
    /// [`drover_api::client_error::shorten_parse_error`] before you show or log them.
    pub fn client(&self, cluster: &ClusterUid, lane: Lane) -> kube::Client {
        let through = TunnelService {
            tunnels: self.clone(),
            cluster: cluster.clone(),
            lane,
        };
        kube::Client::new(through, "default")
    }

    /// Returns the tunnels of one cluster, oldest first.
    pub fn connected(&self, cluster: &ClusterUid) -> Vec<Connected> {
        let entries = self.of(cluster);
        entries.map(|entries| entries.list()).unwrap_or_default()
    }

    /// Returns the tunnels of every cluster with a tunnel.
    pub fn all(&self) -> BTreeMap<ClusterUid, Vec<Connected>> {
        let clusters = self.0.clusters.read();
        clusters
            .iter()
            .map(|(uid, entries)| (uid.clone(), entries.list()))
            .collect()
    }

    /// Returns a receiver whose `changed()` resolves when the server attaches or detaches a tunnel,
    /// or when the health of a tunnel changes.
    pub fn watch(&self) -> watch::Receiver<u64> {
        self.0.changed.subscribe()
    }

    /// Returns a receiver whose `changed()` resolves when the tunnels of one cluster change. A
    /// receiver for all clusters would wake every watcher after every change.
    pub fn watch_cluster(&self, cluster: &ClusterUid) -> watch::Receiver<u64> {
        let mut followed = self.0.changed_in.lock();
        let new = || watch::Sender::new(0);
        let sender = followed.entry(cluster.clone()).or_insert_with(new);
        sender.subscribe()
    }

    /// Returns true if a cluster has a tunnel.
    pub fn is_connected(&self, cluster: &ClusterUid) -> bool {
        self.0.clusters.read().contains_key(cluster)
    }

    /// Closes all tunnels of a cluster. The agent logs the reason.
    pub fn disconnect(&self, cluster: &ClusterUid, reason: &str) {
        let mut entries = self.entries(cluster);
        entries.extend(self.0.draining.of(cluster));
        for entry in entries {
            entry.tunnel.close(reason);
        }
    }

    fn detach(&self, cluster: &ClusterUid, id: u64) {
        let entry = {
            let mut clusters = self.0.clusters.write();
            let Some(entries) = clusters.get(cluster) else {
                return;
            };
            let mut list = entries.entries.write();
            let found = list.iter().position(|entry| entry.id == id);
            let entry = found.map(|index| list.remove(index));
            let empty = list.is_empty();
            drop(list);
            if empty {
                clusters.remove(cluster);
            }
            entry
        };
        if let Some(entry) = entry {
            self.gone(&entry);
            self.changed(cluster);
        }
    }

    fn gone(&self, entry: &TunnelEntry) {
        self.0.metrics.tunnels.dec();
        if entry.health() != Health::Healthy {
            self.0.metrics.tunnels_unhealthy.dec();
        }
    }

    fn health_changed(
        &self,
        cluster: &ClusterUid,
        entry: &TunnelEntry,
        before: Health,
        after: Health,
    ) {
        let (replica, node) = (&*entry.agent.replica, entry.agent.source.node());
        if before != after {
            tracing::info!(cluster.uid = %cluster, replica, node, ?before, ?after, "tunnel health changed");
        }
        match (before, after) {
            // Only the time since which the tunnel is healthy has changed.
            (Health::Healthy, Health::Healthy) => 0,
            (Health::Healthy, _) => self.0.metrics.tunnels_unhealthy.inc(),
            (_, Health::Healthy) => self.0.metrics.tunnels_unhealthy.dec(),
            _ => 0,
        };
        self.changed(cluster);
    }

    fn changed(&self, cluster: &ClusterUid) {
        // Select a tunnel before the next request, so that watchers see the agent in use.
        let entries = self.of(cluster);
        if let Some(entries) = entries {
            // Without a usable tunnel, the previous agent stays the agent in use.
            let _ = entries.choose();
        }
        let connected = self.0.clusters.read().len();
        let connected = i64::try_from(connected).unwrap_or(i64::MAX);
        self.0.metrics.clusters_connected.set(connected);
        let tick = |count: &mut u64| *count = count.wrapping_add(1);
        self.0.changed.send_modify(tick);
        let mut followed = self.0.changed_in.lock();
        if let Some(sender) = followed.get(cluster) {
            sender.send_modify(tick);
            if sender.is_closed() {
                followed.remove(cluster);
            }
        }
    }
}
