//! Programs that measure the usage of CPU and memory in a cluster.

mod metrics_server;
mod prometheus;

pub use metrics_server::{MetricsError, MetricsServer};
pub use prometheus::{Prometheus, PrometheusError};
