//! One attached tunnel and the task that probes it.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU8, AtomicU64, Ordering};
use std::time::Duration;

use drover_api::agent::{LANE_HEADER, Lane, REFUSED_HEADER};
use drover_tunnel::Tunnel;
use drover_tunnel::tunnel::State;
use http::{HeaderValue, Request, StatusCode};
use http_body_util::Empty;
use tokio::sync::Notify;
use tokio::time::Instant;

use super::choice::{Candidate, Health, History, Probe};
use super::source::{AttachedAgent, TunnelSource};

/// Interval between probes of a tunnel whose agent has recent requests. Two failed probes take at most
/// [`PROBE_TIMEOUT`] and [`RETRY_TIMEOUT`], so a dead tunnel becomes unhealthy within five seconds.
const BUSY_INTERVAL: Duration = Duration::from_millis(1500);
/// Interval between probes of the tunnels of an idle agent. The first request to an idle agent triggers
/// probes without delay.
const IDLE_INTERVAL: Duration = Duration::from_secs(15);
/// Time after the last request until an agent is idle.
const BUSY_FOR: Duration = Duration::from_secs(30);
/// Interval between checks whether a draining tunnel has open streams.
const DRAIN_INTERVAL: Duration = Duration::from_secs(1);
/// Time limit of a probe.
const PROBE_TIMEOUT: Duration = Duration::from_secs(2);
/// Time limit of a probe that follows a failed probe.
const RETRY_TIMEOUT: Duration = Duration::from_secs(1);

pub(super) struct TunnelEntry {
    pub(super) id: u64,
    pub(super) agent: AttachedAgent,
    pub(super) tunnel: Tunnel,
    health: AtomicU8,
    proven: AtomicBool,
    usage: Arc<Usage>,
    /// Notified when the agent has a tunnel with a new key.
    draining: Notify,
}

/// The time of the last request to an agent. All tunnels of the agent share the value: if one tunnel
/// fails, the other tunnels may have failed too, and their probes must find this within five seconds.
pub(super) struct Usage {
    started: Instant,
    last_used_ms: AtomicU64,
    idle: AtomicBool,
    wake: Notify,
}

impl Default for Usage {
    fn default() -> Self {
        Self {
            started: Instant::now(),
            last_used_ms: AtomicU64::new(0),
            idle: AtomicBool::new(false),
            wake: Notify::new(),
        }
    }
}

impl Usage {
    /// Records a request. The first request after an idle time triggers probes without delay.
    fn record(&self) {
        let now = self.now_ms();
        // Sequentially consistent with `wait_while_idle`, so that one side sees the other.
        self.last_used_ms.store(now, Ordering::SeqCst);
        if self.idle.swap(false, Ordering::SeqCst) {
            self.wake.notify_waiters();
        }
    }

    fn now_ms(&self) -> u64 {
        u64::try_from(self.started.elapsed().as_millis()).unwrap_or(u64::MAX)
    }

    fn is_recent(&self) -> bool {
        let unused = self
            .now_ms()
            .saturating_sub(self.last_used_ms.load(Ordering::SeqCst));
        Duration::from_millis(unused) < BUSY_FOR
    }

    /// Waits until the next request, but at most for [`IDLE_INTERVAL`].
    async fn wait_while_idle(&self) {
        let wake = self.wake.notified();
        self.idle.store(true, Ordering::SeqCst);
        // A request before this store did not wake.
        if self.is_recent() {
            return;
        }
        // The timeout is the interval of the probes.
        let _ = tokio::time::timeout(IDLE_INTERVAL, wake).await;
    }
}

impl TunnelEntry {
    /// Creates the entry of a new tunnel. The new tunnel counts as used, so that its probes soon prove
    /// it.
    pub(super) fn new(id: u64, agent: AttachedAgent, tunnel: Tunnel, usage: Arc<Usage>) -> Self {
        usage.record();
        Self {
            id,
            agent,
            tunnel,
            health: AtomicU8::new(Health::Healthy as u8),
            proven: AtomicBool::new(false),
            draining: Notify::new(),
            usage,
        }
    }

    /// Returns true for a tunnel of the cluster agent, and false for a tunnel of a node agent.
    pub(super) fn is_of_agent(&self) -> bool {
        self.agent.source == TunnelSource::Agent
    }

