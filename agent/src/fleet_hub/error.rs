//! The reasons why the agent has no access to a hub with Fleet's registration.

use std::time::Duration;

use drover_api::client_error::ClientError;
use drover_api::group::{FLEET_AGENT, FLEET_BOOTSTRAP_SECRET};
use drover_entropy::NoRandomness;
use thiserror::Error;

/// The agent has no access to the hub.
#[derive(Debug, Error)]
pub(crate) enum FleetHubError {
    /// An object in the cluster cannot be read or written.
    #[error("cannot {operation} in the cluster")]
    Cluster {
        operation: &'static str,
        source: ClientError,
    },
    /// The hub returned an error.
    #[error("cannot {operation} on the hub")]
    Hub {
        operation: &'static str,
        source: ClientError,
    },
    /// A request has no response.
    #[error("cannot {operation}: no response within {} s", .after.as_secs())]
    TimedOut {
        operation: &'static str,
        after: Duration,
    },
    /// An entry of an object is missing or not valid.
    #[error("the entry {entry} of the {object} is missing or not valid: {reason}")]
    Invalid {
        object: &'static str,
        entry: &'static str,
        reason: String,
    },
    /// The agent has neither a credential nor a registration token.
    #[error(
        "the agent is not registered: create a ClusterRegistrationToken on the hub, and apply the Secret \
         {FLEET_BOOTSTRAP_SECRET} with its values"
    )]
    NotRegistered,
    /// The hub no longer accepts the credential.
    #[error(
        "the hub rejects the credential in the Secret {FLEET_AGENT}: create a new ClusterRegistrationToken on \
         the hub, and apply the Secret {FLEET_BOOTSTRAP_SECRET} with its values"
    )]
    CredentialRejected,
    /// The hub does not accept the registration token.
    #[error(
        "the hub rejects the registration token in the Secret {FLEET_BOOTSTRAP_SECRET}, which may have \
         expired: create a new ClusterRegistrationToken, and apply the Secret with its values"
    )]
    TokenRejected,
    /// The hub has not granted the registration in time.
    #[error(
        "the hub has not granted the ClusterRegistration {request} within {} minutes: see the events of the \
         ClusterRegistration on the hub", .after.as_secs() / 60
    )]
    NotGranted { request: String, after: Duration },
    /// The agent cannot generate random bytes.
    #[error(transparent)]
    Random(#[from] NoRandomness),
}

impl FleetHubError {
    /// Returns the reason in PascalCase.
    pub(crate) const fn reason(&self) -> &'static str {
        match self {
            Self::Cluster { .. } => "OwnClusterUnavailable",
            Self::Hub { .. } | Self::TimedOut { .. } => "HubUnavailable",
            Self::Invalid { .. } => "ConfigurationInvalid",
            Self::NotRegistered => "NotRegistered",
            Self::CredentialRejected => "CredentialRejected",
            Self::TokenRejected => "RegistrationTokenRejected",
            Self::NotGranted { .. } => "RegistrationNotGranted",
            Self::Random(_) => "NoRandomness",
        }
    }

    /// Returns the status code of the hub's response.
    pub(super) fn code(&self) -> Option<u16> {
        match self {
            Self::Hub { source, .. } => match &**source {
                kube::Error::Api(status) => Some(status.code),
                _ => None,
            },
            _ => None,
        }
    }

    /// Reports whether the hub does not accept the token, or the account has no permissions.
    pub(super) fn is_denied(&self) -> bool {
        matches!(self.code(), Some(401 | 403))
    }
}
