//! Who is connected, and which tunnel a request takes.
//!
//! *Owns* the tunnels of every cluster from attach to close, and their health. *Never* knows who
//! asks or whether they may: the proxy decides that before it comes here.
//!
//! A cluster's agent has several replicas, each with a tunnel. Each tunnel is probed with
//! `GET /livez` of the cluster's API server; new requests take a healthy one and move to another
//! within five seconds of a failure. Requests under way stay where they are. A ping beside each
//! probe tells a slow API server, which is still asked where nobody has a better one, from an agent
//! that is gone.

mod choice;
mod client;
mod seat;

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
use self::client::Through;
use self::seat::Seat;
use drover_telemetry::Metrics;

/// Tunnels that one cluster may hold; a further one replaces the oldest.
const MAX_TUNNELS: usize = 8;

/// What tunnels may hold.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TunnelMemory {
    /// All of them together.
    pub all: usize,
    /// One tunnel.
    pub one: usize,
}

impl Default for TunnelMemory {
    /// For a process with some GiB.
    fn default() -> Self {
        Self {
            all: Limits::SERVER.buffered_bytes,
            one: Limits::TUNNEL.buffered_bytes,
        }
    }
}

/// What an agent said of itself when it connected; shown to people, trusted for nothing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AttachedAgent {
    /// Name of the pod.
    pub replica: String,
    /// Version of the agent program.
    pub version: String,
    /// Protocol version agreed on.
    pub protocol: u32,
}

/// A tunnel as others see it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Connected {
    /// Whose it is.
    pub agent: AttachedAgent,
    /// What the probes say.
    pub health: Health,
    /// Requests under way on it.
    pub open_streams: usize,
}

/// Why no tunnel can be taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum NoTunnel {
    /// No replica of the agent is connected.
    #[error("no agent of the cluster is connected")]
    NotConnected,
    /// Replicas are connected, but nothing comes back from them.
    #[error("the cluster's agent is connected but does not answer")]
    Silent,
}

/// Why a request through a tunnel has no answer.
#[derive(Debug, Error)]
pub enum TunnelSendError {
    /// There was no tunnel to take.
    #[error(transparent)]
    NoTunnel(#[from] NoTunnel),
    /// The tunnel did not bring it.
    #[error(transparent)]
    Send(#[from] SendError),
}

/// The tunnels of all clusters; clones share them.
#[derive(Clone)]
pub struct Tunnels(Arc<Inner>);

struct Inner {
    clusters: RwLock<HashMap<ClusterUid, Arc<Seats>>>,
    next_id: AtomicU64,
    changed: watch::Sender<u64>,
    /// The same for those who follow one cluster.
    changed_in: Mutex<HashMap<ClusterUid, watch::Sender<u64>>>,
    budget: Arc<ServerBudget>,
    /// Of one tunnel.
    limits: Limits,
    metrics: Metrics,
}

/// One cluster's tunnels, and which of them new requests take at present.
#[derive(Default)]
struct Seats {
    seats: RwLock<Vec<Arc<Seat>>>,
    present: AtomicU64,
}

/// A tunnel that was chosen for one request.
pub struct Chosen {
    seat: Arc<Seat>,
}

impl Chosen {
    /// The tunnel.
    pub fn tunnel(&self) -> &Tunnel {
        &self.seat.tunnel
    }
}

impl std::fmt::Debug for Tunnels {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Tunnels").finish_non_exhaustive()
    }
}

/// Keeps a tunnel attached; detaches it when dropped. The tunnel's own end detaches it too.
#[must_use = "the tunnel is detached when this is dropped"]
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
    /// No tunnels yet.
    pub fn new(metrics: &Metrics) -> Self {
        Self::within(TunnelMemory::default(), metrics)
    }

