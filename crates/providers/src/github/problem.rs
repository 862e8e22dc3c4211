//! What is to be said of what went wrong, and to whom.

use std::error::Error;
use std::io;

use super::Github;
use super::grant::{Grant, SCOPE};
use crate::ProviderError;
use crate::code_flow::{Pending, ReturnError};
use crate::error::Refusal;

impl Github {
    /// What is to be said instead of a token.
    pub(super) fn refused(&self, grant: Grant, what: &str) -> ProviderError {
        let misconfigured =
            |field, problem: String| ProviderError::Misconfigured { field, problem };
        let github = self.client.endpoints.name();
        match grant {
            Grant::Stale => ProviderError::Refused(Refusal::Withdrawn),
            Grant::Denied => ProviderError::Refused(Refusal::Denied),
            Grant::TemporaryFailure(not_now) => self.client.unavailable(what, not_now),
            Grant::Strange(problem) => self.client.invalid_response(problem),
            Grant::Token(_) => self
                .client
                .invalid_response("it gave a token where none was due"),
            Grant::WrongSecret => misconfigured(
                "github.clientSecret",
                format!(
                    "{github} does not take it for the client {}: generate another one on the \
                     OAuth app's page, and put it into the Secret",
                    self.client_id
                ),
            ),
            Grant::UnknownClient => misconfigured(
                "github.clientId",
                format!(
                    "{github} knows no client {}: copy the id from the OAuth app's page, and see \
                     that github.url is where the app is",
                    self.client_id
                ),
            ),
            Grant::WrongRedirect => misconfigured(
                "github.clientId",
                "the OAuth app has another authorization callback URL: put Drover's there"
                    .to_owned(),
            ),
            Grant::TooLittle(instead) => misconfigured(
                "github.clientId",
                format!(
                    "{github} allows Drover {instead}, and not {SCOPE}, without which organizations \
                     and teams are not seen: this must be an OAuth app, and no GitHub App"
                ),
            ),
        }
    }

    /// What is to be said of what a browser came back with.
    pub(super) fn not_returned(&self, error: &ReturnError, pending: &Pending) -> ProviderError {
        let ReturnError::Failed(word) = error else {
            return match error {
                ReturnError::Late => ProviderError::Refused(Refusal::Withdrawn),
                _ => self.client.invalid_response(error.to_string()),
            };
        };
        match word.as_str() {
            "access_denied" => ProviderError::Refused(Refusal::Denied),
            "redirect_uri_mismatch" => wrong_redirect(pending),
            "application_suspended" => ProviderError::Misconfigured {
                field: "github.clientId",
                problem: format!(
                    "{} has suspended the OAuth app: ask its support, or make another app",
                    self.client.endpoints.name()
                ),
            },
            "server_error" | "temporarily_unavailable" => {
                self.client.unavailable("sign somebody in", error.clone())
            }
            _ => self.client.invalid_response(error.to_string()),
        }
    }
}

/// The app lets people come back to somewhere else only.
pub(super) fn wrong_redirect(pending: &Pending) -> ProviderError {
    ProviderError::Misconfigured {
        field: "github.clientId",
        problem: format!(
            "the OAuth app has another authorization callback URL: put {} there",
            pending.redirect_uri()
        ),
    }
}

/// What an administrator is told who tries a GitHub whose certificate is not believed. For whoever has
/// signed in before, it is one that cannot be asked: somebody in between could show another one.
pub(super) fn or_certificate(error: ProviderError) -> ProviderError {
    let ProviderError::Unavailable {
        provider, source, ..
    } = &error
    else {
        return error;
    };
    let problem = below(&**source).find_map(|error| match error.downcast_ref::<rustls::Error>() {
        Some(rustls::Error::InvalidCertificate(problem)) => Some(problem.to_string()),
        _ => None,
    });
    match problem {
        None => error,
        Some(problem) => ProviderError::Misconfigured {
            field: "github.caBundle",
            problem: format!(
                "the certificate of {provider} is not believed ({problem}): if an authority of your \
                 own signed it, put that authority's here"
            ),
        },
    }
}

/// Every error below the given one; `io::Error` hides one that only `get_ref` shows.
fn below<'a>(error: &'a (dyn Error + 'static)) -> impl Iterator<Item = &'a (dyn Error + 'static)> {
    std::iter::successors(Some(error), |&error| {
        error
            .downcast_ref::<io::Error>()
            .and_then(io::Error::get_ref)
            .map(|inner| inner as &(dyn Error + 'static))
            .or_else(move || error.source())
    })
}
