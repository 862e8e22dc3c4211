//! The server's metrics. Names follow the Prometheus conventions.
//!
//! The number of label values is limited. Verbs, codes and reasons come from fixed sets. Labels
//! never contain names that users choose.

use std::fmt;
use std::sync::{Arc, OnceLock};
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
struct RequestLabels {
    /// Kubernetes verb, in the format of [`Verb::as_str`].
    verb: &'static str,
    /// HTTP status code of the response, or 0 if the client disconnected before the response.
    code: u16,
}

/// Labels of metrics with the label `verb`.
#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct VerbLabel {
    /// Kubernetes verb, in the format of [`Verb::as_str`].
    verb: &'static str,
}

/// Labels of the metrics `drover_refusals_total` and `drover_revocations_total`.
#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
pub struct ReasonLabel {
    /// Reason of the refusal or revocation, in `PascalCase`.
    pub reason: &'static str,
}

/// Labels of the metric `drover_tunnel_bytes_total`.
#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct DirectionLabel {
    /// Direction of the bytes: `to_cluster` or `from_cluster`.
    direction: &'static str,
}

/// The server's metrics. Clones share one registry.
#[derive(Clone)]
pub struct Metrics {
    registry: Arc<RwLock<Registry>>,
    handles: Arc<ProxyHandles>,
    /// Number of proxied requests that have ended.
    requests: Family<RequestLabels, Counter>,
    /// Duration between a request and the head of its response.
    request_duration: Family<VerbLabel, Histogram, fn() -> Histogram>,
    /// Number of proxied requests in flight.
    open_streams: Family<VerbLabel, Gauge>,
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
    /// Number of switches of new requests between a cluster's agent and its node agents.
    pub agent_switches: Family<ReasonLabel, Counter>,
    /// Number of bytes that tunnels transferred for bodies and upgraded streams.
    tunnel_bytes: Family<DirectionLabel, Counter>,
    /// Number of requests that were retried on a different tunnel.
    pub tunnel_retries: Counter,
    /// Number of records written to the audit log.
    pub audit_records: Counter,
    /// Number of requests that waited because the queue of the audit log was full.
    pub audit_waits: Counter,
    /// Number of failed writes of the audit log. Each failed write is retried.
    pub audit_write_errors: Counter,
}

/// Status codes whose counters have handles. The code 0 means that the client disconnected before
/// the response.
const CODES: [u16; 17] = [
    200, 201, 404, 101, 409, 403, 401, 304, 202, 400, 422, 429, 500, 502, 503, 504, 0,
];

/// The metrics of proxied requests, without the lookup by labels. A handle is created at its first
/// use, so that `/metrics` contains only used labels.
#[derive(Default)]
struct ProxyHandles {
    verbs: [VerbHandles; Verb::ALL.len()],
    to_cluster: OnceLock<Counter>,
    from_cluster: OnceLock<Counter>,
}

/// The metrics of one verb.
#[derive(Default)]
struct VerbHandles {
    open_streams: OnceLock<Gauge>,
    duration: OnceLock<Histogram>,
    /// The counters of ended requests, in the order of [`CODES`].
    requests: [OnceLock<Counter>; CODES.len()],
}

impl ProxyHandles {
    fn of(&self, verb: Verb) -> &VerbHandles {
        // The variants of `Verb` have the numbers 0 to 13.
        &self.verbs[verb as usize]
    }
}

