//! GitHub and GitHub Enterprise: an OAuth app's web flow, and the REST API for who it is.
//!
//! A person is their number, never their login, which they can change and somebody else can take
//! then. GitHub's access tokens do not expire; they end when the person or an organization withdraws
//! them, and that is how a refresh learns of it.

mod client;
mod endpoints;
mod grant;
pub mod link;
mod people;
mod problem;
mod reading;
mod verdict;

use std::fmt;

use drover_api::kinds::auth_provider::GithubSpec;
use jiff::Timestamp;
use reqwest::Method;
use secrecy::{ExposeSecret as _, SecretString};
use serde::Serialize;
use url::Url;

pub use self::client::Timeouts;
pub use self::endpoints::Endpoints;
pub use self::people::UserProfile;
pub use self::verdict::{RequestedAs, TemporaryFailure};

use self::client::Client;
use self::grant::{Grant, SCOPE};
use self::verdict::Verdict;
use crate::code_flow::{self, Pending};
use crate::{Person, ProviderError};

/// One GitHub, and the OAuth app as which Drover is known there.
pub struct Github {
    client: Client,
    client_id: String,
    client_secret: SecretString,
}

/// Somebody who has signed in.
#[derive(Clone, Debug)]
pub struct SignedIn {
    /// Who they are.
    pub person: Person,
    /// Organizations that keep back whether they are in them; see [`UserProfile::withheld`].
    pub withheld: Vec<String>,
    /// Asks GitHub in their name from now on; it may read who they are and what they are in.
    pub access_token: SecretString,
}

/// One thing that was tried before a provider is enabled.
#[derive(Debug)]
pub struct Check {
    /// For people, such as `sign-in at https://github.com`.
    pub what: String,
    /// What is wrong with it, if something is.
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

/// What the API takes beside an app's own name and secret.
#[derive(Serialize)]
struct OfToken<'a> {
    access_token: &'a str,
}

impl Github {
    /// The GitHub that an AuthProvider describes; nothing is asked of it yet.
    pub fn new(spec: &GithubSpec, client_secret: SecretString) -> Result<Self, ProviderError> {
        let endpoints = Endpoints::of(spec.url.as_deref())?;
        Self::at(endpoints, spec, client_secret, Timeouts::default())
    }

    /// The same somewhere else (the spec's `url` is not looked at), and with other limits of time.
    pub fn at(
        endpoints: Endpoints,
        spec: &GithubSpec,
        client_secret: SecretString,
        patience: Timeouts,
    ) -> Result<Self, ProviderError> {
        let wrong = |field, problem: &str| {
            Err(ProviderError::Misconfigured {
                field,
                problem: problem.to_owned(),
            })
        };
        // It becomes a part of a path.
        let is_of_an_id = |c: char| c.is_ascii_alphanumeric() || ['.', '_', '-'].contains(&c);
        if !spec.client_id.chars().all(is_of_an_id)
            || !spec.client_id.contains(|c: char| c.is_ascii_alphanumeric())
        {
            return wrong(
                "github.clientId",
                "it is no client id: copy it from the OAuth app's page, where it looks like \
                 Ov23liA1b2C3d4E5f6G7",
            );
        }
        if client_secret.expose_secret().trim() != client_secret.expose_secret()
            || client_secret.expose_secret().is_empty()
        {
            return wrong(
                "github.clientSecret",
                "the Secret's key holds nothing, or blanks or a line's end around it: put in only \
                 what the OAuth app's page shows",
            );
        }
        Ok(Self {
            client: Client::new(endpoints, spec.ca_bundle.as_deref(), patience)?,
            client_id: spec.client_id.clone(),
            client_secret,
        })
    }

    /// Tries, without anybody, what a sign-in needs: that its pages and its API answer, and know the
    /// client with this secret.
    pub async fn check(&self, now: Timestamp) -> Vec<Check> {
        let endpoints = &self.client.endpoints;
        let sign_in = self.check_sign_in(now).await;
        let api = self.check_api(now).await;
        vec![
            Check {
                what: format!("sign-in at {}", endpoints.name()),
                outcome: sign_in.map_err(problem::or_certificate),
            },
            Check {
                what: format!(
                    "REST API at {}",
                    endpoints.api.as_str().trim_end_matches('/')
                ),
                outcome: api.map_err(problem::or_certificate),
            },
        ]
    }

    /// A code that nobody was given is stale, if the client is right.
    async fn check_sign_in(&self, now: Timestamp) -> Result<(), ProviderError> {
        let code = code_flow::random();
        match self
            .ask_for_token(&[("code", code.expose_secret())], now)
            .await?
        {
            (Grant::Stale, _) => Ok(()),
            (Grant::Token(_) | Grant::TooLittle(_), _) => Err(self
                .client
                .invalid_response("it gave a token for a code that nobody has")),
            (other, what) => Err(self.refused(other, what)),
        }
    }

