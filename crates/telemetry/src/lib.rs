//! Metrics, health checks, logs and traces of the process.
//!
//! *Owns* the metrics registry, the checks of `/readyz`, the log filter and the export of traces.
//! *Never* serves a route: the REST API serves these data.

mod health;
mod logging;
mod metrics;
mod traces;

pub use self::health::{Findings, Health};
pub use self::logging::{
    DEFAULT_FILTER, LogFilter, LogFilterError, LogFormat, LogOptions, Logging, PROXY_TARGET,
    StartLoggingError, start,
};
pub use self::metrics::{Metrics, ReasonLabel};
pub use self::traces::{Collector, ExportError};
