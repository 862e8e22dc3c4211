//! Converts GitHub's errors to provider errors.

use std::error::Error;
use std::io;

use super::Github;
use super::grant::{Grant, SCOPE};
use crate::ProviderError;
use crate::code_flow::{CodeFlowError, Pending};
use crate::error::Refusal;

impl Github {
    /// Converts a grant without a token to an error.
    pub(super) fn grant_error(&self, grant: Grant, action: &str) -> ProviderError {
        let misconfigured =
            |field, problem: String| ProviderError::Misconfigured { field, problem };
        let github = self.client.endpoints.name();
        match grant {
            Grant::Stale => ProviderError::Refused(Refusal::Withdrawn),
            Grant::Denied => ProviderError::Refused(Refusal::Denied),
            Grant::TemporaryFailure(not_now) => self.client.unavailable(action, not_now),
            Grant::Unexpected(problem) => self.client.invalid_response(problem),
            Grant::Token(_) => self
                .client
                .invalid_response("the token endpoint returned an unexpected token"),
            Grant::WrongSecret => misconfigured(
                "github.clientSecret",
                format!(
                    "{github} rejects the secret of the client {}: generate a new secret on the \
                     OAuth app's page, and write it into the Secret",
                    self.client_id
                ),
            ),
            Grant::UnknownClient => misconfigured(
                "github.clientId",
                format!(
                    "{github} has no client {}: copy the client ID from the OAuth app's page, and check \
                     that the app exists at github.url",
                    self.client_id
                ),
            ),
            Grant::WrongRedirect => misconfigured(
                "github.clientId",
                "the OAuth app has another authorization callback URL: enter Drover's callback URL"
                    .to_owned(),
            ),
            Grant::MissingScope(instead) => misconfigured(
                "github.clientId",
                format!(
                    "{github} grants {instead} instead of {SCOPE}, which Drover needs to read organizations \
                     and teams: register an OAuth app, not a GitHub App"
                ),
            ),
        }
    }

    /// Converts the error of an invalid callback to a provider error.
    pub(super) fn callback_error(&self, error: &CodeFlowError, pending: &Pending) -> ProviderError {
        let CodeFlowError::Provider(code) = error else {
            return match error {
                CodeFlowError::Expired => ProviderError::Refused(Refusal::Withdrawn),
                _ => self.client.invalid_response(error.to_string()),
            };
        };
        match code.as_str() {
            "access_denied" => ProviderError::Refused(Refusal::Denied),
            "redirect_uri_mismatch" => wrong_redirect(pending),
            "application_suspended" => ProviderError::Misconfigured {
                field: "github.clientId",
                problem: format!(
                    "{} has suspended the OAuth app: contact GitHub support, or create another app",
                    self.client.endpoints.name()
                ),
            },
            "server_error" | "temporarily_unavailable" => {
                self.client.unavailable("sign in a user", error.clone())
            }
            _ => self.client.invalid_response(error.to_string()),
        }
    }
}

/// Returns the error for a redirect URI that the OAuth app does not allow.
pub(super) fn wrong_redirect(pending: &Pending) -> ProviderError {
    ProviderError::Misconfigured {
        field: "github.clientId",
        problem: format!(
            "the OAuth app has another authorization callback URL: enter {}",
            pending.redirect_uri()
        ),
    }
}

/// Converts the error of an untrusted certificate to `Misconfigured`, for the connection test. A
/// refresh returns `Unavailable` for this error, because an attacker on the network can present a
/// forged certificate.
pub(super) fn certificate_as_misconfigured(error: ProviderError) -> ProviderError {
    let ProviderError::Unavailable {
        provider, source, ..
    } = &error
    else {
        return error;
    };
    let problem =
        error_chain(&**source).find_map(|error| match error.downcast_ref::<rustls::Error>() {
            Some(rustls::Error::InvalidCertificate(problem)) => Some(problem.to_string()),
            _ => None,
        });
    match problem {
        None => error,
        Some(problem) => ProviderError::Misconfigured {
            field: "github.caBundle",
            problem: format!(
                "the certificate of {provider} is not trusted ({problem}): if a private authority \
                 signed it, enter the certificate of this authority"
            ),
        },
    }
}

/// Iterates over an error and its sources. `io::Error` exposes its inner error only through
/// `get_ref`.
fn error_chain<'a>(
    error: &'a (dyn Error + 'static),
) -> impl Iterator<Item = &'a (dyn Error + 'static)> {
    std::iter::successors(Some(error), |&error| {
        error
            .downcast_ref::<io::Error>()
            .and_then(io::Error::get_ref)
            .map(|inner| inner as &(dyn Error + 'static))
            .or_else(move || error.source())
    })
}
