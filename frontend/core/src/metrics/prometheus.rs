//! Past usage from the Prometheus of a cluster, through the proxy of its Service. The queries use the
//! metrics of cAdvisor, which the kubelet serves.

use jiff::{SignedDuration, Timestamp};
use serde::Deserialize;

use super::Span;
use crate::chart::Point;
use crate::kind::Kind;
use crate::kubectl::KubectlObject;
use crate::messages::t;
use crate::problem::{Problem, ProblemKind};
use crate::url::segment;

/// The label selectors of Prometheus's Services: kube-prometheus and the Helm chart of Prometheus, then
/// the Service that the Prometheus operator creates for each Prometheus.
const SELECTORS: [&str; 2] = [
    "app.kubernetes.io/name=prometheus",
    "operated-prometheus=true",
];
/// The names of the port, in the order of preference.
const PORT_NAMES: [&str; 4] = ["http-web", "web", "http", "https-web"];
/// The default port.
const PORT: i64 = 9090;
/// The characters of the random parts of names that Kubernetes creates
/// (`k8s.io/apimachinery/pkg/util/rand`). They form no words, so that pods of workloads with a longer
/// name rarely match.
const RANDOM: &str = "[bcdfghjklmnpqrstvwxz2456789]";
/// The placeholder for the window of a rate in a query.
const WINDOW: &str = "WINDOW";
/// The shortest window of a rate in seconds. It contains several measurements.
const MIN_WINDOW: i64 = 300;
/// Maximum number of points of a response that the page shows.
const MAX_POINTS: usize = 2_000;

/// The search for the Prometheus of a cluster.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PrometheusSearch {
    cluster: String,
}

/// A list of Services.
#[derive(Debug, Deserialize)]
pub struct ServiceList {
    items: Vec<Service>,
}

#[derive(Debug, Deserialize)]
struct Service {
    metadata: Metadata,
    spec: ServiceSpec,
}

#[derive(Debug, Deserialize)]
struct Metadata {
    name: String,
    namespace: String,
}

#[derive(Debug, Deserialize)]
struct ServiceSpec {
    #[serde(default)]
    ports: Vec<Port>,
}

#[derive(Debug, Deserialize)]
struct Port {
    name: Option<String>,
    port: i64,
}

impl PrometheusSearch {
    /// Returns the search in a cluster.
    pub fn new(cluster: &str) -> Self {
        Self {
            cluster: cluster.to_owned(),
        }
    }

    /// Returns the URLs of the lists of Services, in the order of preference. The caller stops at the
    /// first list with a Prometheus.
    pub fn urls(&self) -> [String; 2] {
        let list = Kind::SERVICES.list_path(&self.cluster, None);
        SELECTORS.map(|selector| format!("{list}?limit=20&labelSelector={}", segment(selector)))
    }

    /// Returns the first Prometheus in a list.
    pub fn found(&self, list: &ServiceList) -> Option<Prometheus> {
        list.items.iter().find_map(|service| self.at(service))
    }

    fn at(&self, service: &Service) -> Option<Prometheus> {
        let Metadata { name, namespace } = &service.metadata;
        let ports = &service.spec.ports;
        let named = |name: &&str| ports.iter().find(|it| it.name.as_deref() == Some(*name));
        let usual = || ports.iter().find(|it| it.port == PORT);
        let port = PORT_NAMES.iter().find_map(named).or_else(usual)?;
        let is_tls = port
            .name
            .as_deref()
            .is_some_and(|it| it.starts_with("https"));
        let scheme = if is_tls { "https:" } else { "" };
        let path = Kind::SERVICES.list_path(&self.cluster, Some(namespace));
        // Sessions may send this path only with plain names, and a colon needs no encoding.
        let name_part = segment(name);
        let port = port.port;
        Some(Prometheus {
            path: format!("{path}/{scheme}{name_part}:{port}/proxy/api/v1/query_range"),
            service: format!("{namespace}/{name}"),
        })
    }
}

/// The Prometheus of a cluster.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Prometheus {
    path: String,
    /// Namespace and name of the Service.
    pub service: String,
}

impl Prometheus {
    /// Returns the URL of a query for a period that ends now.
    pub fn url(&self, query: &str, span: Span, now: Timestamp) -> String {
        // Prometheus evaluates a query at each step. Aligned times give the same points each time, and a
        // window of a step includes all measurements.
        let step = span.step();
        let align = |second: i64| second.div_euclid(step) * step;
        let window = format!("{}s", step.max(MIN_WINDOW));
        format!(
            "{}?query={}&start={}&end={}&step={step}",
            self.path,
            segment(&query.replace(WINDOW, &window)),
            align(span.start(now).as_second()),
            align(now.as_second()),
        )
    }
}

