//! Connection test of an OpenID provider.

use jiff::Timestamp;
use reqwest::Url;
use secrecy::SecretString;

use super::Oidc;
use super::cache::{fetch_keys, fetch_metadata};
use super::exchange::{self, Grant};
use super::issuer::quoted;
use super::metadata::{ClientAuthentication, Metadata, has_offline};
use super::pending::Pending;
use crate::ProviderError;

/// Result of one test step.
#[derive(Debug)]
pub struct Check {
    /// Short name of the step, such as `Discovery`.
    pub what: &'static str,
    /// Result of the step in one sentence, or the error of a failed step.
    pub found: Result<String, ProviderError>,
}

impl Check {
    fn passed(what: &'static str, found: impl Into<String>) -> Self {
        Self {
            what,
            found: Ok(found.into()),
        }
    }
}

impl Oidc {
    /// Runs all test steps that need no user, in the order of a sign-in. Stops at the first failure
    /// that makes the following steps impossible.
    ///
    /// The test bypasses the metadata cache. The token endpoint receives an invalid code for
    /// `redirect_uri`. The response shows whether the provider accepts the client.
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
        let found = format!("{} publishes its metadata", self.issuer);
        let mut checks = vec![Check::passed("Discovery", found), test_sign_in(&metadata)];
        checks.push(Check {
            what: "Keys",
            found: self.test_keys(&metadata).await,
        });
        checks.push(Check {
            what: "Client",
            found: self.test_client(&metadata, redirect_uri, now).await,
        });
        checks.push(self.test_refresh(&metadata));
        checks.push(Check::passed(
            "Sign-out",
            match metadata.end_session {
                Some(_) => "also signs out at the provider",
                None => "signs out of Drover only: the provider has no end_session_endpoint",
            },
        ));
        checks
    }

    async fn test_keys(&self, metadata: &Metadata) -> Result<String, ProviderError> {
        let keys = fetch_keys(&self.web, metadata).await?;
        let algorithms = metadata.algorithms.iter();
        let algorithms: Vec<String> = algorithms.map(|one| format!("{one:?}")).collect();
        let (count, algorithms) = (keys.len(), algorithms.join(", "));
        Ok(format!(
            "{count} keys supported by Drover; signature algorithms: {algorithms}"
        ))
    }

    /// Tests whether the provider accepts the client. A provider that accepts the client rejects
    /// only the invalid code.
    async fn test_client(
        &self,
        metadata: &Metadata,
        redirect_uri: &Url,
        now: Timestamp,
    ) -> Result<String, ProviderError> {
        let pending = Pending::begin(self.issuer.as_str(), redirect_uri, now);
        let code = SecretString::from("drover-connection-test");
        let grant = Grant::Code {
            code: &code,
            pending: &pending,
        };
        let method = match (&self.client.secret, metadata.authentication) {
            (None, _) => "without a secret",
            (Some(_), Some(ClientAuthentication::Basic)) => "with client_secret_basic",
            (Some(_), Some(ClientAuthentication::Post)) => "with client_secret_post",
            (Some(_), None) => return Err(exchange::no_client_authentication()),
        };
        let id = quoted(&self.client.id);
        match exchange::exchange(&self.web, metadata, &self.client, grant).await {
            Err(ProviderError::Refused(_)) => Ok(format!("the provider accepts {id}, {method}")),
            Ok(_) => Err(self
                .web
                .invalid_response("the token endpoint returned tokens for an invalid code")),
            // The response to an invalid code does not show whether the client is accepted.
            Err(ProviderError::InvalidResponse { .. }) => Ok(format!(
                "the first sign-in tests {id} {method}: the provider does not report whether it \
                 accepts the client"
            )),
            Err(error) => Err(error),
        }
    }

    /// Tests whether Drover can refresh groups without the user.
    fn test_refresh(&self, metadata: &Metadata) -> Check {
        let found = match (
            has_offline(&self.scopes),
            metadata.advertises_offline_access,
        ) {
            (true, _) => "with offline_access: the provider asks users for consent",
            (false, true) => {
                "only if the provider issues refresh tokens without offline_access: otherwise add \
                 offline_access to oidc.scopes, or users have to sign in again"
            }
            (false, false) => {
                "only if the provider issues refresh tokens, which the first sign-in shows: otherwise \
                 users have to sign in again"
            }
        };
        Check::passed("Refresh", found)
    }
}

fn test_sign_in(metadata: &Metadata) -> Check {
    let pkce = if metadata.advertises_pkce {
        "with PKCE (S256)"
    } else {
        "with PKCE (S256), which the provider does not advertise"
    };
    let sends_iss = if metadata.sends_iss {
        "; responses contain the issuer"
    } else {
        ""
    };
    Check::passed(
        "Sign-in",
        format!("authorization code flow {pkce}{sends_iss}"),
    )
}