fn label(verb: Verb) -> VerbLabel {
    VerbLabel {
        verb: verb.as_str(),
    }
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
            handles: Arc::default(),
            requests: Family::default(),
            request_duration: Family::new_with_constructor(latency),
            open_streams: Family::default(),
            refusals: Family::default(),
            revocations: Family::default(),
            tunnels: Gauge::default(),
            clusters_connected: Gauge::default(),
            tunnels_unhealthy: Gauge::default(),
            agent_switches: Family::default(),
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

    /// Counts a request in flight. Call [`Metrics::stream_closed`] at the end of the request.
    pub fn stream_opened(&self, verb: Verb) {
        self.open_streams_of(verb).inc();
    }

    /// Counts the end of a request in flight.
    pub fn stream_closed(&self, verb: Verb) {
        self.open_streams_of(verb).dec();
    }

    fn open_streams_of(&self, verb: Verb) -> &Gauge {
        let handle = &self.handles.of(verb).open_streams;
        handle.get_or_init(|| self.open_streams.get_or_create(&label(verb)).clone())
    }

    /// Counts a request that has ended.
    pub fn request_ended(&self, verb: Verb, code: Option<StatusCode>) {
        let code = code.map_or(0, |code| code.as_u16());
        let counter = || {
            let verb = verb.as_str();
            self.requests
                .get_or_create(&RequestLabels { verb, code })
                .clone()
        };
        match CODES.iter().position(|known| *known == code) {
            Some(index) => self.handles.of(verb).requests[index]
                .get_or_init(counter)
                .inc(),
            None => counter().inc(),
        };
    }

    /// Records the duration until the head of a response arrived.
    pub fn answered(&self, verb: Verb, after: Duration) {
        let handle = &self.handles.of(verb).duration;
        handle
            .get_or_init(|| self.request_duration.get_or_create(&label(verb)).clone())
            .observe(after.as_secs_f64());
    }

    /// Counts the bytes of bodies and upgraded streams that a tunnel transferred in each direction.
    pub fn tunnel_transferred(&self, to_cluster: u64, from_cluster: u64) {
        let counter = |direction| {
            self.tunnel_bytes
                .get_or_create(&DirectionLabel { direction })
                .clone()
        };
        let handles = &self.handles;
        handles
            .to_cluster
            .get_or_init(|| counter("to_cluster"))
            .inc_by(to_cluster);
        handles
            .from_cluster
            .get_or_init(|| counter("from_cluster"))
            .inc_by(from_cluster);
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
            "agent_switches",
            "Switches between the agent and node agents of a cluster, by reason",
            self.agent_switches.clone(),
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn metrics_of_requests_contain_each_verb_and_status_code_once() {
        let metrics = Metrics::new();
        assert!(!metrics.encode().unwrap().contains("verb="));
        for verb in Verb::ALL {
            for code in [200, 404, 418, 599] {
                let code = StatusCode::from_u16(code).unwrap();
                metrics.request_ended(verb, Some(code));
                metrics.request_ended(verb, Some(code));
            }
            metrics.request_ended(verb, None);
            metrics.stream_opened(verb);
            metrics.answered(verb, Duration::from_millis(1));
        }
        metrics.stream_closed(Verb::Get);
        metrics.tunnel_transferred(3, 4);
        metrics.tunnel_transferred(3, 4);
        let text = metrics.encode().unwrap();
        let lines: Vec<&str> = text.lines().collect();
        let assert_once = |line: &str| {
            let count = lines.iter().filter(|other| **other == line).count();
            assert_eq!(count, 1, "{line}: {text}");
        };
        for verb in Verb::ALL.map(Verb::as_str) {
            for code in [200, 404, 418, 599] {
                let labels = format!("{{verb=\"{verb}\",code=\"{code}\"}}");
                assert_once(&format!("drover_requests_total{labels} 2"));
            }
            assert_once(&format!(
                "drover_requests_total{{verb=\"{verb}\",code=\"0\"}} 1"
            ));
            let open = i32::from(verb != "get");
            assert_once(&format!("drover_open_streams{{verb=\"{verb}\"}} {open}"));
            let labels = format!("{{verb=\"{verb}\"}}");
            assert_once(&format!("drover_request_duration_seconds_count{labels} 1"));
        }
        assert_once("drover_tunnel_bytes_total{direction=\"to_cluster\"} 6");
        assert_once("drover_tunnel_bytes_total{direction=\"from_cluster\"} 8");
    }
}
