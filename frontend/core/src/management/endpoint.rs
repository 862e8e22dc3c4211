//! The authorized endpoint of a cluster: its state and the form that changes the endpoint.

mod setup;

use drover_api::endpoint::{DEFAULT_OFFLINE_SECONDS, OFFLINE_SECONDS};
use drover_api::rest::{EndpointPatch, EndpointView};
use jiff::Timestamp;

use crate::lifetime;
use crate::messages::t;
use crate::problem::sentence;
use crate::readiness::{Readiness, Status};
use crate::shell;
use crate::url::segment;
pub use setup::{SetupStep, setup_steps};

/// Returns the API path of the endpoint of a cluster.
pub fn path(cluster: &str) -> String {
    format!("/v1/clusters/{}/endpoint", segment(cluster))
}

/// The state of an enabled endpoint, for display.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EndpointState {
    /// The status of the condition.
    pub status: Status,
    /// The text for the status.
    pub words: String,
    /// The message of the condition. Empty before the server sets the condition.
    pub message: String,
    /// The time of the last change of the condition.
    pub since: Option<Timestamp>,
}

/// Returns the state of an endpoint. Returns `None` if the endpoint is disabled.
pub fn state(endpoint: &EndpointView) -> Option<EndpointState> {
    let condition = endpoint.condition.as_ref();
    let Readiness { status, words, .. } = Readiness::of_condition(condition);
    endpoint.enabled.then(|| EndpointState {
        status,
        words,
        message: condition.map_or_else(String::new, |it| sentence(it.message.clone())),
        since: condition.map(|it| it.last_transition_time.0),
    })
}

/// Returns the patch that disables an endpoint.
pub fn disabling() -> EndpointPatch {
    EndpointPatch {
        enabled: Some(false),
        ..EndpointPatch::default()
    }
}

/// The entered values of the form that enables or changes an endpoint.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Draft {
    /// Host name of the load balancer, optionally with a port.
    pub fqdn: String,
    /// Certificate authorities in PEM.
    pub ca_bundle: String,
    /// The offline limit, for example `12h`. Empty text means the default.
    pub offline: String,
}

impl Draft {
    /// Returns the current values of an endpoint.
    pub fn of(endpoint: &EndpointView) -> Self {
        Self {
            fqdn: endpoint.fqdn.clone().unwrap_or_default(),
            ca_bundle: endpoint.ca_bundle.clone().unwrap_or_default(),
            offline: lifetime::short(endpoint.offline_seconds.into()),
        }
    }

    /// Returns the error of the offline limit.
    pub fn offline_error(&self) -> Option<String> {
        let text = match self.offline_seconds() {
            Some(seconds) if OFFLINE_SECONDS.contains(&seconds) => return None,
            Some(_) => t().endpoint.offline_range(),
            None => t().durations.format_help(),
        };
        Some(text.to_owned())
    }

    /// Parses the offline limit. A limit that does not fit becomes the maximum, which is not
    /// allowed.
    fn offline_seconds(&self) -> Option<u32> {
        match self.offline.trim() {
            "" => Some(DEFAULT_OFFLINE_SECONDS),
            typed => lifetime::parse(typed).map(|it| u32::try_from(it).unwrap_or(u32::MAX)),
        }
    }

    /// Returns the patch that enables the endpoint and sets the changed values.
    pub fn patch(&self, before: &EndpointView) -> EndpointPatch {
        let changed = |before: &Option<String>, typed: &str| {
            let typed = typed.trim();
            let same = before.as_deref().unwrap_or_default().trim() == typed;
            (!same).then(|| typed.to_owned())
        };
        let offline = self.offline_seconds();
        EndpointPatch {
            enabled: Some(true),
            fqdn: changed(&before.fqdn, &self.fqdn),
            ca_bundle: changed(&before.ca_bundle, &self.ca_bundle),
            offline_seconds: offline.filter(|seconds| *seconds != before.offline_seconds),
        }
    }

    /// Returns the equivalent command. The certificate authorities are in a file of the user.
    pub fn command(&self, cluster: &str, before: &EndpointView) -> String {
        let patch = self.patch(before);
        let fqdn = patch
            .fqdn
            .map(|fqdn| ["--fqdn", &shell::word(&fqdn)].join(" "));
        let bundle = patch.ca_bundle.map(|bundle| {
            let file = if bundle.is_empty() {
                "/dev/null"
            } else {
                "ca.pem"
            };
            ["--ca-file", file].join(" ")
        });
        let offline = patch.offline_seconds.map(|seconds| {
            let limit = lifetime::short(seconds.into());
            ["--offline", &limit].join(" ")
        });
        let enable = format!("drover cluster endpoint enable {}", shell::word(cluster));
        let words = [Some(enable), fqdn, bundle, offline];
        words.into_iter().flatten().collect::<Vec<_>>().join(" ")
    }
}

#[cfg(test)]
mod tests;
