//! The errors of a connection.

use drover_tunnel::ServeError;
use drover_tunnel::protocol::{self, Version};
use drover_tunnel::ws;
use http::{HeaderMap, StatusCode};
use thiserror::Error;

use crate::binding::BindingError;
use crate::error_chain::error_chain;
use crate::registration::{ReadBindingError, RegistrationError, StoreError};
use crate::server::{CallError, DialError};

/// The reason why the agent has no tunnel: the agent cannot open a tunnel, or the tunnel closed
/// with an error.
#[derive(Debug, Error)]
pub enum ConnectError {
    /// A call to the agent's own cluster failed.
    #[error(transparent)]
    Store(StoreError),
    /// The binding in the manifest is not valid.
    #[error(transparent)]
    Binding(#[from] BindingError),
    /// The agent is not registered.
    #[error(transparent)]
    Registration(#[from] RegistrationError),
    /// A call to the server failed.
    #[error(transparent)]
    Call(#[from] CallError),
    /// The agent cannot connect to the server.
    #[error(transparent)]
    Dial(#[from] DialError),
    /// The server and the agent have no common protocol version.
    #[error("{0}")]
    Protocol(String),
    /// The WebSocket handshake with the server failed.
    #[error("the tunnel did not open: {cause}", cause = .0)]
    Upgrade(String),
    /// The agent has not stored the key that the server has asked the agent to use.
    #[error("no stored key matches the key that the server has bound")]
    UnknownKey,
    /// The tunnel closed with an error.
    #[error("the tunnel closed: {cause}", cause = .0)]
    Lost(#[from] ServeError),
}

impl From<ReadBindingError> for ConnectError {
    fn from(error: ReadBindingError) -> Self {
        match error {
            ReadBindingError::Store(error) => Self::Store(error),
            ReadBindingError::Binding(error) => Self::Binding(error),
        }
    }
}

impl ConnectError {
    /// Returns the PascalCase reason, which is stable across releases.
    pub fn reason(&self) -> &str {
        match self {
            Self::Registration(
                RegistrationError::Key(_)
                | RegistrationError::Store(StoreError::Key(_))
                | RegistrationError::File { .. },
            ) => "KeyUnusable",
            Self::Store(_) | Self::Registration(RegistrationError::Store(_)) => {
                "OwnClusterUnavailable"
            }
            Self::Binding(_) => "ManifestIncomplete",
            Self::Registration(RegistrationError::Call(error)) | Self::Call(error) => {
                error.reason()
            }
            Self::Registration(RegistrationError::OtherNode { .. }) => "OtherNode",
            Self::Registration(RegistrationError::MalformedToken) => "TokenMalformed",
            Self::Registration(RegistrationError::OtherCluster { .. }) => "OtherCluster",
            Self::Dial(error) => error.reason(),
            Self::Protocol(_) => "ProtocolMismatch",
            Self::Upgrade(_) => "UpgradeFailed",
            Self::UnknownKey => "UnknownKey",
            Self::Lost(_) => "TunnelLost",
        }
    }
}

/// Converts a failed handshake of the tunnel to the error of the connection.
pub(super) fn handshake_error(authority: &str, error: ws::DialError) -> ConnectError {
    match error {
        ws::DialError::Refused {
            status: StatusCode::UPGRADE_REQUIRED,
            headers,
            body,
        } => ConnectError::Protocol(protocol_mismatch(&headers, &body)),
        ws::DialError::Refused {
            status,
            headers,
            body,
        } => ConnectError::Call(CallError::from_response(
            authority,
            status,
            &headers,
            body.as_bytes(),
        )),
        other => ConnectError::Upgrade(error_chain(&other)),
    }
}

fn protocol_mismatch(headers: &HeaderMap, body: &str) -> String {
    let known = headers
        .get(protocol::KNOWN_HEADER)
        .and_then(|value| value.to_str().ok());
    match known {
        Some(known) => format!(
            "the server uses tunnel protocol {known}, and this agent uses {}: upgrade the older one",
            Version::KNOWN.map(|version| version.to_string()).join(", ")
        ),
        None => format!("the server asks for another protocol: {body}"),
    }
}
