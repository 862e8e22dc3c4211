//! The server's metrics. Names follow the Prometheus conventions.
//!
//! The number of label values is limited. Verbs, codes and reasons come from fixed sets. Labels
//! never contain names that users choose.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use http::StatusCode;
use parking_lot::RwLock;
use prometheus_client::encoding::{EncodeLabelSet, text};
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::metrics::histogram::Histogram;
use prometheus_client::metrics::info::Info;
use prometheus_client::registry::Registry;

use drover_access::verb::Verb;

/// Upper bounds of the latency buckets, in seconds.
const LATENCY: [f64; 14] = [
    0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 5.0, 15.0, 60.0,
];

/// Labels of the metric `drover_requests_total`.
#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
pub struct RequestLabels {
    /// Kubernetes verb, in the format of [`Verb::as_str`].
    pub verb: &'static str,
    /// HTTP status code of the response, or 0 if the client disconnected before the response.
    pub code: u16,
}

/// Labels of metrics with the label `verb`.
#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
pub struct VerbLabel {
    /// Kubernetes verb, in the format of [`Verb::as_str`].
    pub verb: &'static str,
}

/// Labels of the metrics `drover_refusals_total` and `drover_revocations_total`.
#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
pub struct ReasonLabel {
    /// Reason of the refusal or revocation, in `PascalCase`.
    pub reason: &'static str,
}

/// Labels of the metric `drover_tunnel_bytes_total`.
#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
pub struct DirectionLabel {
    /// Direction of the bytes: `to_cluster` or `from_cluster`.
    pub direction: &'static str,
}

/// The server's metrics. Clones share one registry.
#[derive(Clone)]
pub struct Metrics {
    registry: Arc<RwLock<Registry>>,
    /// Number of proxied requests that have ended.
    pub requests: Family<RequestLabels, Counter>,
    /// Duration between a request and the head of its response.
    pub request_duration: Family<VerbLabel, Histogram, fn() -> Histogram>,
    /// Number of proxied requests in flight.
    pub open_streams: Family<VerbLabel, Gauge>,
    /// Number of requests that Drover itself refused.
    pub refusals: Family<ReasonLabel, Counter>,
    /// Number of requests that were aborted because their permit was withdrawn.
    pub revocations: Family<ReasonLabel, Counter>,
    /// Number of open agent tunnels.
    pub tunnels: Gauge,
    /// Number of clusters with at least one tunnel.
    pub clusters_connected: Gauge,
    /// Number of tunnels whose most recent probe failed.
    pub tunnels_unhealthy: Gauge,
    /// Number of bytes that tunnels transferred for bodies and upgraded streams.
    pub tunnel_bytes: Family<DirectionLabel, Counter>,
    /// Number of requests that were retried on a different tunnel.
    pub tunnel_retries: Counter,
    /// Number of records written to the audit log.
    pub audit_records: Counter,
    /// Number of requests that waited because the queue of the audit log was full.
    pub audit_waits: Counter,
    /// Number of failed writes of the audit log. Each failed write is retried.
    pub audit_write_errors: Counter,
}

impl fmt::Debug for Metrics {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Metrics").finish_non_exhaustive()
    }
}

impl Default for Metrics {
    fn default() -> Self {
        Self::new()
    }
}

fn latency() -> Histogram {
    Histogram::new(LATENCY)
}

impl Metrics {
    /// Creates metrics with the value zero, in a new registry.
    pub fn new() -> Self {
        let metrics = Self {
            registry: Arc::new(RwLock::new(Registry::with_prefix("drover"))),
            requests: Family::default(),
            request_duration: Family::new_with_constructor(latency),
            open_streams: Family::default(),
            refusals: Family::default(),
            revocations: Family::default(),
            tunnels: Gauge::default(),
            clusters_connected: Gauge::default(),
            tunnels_unhealthy: Gauge::default(),
            tunnel_bytes: Family::default(),
            tunnel_retries: Counter::default(),
            audit_records: Counter::default(),
            audit_waits: Counter::default(),
            audit_write_errors: Counter::default(),
        };
        metrics.register(|registry| {
            metrics.register_proxy(registry);
            metrics.register_tunnels(registry);
            metrics.register_audit(registry);
            let version = Info::new([("version", env!("CARGO_PKG_VERSION"))]);
            registry.register("build", "The running program", version);
        });
        metrics
    }

    /// Adds the metrics of a module. Each metric's name gets the prefix `drover_`.
    pub fn register(&self, add: impl FnOnce(&mut Registry)) {
        add(&mut self.registry.write());
    }

    /// Returns all metrics in the text format of OpenMetrics 1.0.
    pub fn encode(&self) -> Result<String, fmt::Error> {
        let mut out = String::new();
        text::encode(&mut out, &self.registry.read())?;
        Ok(out)
    }

    /// Counts a request that has ended.
    pub fn request_ended(&self, verb: Verb, code: Option<StatusCode>) {
        let code = code.map_or(0, |code| code.as_u16());
        self.requests
            .get_or_create(&RequestLabels {
                verb: verb.as_str(),
                code,
            })
            .inc();
    }

    /// Records the duration until the head of a response arrived.
    pub fn answered(&self, verb: Verb, after: Duration) {
        self.request_duration
            .get_or_create(&VerbLabel {
                verb: verb.as_str(),
            })
            .observe(after.as_secs_f64());
    }

    /// Counts a request that Drover itself refused.
    pub fn refused(&self, reason: &'static str) {
        self.refusals.get_or_create(&ReasonLabel { reason }).inc();
    }

    fn register_proxy(&self, registry: &mut Registry) {
        registry.register(
            "requests",
            "Requests to clusters and to the hub that have ended, by Kubernetes verb and status code",
            self.requests.clone(),
        );
        registry.register(
            "request_duration_seconds",
            "Time from a request to the head of its response",
            self.request_duration.clone(),
        );
        registry.register(
            "open_streams",
            "Requests to clusters and to the hub in flight",
            self.open_streams.clone(),
        );
        registry.register(
            "refusals",
            "Requests that Drover itself refused, by reason",
            self.refusals.clone(),
        );
        registry.register(
            "revocations",
            "Requests in flight that were aborted because their permit was withdrawn, by reason",
            self.revocations.clone(),
        );
    }

    fn register_tunnels(&self, registry: &mut Registry) {
        registry.register("tunnels", "Open tunnels of agents", self.tunnels.clone());
        registry.register(
            "clusters_connected",
            "Clusters with at least one tunnel",
            self.clusters_connected.clone(),
        );
        registry.register(
            "tunnels_unhealthy",
            "Tunnels whose probe fails",
            self.tunnels_unhealthy.clone(),
        );
        registry.register(
            "tunnel_bytes",
            "Bytes of bodies and upgraded streams through tunnels, by direction",
            self.tunnel_bytes.clone(),
        );
        registry.register(
            "tunnel_retries",
            "Requests that were retried on another tunnel",
            self.tunnel_retries.clone(),
        );
    }

    fn register_audit(&self, registry: &mut Registry) {
        registry.register(
            "audit_records",
            "Records written to the audit log",
            self.audit_records.clone(),
        );
        registry.register(
            "audit_waits",
            "Requests that waited for room in the audit log",
            self.audit_waits.clone(),
        );
        registry.register(
            "audit_write_errors",
            "Failed writes of the audit log, which are retried",
            self.audit_write_errors.clone(),
        );
    }
}
