//! What can go wrong between the server and its hub.

use std::time::Duration;

use drover_api::client_error::ClientError;
use http::StatusCode;
use thiserror::Error;

use super::webhook_name::{CONFIGURATION, SERVER_ANNOTATION, is_about};
use drover_http_edge::status::Status;

/// A call to the hub that did not succeed.
#[derive(Debug, Error)]
pub enum HubError {
    /// The hub answered with an error, or could not be reached.
    #[error("could not {operation} on the hub")]
    Refused {
        /// Completes "could not …".
        operation: &'static str,
        /// What the client said.
        source: ClientError,
    },
    /// The hub has the rules about writes asked of the server's own write.
    #[error(
        "could not {operation} on the hub: it does not take this account for that of Drover's \
         server, and asks the webhook \"{CONFIGURATION}\" about it. Use the account that the server \
         runs as, which the webhook's annotation \"{SERVER_ANNOTATION}\" names; or if the server now \
         runs as this one, remove the webhook and start it, which installs it again: kubectl \
         delete validatingwebhookconfiguration {CONFIGURATION}"
    )]
    AskedAbout {
        /// Completes "could not …".
        operation: &'static str,
        /// What the client said.
        source: ClientError,
    },
    /// No answer came.
    #[error("could not {operation} on the hub: no response within {} s", after.as_secs())]
    TimedOut {
        /// Completes "could not …".
        operation: &'static str,
        /// How long was waited.
        after: Duration,
    },
}

impl HubError {
    /// What the client says of a call that did not succeed.
    pub(super) fn of_call(operation: &'static str, source: kube::Error) -> Self {
        let asked = matches!(&source, kube::Error::Api(status) if is_about(&status.message));
        let source = ClientError::from(source);
        if asked {
            Self::AskedAbout { operation, source }
        } else {
            Self::Refused { operation, source }
        }
    }

    /// The HTTP code that the hub's API answered with, if it did.
    pub fn code(&self) -> Option<u16> {
        self.answer().map(|status| status.code)
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
    pub(super) fn answer(&self) -> Option<&kube::core::Status> {
        match self {
            Self::Refused { source, .. } | Self::AskedAbout { source, .. } => match &**source {
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_server_that_the_hub_takes_for_somebody_else_is_told_the_way_out() {
        let say = |code: u16, message: &str| {
            let status = kube::core::Status::failure(message, "Forbidden").with_code(code);
            HubError::of_call("write", kube::Error::Api(status.boxed()))
        };
        for (code, message) in [
            (
                403,
                "admission webhook \"secrets.rules.drover.dev\" denied the request: no",
            ),
            (
                500,
                "Internal error: failed calling webhook \"kinds.rules.drover.dev\": refused",
            ),
        ] {
            let error = say(code, message);
            assert_eq!(error.code(), Some(code));
            let said = error.to_string();
            let way = "kubectl delete validatingwebhookconfiguration drover-rules";
            assert!(said.contains(way), "{said}");
        }
        let other = say(
            403,
            "admission webhook \"policy.example\" denied the request: no",
        );
        assert!(matches!(other, HubError::Refused { .. }), "{other}");
    }
}
