//! Metrics of all controllers. The label `controller` contains the controller's name.

use std::time::Duration;

use prometheus_client::encoding::EncodeLabelSet;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::metrics::histogram::Histogram;
use prometheus_client::registry::Registry;

/// Upper bounds of the duration buckets, in seconds.
const SECONDS: [f64; 10] = [0.001, 0.005, 0.01, 0.05, 0.1, 0.5, 1.0, 5.0, 30.0, 120.0];

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct Label {
    controller: &'static str,
}

/// Metrics of all controllers in a process. Clones share the values.
#[derive(Clone, Debug)]
pub struct Metrics {
    queue_depth: Family<Label, Gauge>,
    duration: Family<Label, Histogram, fn() -> Histogram>,
    errors: Family<Label, Counter>,
    retries: Family<Label, Counter>,
}

impl Default for Metrics {
    fn default() -> Self {
        Self {
            queue_depth: Family::default(),
            duration: Family::new_with_constructor(|| Histogram::new(SECONDS)),
            errors: Family::default(),
            retries: Family::default(),
        }
    }
}

impl Metrics {
    /// Registers the metrics. Call this function once per registry.
    pub fn register(&self, registry: &mut Registry) {
        registry.register(
            "reconcile_queue_depth",
            "Keys that wait for reconciliation, by controller",
            self.queue_depth.clone(),
        );
        registry.register(
            "reconcile_duration_seconds",
            "Duration of reconciliations, by controller",
            self.duration.clone(),
        );
        registry.register(
            "reconcile_errors",
            "Reconciliations that failed, timed out or panicked, by controller",
            self.errors.clone(),
        );
        registry.register(
            "reconcile_retries",
            "Reconciliations that followed a failure of the same key, by controller",
            self.retries.clone(),
        );
    }

    /// Returns the metrics of one controller.
    pub fn controller(&self, controller: &'static str) -> ControllerMetrics {
        let label = Label { controller };
        ControllerMetrics {
            queue_depth: self.queue_depth.get_or_create_owned(&label),
            duration: self.duration.get_or_create_owned(&label),
            errors: self.errors.get_or_create_owned(&label),
            retries: self.retries.get_or_create_owned(&label),
        }
    }
}

/// The metrics of one controller. The label `controller` contains the controller's name.
#[derive(Clone, Debug)]
pub struct ControllerMetrics {
    queue_depth: Gauge,
    duration: Histogram,
    errors: Counter,
    retries: Counter,
}

impl ControllerMetrics {
    pub(crate) fn set_depth(&self, depth: usize) {
        self.queue_depth
            .set(i64::try_from(depth).unwrap_or(i64::MAX));
    }

    pub(crate) fn started(&self, failures: u32) {
        if failures > 0 {
            self.retries.inc();
        }
    }

    pub(crate) fn finished(&self, duration: Duration) {
        self.duration.observe(duration.as_secs_f64());
    }

    pub(crate) fn failed(&self) {
        self.errors.inc();
    }
}
