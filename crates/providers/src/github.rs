//! GitHub and GitHub Enterprise client: the web flow of an OAuth app, and the REST API for the user
//! and the memberships.
//!
//! A user is identified by the numeric ID, never by the login. GitHub allows a user to change the
//! login, and a different account can then use the previous login.
//!
//! GitHub's access tokens do not expire. The tokens end when the user or an organization revokes
//! them. The next refresh detects the revocation.

mod classification;
mod client;
mod endpoints;
mod grant;
pub mod link;
mod people;
mod problem;
mod profile_reader;

use std::fmt;

use drover_api::kinds::auth_provider::GithubSpec;
use jiff::Timestamp;
use reqwest::Method;
use secrecy::{ExposeSecret as _, SecretString};
use serde::Serialize;
use url::Url;

pub use self::classification::{RequestedAs, TemporaryFailure};
pub use self::client::Timeouts;
pub use self::endpoints::Endpoints;
pub use self::people::UserProfile;

use self::classification::Classification;
use self::client::Client;
use self::grant::{Grant, SCOPE};
use crate::code_flow::{self, Pending};
use crate::{ProviderError, ProviderUser};

/// Client for one GitHub server and one OAuth app.
pub struct Github {
    client: Client,
    client_id: String,
    client_secret: SecretString,
}

/// An authenticated user, with the user's access token.
#[derive(Clone, Debug)]
pub struct SignedIn {
    /// The user, with the user's groups at GitHub.
    pub person: ProviderUser,
    /// Organizations that hide the user's membership. See [`UserProfile::withheld`].
    pub withheld: Vec<String>,
    /// Access token of the user, with read access to the profile and the memberships.
    pub access_token: SecretString,
}

/// Result of one step of the connection test.
#[derive(Debug)]
pub struct Check {
    /// Description for administrators, such as `sign-in at https://github.com`.
    pub what: String,
    /// Success of the step, or its error.
    pub outcome: Result<(), ProviderError>,
}

impl fmt::Debug for Github {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Github")
            .field("endpoints", &self.client.endpoints)
            .field("client_id", &self.client_id)
            .finish_non_exhaustive()
    }
}

/// Request body of the token endpoints of the REST API.
#[derive(Serialize)]
struct TokenBody<'a> {
    access_token: &'a str,
}

impl Github {
    /// Creates a client from the spec without sending a request.
    pub fn new(spec: &GithubSpec, client_secret: SecretString) -> Result<Self, ProviderError> {
        let endpoints = Endpoints::of(spec.url.as_deref())?;
        Self::at(endpoints, spec, client_secret, Timeouts::default())
    }

    /// Creates a client for tests, with different endpoints and timeouts. Ignores the spec's `url`.
    pub fn at(
        endpoints: Endpoints,
        spec: &GithubSpec,
        client_secret: SecretString,
        timeouts: Timeouts,
    ) -> Result<Self, ProviderError> {
        let wrong = |field, problem: &str| {
            Err(ProviderError::Misconfigured {
                field,
                problem: problem.to_owned(),
            })
        };
        // The client ID becomes a path segment.
        let is_id_char = |c: char| c.is_ascii_alphanumeric() || ['.', '_', '-'].contains(&c);
        if !spec.client_id.chars().all(is_id_char)
            || !spec.client_id.contains(|c: char| c.is_ascii_alphanumeric())
        {
            return wrong(
                "github.clientId",
                "the value is not a client ID: copy it from the OAuth app's page, where it looks like \
                 Ov23liA1b2C3d4E5f6G7",
            );
        }
        if client_secret.expose_secret().trim() != client_secret.expose_secret()
            || client_secret.expose_secret().is_empty()
        {
            return wrong(
                "github.clientSecret",
                "the key of the Secret is empty, or has leading or trailing whitespace: write exactly \
                 the client secret of the OAuth app's page",
            );
        }
        Ok(Self {
            client: Client::new(endpoints, spec.ca_bundle.as_deref(), timeouts)?,
            client_id: spec.client_id.clone(),
            client_secret,
        })
    }

