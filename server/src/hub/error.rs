//! What can go wrong between the server and its hub.

use std::time::Duration;

use http::StatusCode;
use thiserror::Error;

use crate::status::Status;

/// A call to the hub that did not succeed.
#[derive(Debug, Error)]
pub enum HubError {
    /// The hub answered with an error, or could not be reached.
    #[error("could not {operation} on the hub")]
    Refused {
        /// Completes "could not …".
        operation: &'static str,
        /// What the client said.
        source: Box<kube::Error>,
    },
    /// No answer came.
    #[error("could not {operation} on the hub: no answer within {} s", after.as_secs())]
    TimedOut {
        /// Completes "could not …".
        operation: &'static str,
        /// How long was waited.
        after: Duration,
    },
}

impl HubError {
    /// The HTTP code that the hub's API answered with, if it did.
    pub fn code(&self) -> Option<u16> {
        match self {
            Self::Refused { source, .. } => match &**source {
                kube::Error::Api(status) => Some(status.code),
                _ => None,
            },
            Self::TimedOut { .. } => None,
        }
    }

    /// There is no such object.
    pub fn is_not_found(&self) -> bool {
        self.code() == Some(404)
    }

    /// The object exists already, or has changed since it was read.
    pub fn is_conflict(&self) -> bool {
        self.code() == Some(409)
    }

    /// The hub's own words, when its API answered.
    fn answer(&self) -> Option<&kube::core::Status> {
        match self {
            Self::Refused { source, .. } => match &**source {
                kube::Error::Api(status) => Some(status),
                _ => None,
            },
            Self::TimedOut { .. } => None,
        }
    }
}

impl From<HubError> for Status {
    fn from(error: HubError) -> Self {
        let Some(answer) = error.answer() else {
            tracing::warn!(
                error = &error as &dyn std::error::Error,
                "the hub does not answer"
            );
            return Self::unavailable(
                format!("{error}; try again, and if it lasts, look at the hub's API server"),
                5,
            );
        };
        match StatusCode::from_u16(answer.code) {
            Ok(code @ (StatusCode::NOT_FOUND | StatusCode::CONFLICT)) => {
                Self::new(code, answer.reason.clone(), answer.message.clone())
            }
            Ok(code @ (StatusCode::UNPROCESSABLE_ENTITY | StatusCode::BAD_REQUEST)) => {
                let status = Self::new(code, answer.reason.clone(), answer.message.clone());
                let causes = answer.details.iter().flat_map(|details| &details.causes);
                causes.fold(status, |status, cause| {
                    status.because(&cause.field, &cause.reason, cause.message.clone())
                })
            }
            Ok(StatusCode::UNAUTHORIZED | StatusCode::FORBIDDEN) => {
                tracing::error!(
                    error = &error as &dyn std::error::Error,
                    "the hub refuses the server's own account"
                );
                Self::internal(
                    "the hub refuses the server's own account; an administrator of the hub has to \
                     give it the rights that the server's log names",
                )
            }
            _ => {
                tracing::warn!(error = &error as &dyn std::error::Error, "the hub failed");
                Self::unavailable(format!("{error}: {}", answer.message), 5)
            }
        }
    }
}
