//! What is to be said of what went wrong, and to whom.

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
            Grant::NotNow(not_now) => self.client.unavailable(what, not_now),
            Grant::Strange(problem) => self.client.unbelievable(problem),
            Grant::Token(_) => self
                .client
                .unbelievable("it gave a token where none was due"),
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
                _ => self.client.unbelievable(error.to_string()),
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
            _ => self.client.unbelievable(error.to_string()),
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
