//! How the server tells how it does: metrics, health, logs and traces.
//!
//! `/livez` and `/readyz` are for anyone, `/metrics` and the log filter for administrators.

mod health;
mod logging;
mod metrics;
mod routes;
mod traces;

pub use self::health::{Findings, Health};
pub use self::logging::{
    DEFAULT_FILTER, LogFilter, LogFilterError, LogFormat, LogOptions, Logging, ROAD_TARGET,
    StartLoggingError, start,
};
pub use self::metrics::{DirectionLabel, Metrics, ReasonLabel, RequestLabels, VerbLabel};
pub(crate) use self::routes::documented;
pub use self::routes::{LogFilterBody, Telemetry, router};
pub use self::traces::{Collector, ExportError};