    /// Runs the connection test. Checks that the web pages and the REST API respond and accept the
    /// client ID and secret.
    pub async fn check(&self, now: Timestamp) -> Vec<Check> {
        let endpoints = &self.client.endpoints;
        let sign_in = self.check_sign_in(now).await;
        let api = self.check_api(now).await;
        vec![
            Check {
                what: format!("sign-in at {}", endpoints.name()),
                outcome: sign_in.map_err(problem::certificate_as_misconfigured),
            },
            Check {
                what: format!(
                    "REST API at {}",
                    endpoints.api.as_str().trim_end_matches('/')
                ),
                outcome: api.map_err(problem::certificate_as_misconfigured),
            },
        ]
    }

    /// Sends an invalid code. GitHub returns the error for a stale code if the client ID and secret
    /// are valid.
    async fn check_sign_in(&self, now: Timestamp) -> Result<(), ProviderError> {
        let code = code_flow::random();
        match self
            .exchange_code(&[("code", code.expose_secret())], now)
            .await?
        {
            (Grant::Stale, _) => Ok(()),
            (Grant::Token(_) | Grant::MissingScope(_), _) => Err(self
                .client
                .invalid_response("the token endpoint returned a token for an invalid code")),
            (other, what) => Err(self.grant_error(other, what)),
        }
    }

    /// Sends an invalid token. GitHub returns the error for an unknown token if the client ID and
    /// secret are valid.
    async fn check_api(&self, now: Timestamp) -> Result<(), ProviderError> {
        let action = "test the client secret at the REST API";
        let token = code_flow::random();
        self.token_request(Method::POST, action, &token, now).await
    }

    /// Starts a sign-in. Returns the authorization URL, and the state for the validation of the
    /// callback.
    ///
    /// `redirect_uri` must be the app's callback URL or a URL below the callback URL.
    pub fn authorize(&self, redirect_uri: &Url, now: Timestamp) -> (Url, Pending) {
        let pending = Pending::begin(redirect_uri.as_str(), now);
        let mut url = self.client.endpoints.page("login/oauth/authorize");
        url.query_pairs_mut()
            .append_pair("client_id", &self.client_id)
            .append_pair("redirect_uri", pending.redirect_uri())
            .append_pair("scope", SCOPE)
            .append_pair("state", pending.state().expose_secret())
            .append_pair("code_challenge", &pending.challenge())
            .append_pair("code_challenge_method", "S256")
            // Only existing GitHub accounts can sign in.
            .append_pair("allow_signup", "false");
        (url, pending)
    }

    /// Completes a sign-in. `query` is the query string of the callback without the question mark.
    ///
    /// Returns [`Refusal::Withdrawn`] if the sign-in expired or the code was used before. The user
    /// can start a new sign-in.
    ///
    /// [`Refusal::Withdrawn`]: crate::error::Refusal::Withdrawn
    pub async fn redeem(
        &self,
        query: &str,
        pending: &Pending,
        now: Timestamp,
    ) -> Result<SignedIn, ProviderError> {
        let issuer = self.client.endpoints.web.origin();
        let code = pending.code(query, &issuer, now);
        let code = code.map_err(|error| self.callback_error(&error, pending))?;
        let all = async {
            let access_token = self.exchange(&code, pending, now).await?;
            let profile = profile_reader::read(&self.client, &access_token, now).await?;
            Ok(SignedIn {
                person: profile.person,
                withheld: profile.withheld,
                access_token,
            })
        };
        self.client
            .with_timeout("complete the sign-in in time", all)
            .await
    }