    pub(super) fn health(&self) -> Health {
        Health::from_u8(self.health.load(Ordering::Relaxed))
    }

    pub(super) fn candidate(&self) -> Candidate {
        Candidate {
            id: self.id,
            rank: self.agent.source.rank(),
            health: self.health(),
            proven: self.proven.load(Ordering::Relaxed),
            open_streams: self.tunnel.open_streams(),
            usable: self.tunnel.state() == State::Open,
        }
    }

    /// Records a request on this tunnel.
    pub(super) fn used(&self) {
        self.usage.record();
    }

    /// Ends the probes of the tunnel, because the agent has a tunnel with a new key.
    pub(super) fn start_drain(&self) {
        self.draining.notify_one();
    }

    /// Closes the tunnel when its open streams have ended.
    pub(super) async fn close_when_idle(&self) {
        let drained = async {
            // A request can have selected the tunnel without an open stream yet.
            loop {
                tokio::time::sleep(DRAIN_INTERVAL).await;
                if self.tunnel.open_streams() == 0 {
                    break;
                }
            }
        };
        tokio::select! {
            _ = self.tunnel.closed() => {}
            () = drained => self.tunnel.close("the agent uses a tunnel with a new key"),
        }
    }

    /// Probes the tunnel until it closes or drains. Calls `changed` with the health before and after
    /// every change that affects the selection of tunnels.
    pub(super) async fn probe(&self, changed: impl Fn(Health, Health)) {
        tokio::select! {
            reason = self.tunnel.closed() => {
                tracing::debug!(replica = %self.agent.replica, %reason, "tunnel closed");
            }
            () = self.draining.notified() => {}
            () = self.keep_probing(changed) => {}
        }
    }

    async fn keep_probing(&self, changed: impl Fn(Health, Health)) {
        let mut history = History::new();
        loop {
            let wait = if history.needs_retry() {
                RETRY_TIMEOUT
            } else {
                self.wait_for_next_probe().await;
                PROBE_TIMEOUT
            };
            let before = history;
            // Boxed, because a tunnel is idle most of the time and must not reserve memory for a
            // request.
            history = history.with(Box::pin(self.probe_once(wait)).await);
            let (health, proven) = (history.health(), history.is_proven());
            if (before.health(), before.is_proven()) != (health, proven) {
                self.health.store(health as u8, Ordering::Relaxed);
                self.proven.store(proven, Ordering::Relaxed);
                changed(before.health(), health);
            }
        }
    }

    /// Waits until the next probe is due.
    async fn wait_for_next_probe(&self) {
        if self.health() != Health::Healthy || self.usage.is_recent() {
            tokio::time::sleep(BUSY_INTERVAL).await;
        } else {
            self.usage.wait_while_idle().await;
        }
    }

    /// Sends `GET /livez` to the cluster's API server, and a ping to the agent. The ping
    /// distinguishes a slow API server from a lost agent.
    async fn probe_once(&self, wait: Duration) -> Probe {
        let mut request = Request::new(Empty::<bytes::Bytes>::new());
        *request.uri_mut() = http::Uri::from_static("/livez");
        let lane = HeaderValue::from_static(Lane::Controller.as_str());
        request.headers_mut().insert(LANE_HEADER, lane);
        let livez = async {
            match self.tunnel.send(request).await {
                Ok(answer) if is_from_api_server(&answer) => Probe::Answered,
                Ok(_) => Probe::Down,
                // The ping decides whether the agent responds.
                Err(_) => std::future::pending().await,
            }
        };
        let alive = AtomicBool::new(false);
        let ping = async {
            alive.store(self.tunnel.ping().await.is_ok(), Ordering::Relaxed);
            std::future::pending().await
        };
        let both = async {
            tokio::select! {
                biased;
                probe = livez => probe,
                never = ping => never,
            }
        };
        let silence = |_| {
            if alive.load(Ordering::Relaxed) {
                Probe::Down
            } else {
                Probe::Missed
            }
        };
        tokio::time::timeout(wait, both)
            .await
            .unwrap_or_else(silence)
    }
}

/// Returns true if an API server sent the response. Responses with the status 200, 401 or 403 prove
/// that an API server responds.
fn is_from_api_server<B>(answer: &http::Response<B>) -> bool {
    answer.status() < StatusCode::INTERNAL_SERVER_ERROR
        && !answer.headers().contains_key(REFUSED_HEADER)
}
