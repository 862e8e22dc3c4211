//! The errors of calls to the hub.

use std::time::Duration;

use drover_api::client_error::ClientError;
use http::StatusCode;
use thiserror::Error;

use super::webhook_name::{CONFIGURATION, SERVER_ANNOTATION, is_about};
use drover_http_edge::status::Status;

/// The error of a call to the hub.
#[derive(Debug, Error)]
pub enum HubError {
    /// The hub returned an error, or the connection failed.
    #[error("cannot {operation} on the hub")]
    Refused {
        /// Verb phrase that completes the sentence "cannot …", for example "read a user".
        operation: &'static str,
        /// The client's error.
        source: ClientError,
    },
    /// The hub's admission webhook denied the server's own write, or the hub cannot connect to the
    /// webhook.
    #[error(
        "cannot {operation} on the hub: the webhook \"{CONFIGURATION}\" does not exempt this \
         account. Use the account in the webhook's annotation \"{SERVER_ANNOTATION}\". If the \
         server now runs with this account, delete the webhook and start the server: kubectl \
         delete validatingwebhookconfiguration {CONFIGURATION}"
    )]
    NotExempt {
        /// Verb phrase that completes the sentence "cannot …", for example "read a user".
        operation: &'static str,
        /// The client's error.
        source: ClientError,
    },
    /// The call timed out.
    #[error(
        "cannot {operation} on the hub: no response within {seconds} s",
        seconds = after.as_secs()
    )]
    TimedOut {
        /// Verb phrase that completes the sentence "cannot …", for example "read a user".
        operation: &'static str,
        /// The time after which the call was cancelled.
        after: Duration,
    },
}

impl HubError {
    /// Classifies the client's error of a call.
    pub(super) fn of_call(operation: &'static str, source: kube::Error) -> Self {
        let reviewed = matches!(&source, kube::Error::Api(status) if is_about(&status.message));
        let source = ClientError::from(source);
        if reviewed {
            Self::NotExempt { operation, source }
        } else {
            Self::Refused { operation, source }
        }
    }

    /// Returns the HTTP status code of the hub's response, if the hub responded.
    pub fn code(&self) -> Option<u16> {
        self.answer().map(|status| status.code)
    }

    /// Reports whether the error means that the object does not exist.
    pub fn is_not_found(&self) -> bool {
        self.code() == Some(404)
    }

    /// Reports whether the error means that the object exists already, or has changed since the
    /// server read the object.
    pub fn is_conflict(&self) -> bool {
        self.code() == Some(409)
    }

    /// Returns the `Status` of the hub's response, if the hub responded.
    pub(super) fn answer(&self) -> Option<&kube::core::Status> {
        match self {
            Self::Refused { source, .. } | Self::NotExempt { source, .. } => match &**source {
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
                "hub is unreachable"
            );
            return Self::unavailable(
                format!(
                    "{error}; try again, and if the error persists, check the hub's API server"
                ),
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
                    "hub rejects the server's account"
                );
                Self::internal(
                    "the hub rejects the server's account; an administrator of the hub must \
                     grant the permission in the server's log to this account",
                )
            }
            _ => {
                tracing::warn!(
                    error = &error as &dyn std::error::Error,
                    "hub returned an error"
                );
                Self::unavailable(format!("{error}: {}", answer.message), 5)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn error_of_server_write_denied_by_own_webhook_contains_kubectl_command() {
        let api_error = |code: u16, message: &str| {
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
            let error = api_error(code, message);
            assert_eq!(error.code(), Some(code));
            let text = error.to_string();
            let command = "kubectl delete validatingwebhookconfiguration drover-rules";
            assert!(text.contains(command), "{text}");
        }
        let other = api_error(
            403,
            "admission webhook \"policy.example\" denied the request: no",
        );
        assert!(matches!(other, HubError::Refused { .. }), "{other}");
    }
}
