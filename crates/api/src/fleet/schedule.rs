//! Schedule: windows in which clusters receive new deployments.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;

use super::status::FleetCondition;
use super::target::ScheduleTarget;
use super::wire::{fleet_kind, go_struct};

fleet_kind! {
    /// Windows in which clusters receive new deployments.
    pub struct Schedule = "Schedule", "schedules", NamespaceResourceScope {
        /// Desired state.
        "spec" spec: ScheduleSpec,
        /// Observed state.
        "status" status: Option<ScheduleStatus>,
    }
}

go_struct! {
    /// Desired state of a schedule.
    pub struct ScheduleSpec {
        /// Starts of windows, a cron expression with seconds.
        schedule: String,
        /// Length of a window, a duration in Go's format.
        duration: String,
        /// Name of the time zone. The default is UTC.
        location: String,
        /// Clusters of the schedule.
        targets: ScheduleTargets,
    }

    /// Clusters of a schedule.
    pub struct ScheduleTargets {
        /// The entries, of which one must match.
        clusters: Vec<ScheduleTarget>,
    }

    /// Observed state of a schedule.
    pub struct ScheduleStatus {
        /// True inside of a window.
        active: bool,
        /// Start of the next window.
        next_start_time: Option<Time>,
        /// Conditions of the schedule.
        conditions: Vec<FleetCondition>,
        /// Names of the clusters.
        matching_clusters: Vec<String>,
    }
}
