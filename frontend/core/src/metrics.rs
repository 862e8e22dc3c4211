//! The usage of CPU and memory of an object over time: current usage from `metrics.k8s.io`, and past
//! usage from Prometheus.

mod limits;
mod prometheus;
mod samples;
mod span;

pub use limits::references;
pub use prometheus::{
    Prometheus, PrometheusSearch, Queries, ServiceList, points, queries, query_problem,
};
pub use samples::{History, UsageSource};
pub use span::Span;

use crate::kind::Kind;
use crate::object::runs_pods;

/// Reports whether the page of a kind shows the usage.
pub fn has_metrics(kind: Kind) -> bool {
    kind == Kind::NODES || runs_pods(kind)
}