    /// A token that nobody was given is unknown, if the client is right.
    async fn check_api(&self, now: Timestamp) -> Result<(), ProviderError> {
        let what = "try the client's secret at the REST API";
        let token = code_flow::random();
        self.about_token(Method::POST, what, &token, now).await
    }

    /// Begins a sign-in: where the browser goes, and what must be known when it comes back to
    /// `redirect_uri`, which is the app's callback URL or below it.
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
            // Whoever has no account there is not somebody yet.
            .append_pair("allow_signup", "false");
        (url, pending)
    }

    /// Ends a sign-in: `query` is what stands behind the question mark of where the browser came
    /// back to.
    ///
    /// Refused with [`Refusal::Withdrawn`] if the sign-in took too long or its code was used before:
    /// they can begin again.
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
        let code = code.map_err(|error| self.not_returned(&error, pending))?;
        let all = async {
            let access_token = self.exchange(&code, pending, now).await?;
            let seen = reading::read(&self.client, &access_token, now).await?;
            Ok(SignedIn {
                person: seen.person,
                withheld: seen.withheld,
                access_token,
            })
        };
        self.client
            .within_patience("end a sign-in in time", all)
            .await
    }

    /// Asks anew who it is whose token this is; it must be the person with this id.
    ///
    /// Refused with [`Refusal::Withdrawn`] if the token was withdrawn or the account deleted, which
    /// GitHub does not tell apart, and with [`Refusal::Disabled`] if the account is suspended.
    ///
    /// [`Refusal::Withdrawn`]: crate::error::Refusal::Withdrawn
    /// [`Refusal::Disabled`]: crate::error::Refusal::Disabled
    pub async fn refresh(
        &self,
        access_token: &SecretString,
        id: &str,
        now: Timestamp,
    ) -> Result<UserProfile, ProviderError> {
        let all = reading::read(&self.client, access_token, now);
        let seen = self
            .client
            .within_patience("read a person in time", all)
            .await?;
        if seen.person.id == id {
            Ok(seen)
        } else {
            Err(self
                .client
                .invalid_response(format!("the token of {id} is {}'s now", seen.person.id)))
        }
    }

    /// Ends a token, and with it what Drover may do in the person's name. What they allowed the app
    /// stays, so that they need not allow it again when they sign in again. No error if the token has
    /// ended before.
    pub async fn revoke(
        &self,
        access_token: &SecretString,
        now: Timestamp,
    ) -> Result<(), ProviderError> {
        let what = "end a token";
        self.about_token(Method::DELETE, what, access_token, now)
            .await
    }

    /// Asks something about a token as the client, which is right if it is not refused; whether there
    /// is such a token makes no difference.
    async fn about_token(
        &self,
        method: Method,
        what: &str,
        token: &SecretString,
        now: Timestamp,
    ) -> Result<(), ProviderError> {
        let path = format!("applications/{}/token", self.client_id);
        let access_token = token.expose_secret();
        let request = self
            .client
            .rest(method, self.client.endpoints.rest(&path))
            .basic_auth(&self.client_id, Some(self.client_secret.expose_secret()))
            .json(&OfToken { access_token });
        let answer = self.client.send(what, request).await?;
        match (answer.status, verdict::of(&answer, now)) {
            (401, _) => Err(self.refused(Grant::WrongSecret, what)),
            (204, _) => Ok(()),
            // There is no such token. Any web server has something that is not there; GitHub says so in
            // its own form.
            (404 | 422, _) if verdict::is_in_words(&answer) => Ok(()),
            (_, Verdict::TemporaryFailure(not_now)) => {
                Err(self.client.unavailable(what, not_now.to_the_client()))
            }
            (_, Verdict::Strange(problem)) => Err(self.client.invalid_response(problem)),
            // These are about people, and the client is none.
            (status, Verdict::Refused(_) | Verdict::Withheld) => {
                let not_now = TemporaryFailure {
                    status,
                    until: None,
                    requested_as: RequestedAs::Client,
                };
                Err(self.client.unavailable(what, not_now))
            }
            (status, Verdict::Answered | Verdict::Absent) => {
                Err(self.client.invalid_response(format!(
                    "asked about a token, it answered {status}; is github.url the address of a GitHub?"
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
        match self.ask_for_token(&fields, now).await? {
            (Grant::Token(token), _) => Ok(token),
            (Grant::WrongRedirect, _) => Err(problem::wrong_redirect(pending)),
            (other, what) => Err(self.refused(other, what)),
        }
    }

    async fn ask_for_token(
        &self,
        fields: &[(&str, &str)],
        now: Timestamp,
    ) -> Result<(Grant, &'static str), ProviderError> {
        let what = "exchange a code for a token";
        let url = self.client.endpoints.page("login/oauth/access_token");
        let mut all = vec![
            ("client_id", self.client_id.as_str()),
            ("client_secret", self.client_secret.expose_secret()),
        ];
        all.extend_from_slice(fields);
        let answer = self.client.send(what, self.client.form(url, &all)).await?;
        Ok((grant::read(&answer, now), what))
    }
}