    /// Reads the current profile of the token's user. The user must have this ID.
    ///
    /// Returns [`Refusal::Withdrawn`] if the token was revoked or the account was deleted. GitHub
    /// returns the same response in both cases. Returns [`Refusal::Disabled`] if the account is
    /// suspended.
    ///
    /// [`Refusal::Withdrawn`]: crate::error::Refusal::Withdrawn
    /// [`Refusal::Disabled`]: crate::error::Refusal::Disabled
    pub async fn refresh(
        &self,
        access_token: &SecretString,
        id: &str,
        now: Timestamp,
    ) -> Result<UserProfile, ProviderError> {
        let all = profile_reader::read(&self.client, access_token, now);
        let profile = self
            .client
            .with_timeout("read the user's profile in time", all)
            .await?;
        if profile.person.id == id {
            Ok(profile)
        } else {
            Err(self.client.invalid_response(format!(
                "the token of user {id} now belongs to user {}",
                profile.person.id
            )))
        }
    }

    /// Revokes a token. The user's authorization of the app stays valid, so the next sign-in needs
    /// no new consent. Returns no error if the token is already revoked.
    pub async fn revoke(
        &self,
        access_token: &SecretString,
        now: Timestamp,
    ) -> Result<(), ProviderError> {
        let action = "revoke a token";
        self.token_request(Method::DELETE, action, access_token, now)
            .await
    }

    /// Sends a request about a token, authenticated as the OAuth app. Returns no error if the token
    /// does not exist.
    async fn token_request(
        &self,
        method: Method,
        action: &str,
        token: &SecretString,
        now: Timestamp,
    ) -> Result<(), ProviderError> {
        let path = format!("applications/{}/token", self.client_id);
        let access_token = token.expose_secret();
        let request = self
            .client
            .rest(method, self.client.endpoints.rest(&path))
            .basic_auth(&self.client_id, Some(self.client_secret.expose_secret()))
            .json(&TokenBody { access_token });
        let answer = self.client.send(action, request).await?;
        match (answer.status, classification::of(&answer, now)) {
            (401, _) => Err(self.grant_error(Grant::WrongSecret, action)),
            (204, _) => Ok(()),
            // The token does not exist. The JSON form distinguishes GitHub's 404 from that of another
            // web server.
            (404 | 422, _) if classification::has_error_message(&answer) => Ok(()),
            (_, Classification::TemporaryFailure(not_now)) => {
                Err(self.client.unavailable(action, not_now.as_app()))
            }
            (_, Classification::Unexpected(problem)) => Err(self.client.invalid_response(problem)),
            // Both results apply to users, not to the OAuth app.
            (status, Classification::Refused(_) | Classification::HiddenByOrganization) => {
                let not_now = TemporaryFailure {
                    status,
                    until: None,
                    requested_as: RequestedAs::Client,
                };
                Err(self.client.unavailable(action, not_now))
            }
            (status, Classification::Success | Classification::Absent) => {
                Err(self.client.invalid_response(format!(
                    "the token endpoint returned {status}; check that github.url is the address of a GitHub server"
                )))
            }
        }
    }

    async fn exchange(
        &self,
        code: &SecretString,
        pending: &Pending,
        now: Timestamp,
    ) -> Result<SecretString, ProviderError> {
        let fields = [
            ("code", code.expose_secret()),
            ("redirect_uri", pending.redirect_uri()),
            ("code_verifier", pending.verifier().expose_secret()),
        ];
        match self.exchange_code(&fields, now).await? {
            (Grant::Token(token), _) => Ok(token),
            (Grant::WrongRedirect, _) => Err(problem::wrong_redirect(pending)),
            (other, what) => Err(self.grant_error(other, what)),
        }
    }

    async fn exchange_code(
        &self,
        fields: &[(&str, &str)],
        now: Timestamp,
    ) -> Result<(Grant, &'static str), ProviderError> {
        let action = "exchange a code for a token";
        let url = self.client.endpoints.page("login/oauth/access_token");
        let mut all = vec![
            ("client_id", self.client_id.as_str()),
            ("client_secret", self.client_secret.expose_secret()),
        ];
        all.extend_from_slice(fields);
        let answer = self
            .client
            .send(action, self.client.form(url, &all))
            .await?;
        Ok((grant::read(&answer, now), action))
    }
}
