//! Whether a provider can be used, before anybody depends on it.

use jiff::Timestamp;
use reqwest::Url;
use secrecy::SecretString;

use super::Oidc;
use super::exchange::{self, Grant};
use super::issuer::quoted;
use super::known::{fetch_keys, fetch_metadata};
use super::metadata::{ClientAuthentication, Metadata, has_offline};
use super::pending::Pending;
use crate::ProviderError;

/// One thing that was tried, for people.
#[derive(Debug)]
pub struct Check {
    /// What, in a few words.
    pub what: &'static str,
    /// What was found, or what is wrong.
    pub found: Result<String, ProviderError>,
}

impl Check {
    fn good(what: &'static str, found: impl Into<String>) -> Self {
        Self {
            what,
            found: Ok(found.into()),
        }
    }
}

impl Oidc {
    /// Tries everything that can be tried without a person, in the order in which it is needed;
    /// ends with the first thing without which the rest cannot be tried.
    ///
    /// Nothing of what is kept is asked or changed. The token endpoint is sent a code that nobody
    /// was given, for `redirect_uri`, to learn whether it takes the client.
    pub async fn check(&self, redirect_uri: &Url, now: Timestamp) -> Vec<Check> {
        let metadata = match fetch_metadata(&self.web, &self.issuer).await {
            Ok(metadata) => metadata,
            Err(error) => {
                return vec![Check {
                    what: "Discovery",
                    found: Err(error),
                }];
            }
        };
        let found = format!("{} describes itself", self.issuer);
        let mut checks = vec![Check::good("Discovery", found), sign_in(&metadata)];
        checks.push(Check {
            what: "Keys",
            found: self.keys(&metadata).await,
        });
        checks.push(Check {
            what: "Client",
            found: self.client(&metadata, redirect_uri, now).await,
        });
        checks.push(self.renewing(&metadata));
        checks.push(Check::good(
            "Signing out",
            match metadata.end_session {
                Some(_) => "signs out at the provider too",
                None => "ends here only: the provider has no address for it",
            },
        ));
        checks
    }

    async fn keys(&self, metadata: &Metadata) -> Result<String, ProviderError> {
        let keys = fetch_keys(&self.web, metadata).await?;
        let algorithms = metadata.algorithms.iter();
        let algorithms: Vec<String> = algorithms.map(|one| format!("{one:?}")).collect();
        let (count, algorithms) = (keys.len(), algorithms.join(", "));
        Ok(format!(
            "{count} that Drover can use; tokens are signed with {algorithms}"
        ))
    }

    /// Whether the provider takes the client: one that does refuses the code and not the client.
    async fn client(
        &self,
        metadata: &Metadata,
        redirect_uri: &Url,
        now: Timestamp,
    ) -> Result<String, ProviderError> {
        let pending = Pending::begin(self.issuer.as_str(), redirect_uri, now);
        let code = SecretString::from("drover-tries-its-client");
        let grant = Grant::Code {
            code: &code,
            pending: &pending,
        };
        let way = match (&self.client.secret, metadata.authentication) {
            (None, _) => "without a secret",
            (Some(_), Some(ClientAuthentication::Basic)) => "by client_secret_basic",
            (Some(_), Some(ClientAuthentication::Post)) => "by client_secret_post",
            (Some(_), None) => return Err(exchange::no_way()),
        };
        let id = quoted(&self.client.id);
        match exchange::exchange(&self.web, metadata, &self.client, grant).await {
            Err(ProviderError::Refused(_)) => Ok(format!("{id} is taken, {way}")),
            Ok(_) => Err(self
                .web
                .invalid_response("it gives tokens for a code that it never gave")),
            // What it says of such a code is its own affair; whom it takes, it does not say.
            Err(ProviderError::InvalidResponse { .. }) => Ok(format!(
                "{id} will be tried {way} by the first sign-in: the provider does not say whether \
                 it takes it"
            )),
            Err(error) => Err(error),
        }
    }

    /// Whether groups can be renewed while nobody is there.
    fn renewing(&self, metadata: &Metadata) -> Check {
        let found = match (has_offline(&self.scopes), metadata.offers_offline) {
            (true, _) => "with offline_access, for which people are asked to agree",
            (false, true) => {
                "only if the provider gives refresh tokens without being asked: else add \
                 offline_access to oidc.scopes, or people have to sign in again"
            }
            (false, false) => {
                "only if the provider gives refresh tokens, which the first sign-in shows: else \
                 people have to sign in again"
            }
        };
        Check::good("Renewing", found)
    }
}

fn sign_in(metadata: &Metadata) -> Check {
    let pkce = if metadata.says_pkce {
        "with PKCE (S256)"
    } else {
        "with PKCE (S256), of which the provider says nothing"
    };
    let names_itself = if metadata.names_itself {
        "; answers name their issuer"
    } else {
        ""
    };
    Check::good("Signing in", format!("by code, {pkce}{names_itself}"))
}