    /// No tunnels yet, and these limits for what they hold.
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
            budget,
            limits: Limits {
                buffered_bytes: memory.one,
                ..Limits::TUNNEL
            },
            metrics: metrics.clone(),
        }))
    }

    /// What all tunnels of this server may hold together; tunnels are opened against it.
    pub fn budget(&self) -> Arc<ServerBudget> {
        Arc::clone(&self.0.budget)
    }

    /// How a tunnel is opened.
    pub fn options(&self) -> OpenOptions {
        OpenOptions {
            limits: self.0.limits,
            ..OpenOptions::new(self.budget())
        }
    }

    /// Attaches a tunnel whose agent has proved to be this cluster's, and probes it from now on.
    ///
    /// Call inside a tokio runtime. A replica has one tunnel: when it connects again, it has given
    /// the one before up, even where that has not been noticed here yet. A cluster holds at most
    /// eight; the oldest gives way.
    pub fn attach(&self, cluster: ClusterUid, agent: AttachedAgent, tunnel: Tunnel) -> AttachGuard {
        let id = self.0.next_id.fetch_add(1, Ordering::Relaxed);
        let seat = Arc::new(Seat::new(id, agent, tunnel));
        let displaced = {
            let mut clusters = self.0.clusters.write();
            let seats = clusters.entry(cluster.clone()).or_default();
            seats.take(Arc::clone(&seat))
        };
        self.0.metrics.tunnels.inc();
        for (displaced, why) in displaced {
            self.gone(&displaced);
            displaced.tunnel.close(why);
        }
        self.changed(&cluster);
        let (tunnels, uid) = (self.clone(), cluster.clone());
        tokio::spawn(async move {
            seat.probe(|before, after| tunnels.health_changed(&uid, &seat, before, after))
                .await;
            tunnels.detach(&uid, seat.id);
        });
        AttachGuard {
            tunnels: self.clone(),
            cluster,
            id,
        }
    }

    /// The tunnel that a new request to a cluster takes.
    pub fn choose(&self, cluster: &ClusterUid) -> Result<Chosen, NoTunnel> {
        let seats = self.0.clusters.read().get(cluster).cloned();
        let seats = seats.ok_or(NoTunnel::NotConnected)?;
        let seat = seats.choose()?;
        seat.used();
        Ok(Chosen { seat })
    }

    /// Sends one request on a lane; the path is the API path, unchanged.
    pub async fn send<B>(
        &self,
        cluster: &ClusterUid,
        lane: Lane,
        mut request: Request<B>,
    ) -> Result<Response<drover_tunnel::tunnel::Body>, TunnelSendError>
    where
        B: http_body::Body + Send + 'static,
        B::Data: Send,
        B::Error: Into<BoxError>,
    {
        let chosen = self.choose(cluster)?;
        request.headers_mut().insert(
            HeaderName::from_static(LANE_HEADER),
            HeaderValue::from_static(lane.as_str()),
        );
        Ok(chosen.tunnel().send(request).await?)
    }

    /// A Kubernetes client whose requests take a lane to a cluster.
    ///
    /// An answer is read up to [`ANSWER_BYTES`]; pass its errors through [`told`] before they are
    /// shown or logged.
    pub fn client(&self, cluster: &ClusterUid, lane: Lane) -> kube::Client {
        let through = Through {
            tunnels: self.clone(),
            cluster: cluster.clone(),
            lane,
        };
        kube::Client::new(through, "default")
    }

    /// The tunnels of one cluster, oldest first.
    pub fn connected(&self, cluster: &ClusterUid) -> Vec<Connected> {
        let seats = self.0.clusters.read().get(cluster).cloned();
        seats.map(|seats| seats.list()).unwrap_or_default()
    }

    /// Every cluster that has a tunnel.
    pub fn all(&self) -> BTreeMap<ClusterUid, Vec<Connected>> {
        let clusters = self.0.clusters.read();
        clusters
            .iter()
            .map(|(uid, seats)| (uid.clone(), seats.list()))
            .collect()
    }

    /// A receiver whose `changed()` resolves after tunnels came or went or changed their health.
    pub fn watch(&self) -> watch::Receiver<u64> {
        self.0.changed.subscribe()
    }

    /// The same for the tunnels of one cluster: with many clusters, following all of them is work
    /// for everybody whenever anybody's tunnel comes or goes.
    pub fn watch_cluster(&self, cluster: &ClusterUid) -> watch::Receiver<u64> {
        let mut followed = self.0.changed_in.lock();
        let new = || watch::Sender::new(0);
        let sender = followed.entry(cluster.clone()).or_insert_with(new);
        sender.subscribe()
    }

    /// Whether a cluster has a tunnel.
    pub fn is_connected(&self, cluster: &ClusterUid) -> bool {
        self.0.clusters.read().contains_key(cluster)
    }

    /// Closes all tunnels of a cluster, for a reason that the agent's log will show.
    pub fn disconnect(&self, cluster: &ClusterUid, reason: &str) {
        let seats = self.0.clusters.read().get(cluster).cloned();
        for seat in seats.iter().flat_map(|seats| seats.seats.read().clone()) {
            seat.tunnel.close(reason);
        }
    }

    fn detach(&self, cluster: &ClusterUid, id: u64) {
        let seat = {
            let mut clusters = self.0.clusters.write();
            let Some(seats) = clusters.get(cluster) else {
                return;
            };
            let mut list = seats.seats.write();
            let found = list.iter().position(|seat| seat.id == id);
            let seat = found.map(|index| list.remove(index));
            let empty = list.is_empty();
            drop(list);
            if empty {
                clusters.remove(cluster);
            }
            seat
        };
        if let Some(seat) = seat {
            self.gone(&seat);
            self.changed(cluster);
        }
    }

    fn gone(&self, seat: &Seat) {
        self.0.metrics.tunnels.dec();
        if seat.health() != Health::Healthy {
            self.0.metrics.tunnels_unhealthy.dec();
        }
    }

    fn health_changed(&self, cluster: &ClusterUid, seat: &Seat, before: Health, after: Health) {
        let replica = &*seat.agent.replica;
        tracing::info!(cluster.uid = %cluster, replica, ?before, ?after, "a tunnel's health changed");
        match (before, after) {
            (Health::Healthy, _) => self.0.metrics.tunnels_unhealthy.inc(),
            (_, Health::Healthy) => self.0.metrics.tunnels_unhealthy.dec(),
            _ => 0,
        };
        self.changed(cluster);
    }

    fn changed(&self, cluster: &ClusterUid) {
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

impl Seats {
    /// Takes a tunnel in; returns those that give way to it, and why.
    fn take(&self, seat: Arc<Seat>) -> Vec<(Arc<Seat>, &'static str)> {
        let mut seats = self.seats.write();
        let again = |other: &mut Arc<Seat>| other.agent.replica == seat.agent.replica;
        let mut displaced: Vec<_> = seats
            .extract_if(.., again)
            .map(|seat| (seat, "the agent's replica connected again"))
            .collect();
        seats.push(seat);
        if seats.len() > MAX_TUNNELS {
            let why = "the cluster's agents opened too many tunnels";
            displaced.push((seats.remove(0), why));
        }
        displaced
    }

    fn choose(&self) -> Result<Arc<Seat>, NoTunnel> {
        let seats = self.seats.read();
        let candidates: Vec<_> = seats.iter().map(|seat| seat.candidate()).collect();
        let present = self.present.load(Ordering::Relaxed);
        let chosen = choice::choose(&candidates, present).and_then(|index| seats.get(index));
        let Some(seat) = chosen else {
            let silent = candidates.iter().any(|candidate| candidate.usable);
            return Err(if silent {
                NoTunnel::Silent
            } else {
                NoTunnel::NotConnected
            });
        };
        self.present.store(seat.id, Ordering::Relaxed);
        Ok(Arc::clone(seat))
    }

    fn list(&self) -> Vec<Connected> {
        let seats = self.seats.read();
        seats
            .iter()
            .map(|seat| Connected {
                agent: seat.agent.clone(),
                health: seat.health(),
                open_streams: seat.tunnel.stats().open_streams,
            })
            .collect()
    }
}
