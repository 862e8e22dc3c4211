//! The errors of the access to the hub.

use std::sync::Arc;
use std::time::Duration;

use thiserror::Error;

use crate::binding::BindingError;
use crate::registration::{ReadBindingError, RegistrationError};
use crate::server::CallError;

/// The agent has no token for the hub. Requests fail until the next attempt to obtain a token is due.
#[derive(Clone, Debug, Error)]
#[error("{cause}; next attempt in {} s", .wait.as_secs_f32().ceil())]
pub struct HubAccessError {
    /// The reason why the last attempt to obtain a token failed.
    #[source]
    pub cause: Arc<HubTokenError>,
    /// Time until the next attempt.
    pub wait: Duration,
}

impl HubAccessError {
    /// Returns the PascalCase reason, which is stable across releases.
    pub fn reason(&self) -> &str {
        self.cause.reason()
    }
}

/// The reason why the agent cannot obtain a token for the hub.
#[derive(Debug, Error)]
pub enum HubTokenError {
    /// The agent cannot read the binding of the manifest.
    #[error("cannot read the address of the server: {0}")]
    ReadBinding(#[from] ReadBindingError),
    /// The binding in the manifest is not valid.
    #[error("cannot use the address of the server: {0}")]
    Binding(#[from] BindingError),
    /// The agent is not registered.
    #[error("cannot register for the access to the hub: {0}")]
    Registration(#[from] RegistrationError),
    /// The server issued no token.
    #[error("cannot obtain a hub token: {0}")]
    Call(#[from] CallError),
    /// The token contains characters that are not valid in a header.
    #[error("the server issued a hub token that is not valid in a header: upgrade the server")]
    MalformedToken,
}

impl HubTokenError {
    /// Returns the PascalCase reason, which is stable across releases.
    pub fn reason(&self) -> &str {
        match self {
            Self::ReadBinding(ReadBindingError::Store(_))
            | Self::Registration(RegistrationError::Store(_)) => "OwnClusterUnavailable",
            Self::ReadBinding(ReadBindingError::Binding(_)) | Self::Binding(_) => {
                "ManifestIncomplete"
            }
            Self::Registration(RegistrationError::Call(error)) | Self::Call(error) => {
                error.reason()
            }
            Self::Registration(_) => "NotRegistered",
            Self::MalformedToken => "TokenMalformed",
        }
    }
}

/// The reason why a request to the hub has no response.
#[derive(Debug, Error)]
pub enum HubRequestError {
    /// The agent has no token.
    #[error(transparent)]
    Access(#[from] HubAccessError),
    /// The URL of the request is not valid.
    #[error("cannot send a request to the hub: the URL is not valid")]
    Url(#[source] http::Error),
    /// The connection failed.
    #[error("cannot send a request to the hub")]
    Send(#[source] hyper_util::client::legacy::Error),
    /// The server did not respond in time.
    #[error("the hub did not respond within {} s", .0.as_secs())]
    TimedOut(Duration),
}