/// The queries (PromQL) of an object.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Queries {
    /// The used cores.
    pub cpu: String,
    /// The used bytes.
    pub memory: String,
}

/// Returns the queries of an object. The queries of a workload also include its previous pods, by the
/// names that controllers give to pods.
pub fn queries(named: &KubectlObject) -> Option<Queries> {
    let name = &named.name;
    if named.kind == Kind::NODES {
        // The name of the node is in the label `node` (kube-prometheus) or `instance` (Helm chart).
        let either = |inner: &dyn Fn(&str) -> String| {
            ["node", "instance"]
                .map(|label| inner(&format!("{{id=\"/\",{label}=\"{}\"}}", escaped(name))))
                .join(" or ")
        };
        return Some(Queries {
            cpu: either(&|of| {
                format!("sum(rate(container_cpu_usage_seconds_total{of}[{WINDOW}]))")
            }),
            memory: either(&|of| format!("sum(container_memory_working_set_bytes{of})")),
        });
    }
    let pods = match named.kind {
        Kind::PODS => format!("pod=\"{}\"", escaped(name)),
        Kind::DEPLOYMENTS => pods_like(name, &format!("{RANDOM}{{1,10}}-{RANDOM}{{5}}")),
        Kind::STATEFUL_SETS => pods_like(name, "[0-9]+"),
        Kind::DAEMON_SETS | Kind::REPLICA_SETS => pods_like(name, &format!("{RANDOM}{{5}}")),
        Kind::JOBS => pods_like(name, &format!("([0-9]+-)?{RANDOM}{{5}}")),
        _ => return None,
    };
    let namespace = escaped(named.namespace.as_deref().unwrap_or_default());
    // The series without a container are the sums of the pod, and the sandbox has the name POD.
    let of = format!("{{namespace=\"{namespace}\",{pods},container!=\"\",container!=\"POD\"}}");
    Some(Queries {
        cpu: format!("sum(rate(container_cpu_usage_seconds_total{of}[{WINDOW}]))"),
        memory: format!("sum(container_memory_working_set_bytes{of})"),
    })
}

/// Returns the matcher for pods with a name and a suffix. A name of Kubernetes contains no character
/// with a meaning in a regular expression except the dot.
fn pods_like(name: &str, suffix: &str) -> String {
    let name = escaped(&name.replace('.', "[.]"));
    format!("pod=~\"{name}-{suffix}\"")
}

/// Escapes a text in a string of PromQL.
fn escaped(text: &str) -> String {
    text.replace('\\', "\\\\").replace('"', "\\\"")
}

/// The response to a query (<https://prometheus.io/docs/prometheus/latest/querying/api/>).
#[derive(Deserialize)]
struct Answer {
    data: Data,
}

#[derive(Deserialize)]
struct Data {
    result: Vec<Series>,
}

#[derive(Deserialize)]
struct Series {
    values: Vec<(f64, String)>,
}

/// The response to a query that Prometheus refuses.
#[derive(Deserialize)]
struct Refused {
    error: String,
}

/// Parses the response to a range query. The chart has no point for infinite and undefined values.
pub fn points(body: &[u8]) -> Result<Vec<Point>, Problem> {
    let answer: Answer =
        serde_json::from_slice(body).map_err(|error| Problem::strange(&error.to_string()))?;
    // The queries have at most one series.
    let series = answer.data.result.into_iter().next();
    let values = series.map(|it| it.values).unwrap_or_default().into_iter();
    let point = |(at, value): (f64, String)| {
        let value: f64 = value.parse().ok()?;
        let at = SignedDuration::try_from_secs_f64(at).ok()?;
        let at = Timestamp::from_duration(at).ok()?;
        value.is_finite().then_some(Point { at, value })
    };
    Ok(values.take(MAX_POINTS).filter_map(point).collect())
}

/// Parses an error response: of Prometheus, of the cluster or of the server.
pub fn query_problem(code: u16, body: &[u8]) -> Problem {
    match serde_json::from_slice(body) {
        Ok(Refused { error }) => {
            Problem::new(ProblemKind::Failed, t().metrics.prometheus_failed(&error))
        }
        Err(_) => Problem::of_answer(code, body),
    }
}

#[cfg(test)]
mod tests;
