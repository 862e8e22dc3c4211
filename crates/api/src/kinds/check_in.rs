//! The check-in windows of a cluster.

use serde::{Deserialize, Serialize};

/// The windows in which a cluster's agent accesses the hub's Kubernetes API. Either `schedule` or
/// `interval` is set.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "crd", derive(kube::KubeSchema))]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[cfg_attr(feature = "crd", x_kube(validation = Rule::new(
    "has(self.schedule) != has(self.interval)")
    .message("set either schedule or interval")))]
#[serde(rename_all = "camelCase")]
pub struct CheckInSpec {
    /// Starts of the windows, as a cron expression with 6 fields: second, minute, hour, day of the
    /// month, month, day of the week.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "crd", schemars(length(max = 256)))]
    #[cfg_attr(feature = "crd", x_kube(validation = Rule::new(
        "self.matches('^([^ ]+ ){5}[^ ]+$')")
        .message("must have 6 fields: second, minute, hour, day of the month, month, day of the week")))]
    pub schedule: Option<String>,
    /// Time between the starts of two windows, for example `6h`. Each cluster has other times.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "crd", schemars(length(max = 32)))]
    #[cfg_attr(feature = "crd", x_kube(validation = Rule::new(
        "self.matches('^([0-9]+h)?([0-9]+m)?([0-9]+s)?$') && self != ''")
        .message("must be a duration with hours, minutes or seconds, for example 6h or 1h30m")))]
    pub interval: Option<String>,
    /// Length of a window, for example `10m`.
    #[cfg_attr(feature = "crd", schemars(length(max = 32)))]
    #[cfg_attr(feature = "crd", x_kube(validation = Rule::new(
        "self.matches('^([0-9]+h)?([0-9]+m)?([0-9]+s)?$') && self != ''")
        .message("must be a duration with hours, minutes or seconds, for example 10m")))]
    pub duration: String,
    /// Time zone of the schedule, for example `Europe/Berlin`. The default is UTC.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "crd", schemars(length(max = 64)))]
    pub location: Option<String>,
}
