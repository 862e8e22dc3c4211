//! OpenID Connect: people sign in at a provider, by code, with PKCE.
//!
//! Core 1.0 and Discovery 1.0 of OpenID Connect, RFC 6749, RFC 7636 (PKCE), RFC 9207 (mix-ups) and
//! RP-Initiated Logout 1.0, as a client, and as much of them as Drover needs. The pure parts, from
//! bytes to what is believed of them, are modules of their own; here is the order in which they are
//! asked. Time is handed in; nothing here reads a clock.
//!
//! Only a provider's own no is `Refused`: `access_denied` by the person, and `invalid_grant` and
//! its like by the token endpoint. What cannot be reached or answers 5xx is `Unavailable`.

mod check;
pub mod claims;
mod exchange;
pub mod id_token;
pub mod issuer;
pub mod keys;
mod known;
pub mod metadata;
mod object;
pub mod pending;
mod web;

use std::sync::Arc;

use drover_api::kinds::auth_provider::OidcSpec;
use jiff::Timestamp;
use reqwest::{StatusCode, Url};
use secrecy::{ExposeSecret as _, SecretString};
use serde_json::{Map, Value};

pub use check::Check;
pub use pending::Pending;

use crate::error::Refusal;
use crate::{Person, ProviderError};
use claims::{ClaimMapping, ClaimPath, is_about};
use exchange::{Grant, Registration, Tokens, exchange};
use id_token::{Claims, Expected, TokenError, verify};
use issuer::{Issuer, quoted};
use known::Known;
use metadata::{Metadata, has_offline};
use pending::Callback;
use web::Web;

/// An OpenID provider.
#[derive(Debug)]
pub struct Oidc {
    issuer: Issuer,
    client: Registration,
    scopes: Vec<String>,
    meaning: ClaimMapping,
    web: Web,
    known: Known,
}

/// Somebody whom the provider signed in.
#[derive(Debug)]
pub struct SignedIn {
    /// Who it is.
    pub person: Person,
    /// What renews the sign-in, if it can be renewed.
    pub refresh_token: Option<SecretString>,
    /// What tells the provider who signs out.
    pub id_token: Option<SecretString>,
}

/// What came of renewing a sign-in.
#[derive(Debug)]
pub struct Renewed {
    /// What renews it next time: to be kept at once and whatever the outcome is, because many
    /// providers take the former one no more. The former stays if this is `None`.
    pub refresh_token: Option<SecretString>,
    /// What tells the provider who signs out; the former serves if this is `None`.
    pub id_token: Option<SecretString>,
    /// Who it is now, or why that could not be found out.
    pub outcome: Result<Person, ProviderError>,
}

impl Renewed {
    fn failed(error: ProviderError) -> Self {
        Self {
            refresh_token: None,
            id_token: None,
            outcome: Err(error),
        }
    }
}

impl Oidc {
    /// A provider of this configuration; nothing is sent yet.
    ///
    /// `Misconfigured` names the field that cannot be.
    pub fn new(
        spec: &OidcSpec,
        client_secret: Option<SecretString>,
    ) -> Result<Self, ProviderError> {
        let issuer = Issuer::parse(&spec.issuer)?;
        let web = Web::new(issuer.clone(), spec.ca_bundle.as_deref())?;
        Ok(Self {
            client: registration(spec, client_secret)?,
            scopes: scopes(spec)?,
            meaning: ClaimMapping {
                groups: ClaimPath::parse("oidc.groupsClaim", &spec.groups_claim)?,
                login: ClaimPath::parse("oidc.loginClaim", &spec.login_claim)?,
            },
            web,
            issuer,
            known: Known::default(),
        })
    }

    /// Begins a sign-in: where the browser is to go, and what must be there when it comes back to
    /// `redirect_uri`.
    pub async fn authorize(
        &self,
        redirect_uri: &Url,
        now: Timestamp,
    ) -> Result<(Url, Pending), ProviderError> {
        let metadata = self.metadata(now).await?;
        let pending = Pending::begin(self.issuer.as_str(), redirect_uri, now);
        let mut url = metadata.authorization.clone();
        // The address may have a query of its own, which stays (RFC 6749 §3.1).
        url.query_pairs_mut()
            .append_pair("response_type", "code")
            .append_pair("client_id", &self.client.id)
            .append_pair("redirect_uri", redirect_uri.as_str())
            .append_pair("scope", &self.scopes.join(" "))
            .append_pair("state", pending.flow.state().expose_secret())
            .append_pair("nonce", pending.nonce.expose_secret())
            .append_pair("code_challenge", &pending.flow.challenge())
            .append_pair("code_challenge_method", "S256");
        if has_offline(&self.scopes) {
            // Without it the scope is ignored (OpenID Connect Core §11).
            url.query_pairs_mut().append_pair("prompt", "consent");
        }
        Ok((url, pending))
    }

    /// Ends a sign-in with the query that the browser came back with.
    ///
    /// `Refused(Denied)` if the person said no at the provider.
    pub async fn redeem(
        &self,
        query: &str,
        pending: &Pending,
        now: Timestamp,
    ) -> Result<SignedIn, ProviderError> {
        let metadata = self.metadata(now).await?;
        let (issuer, names_itself) = (self.issuer.as_str(), metadata.names_itself);
        let callback = Callback::read(query, pending, issuer, names_itself, now)
            .map_err(|error| self.web.invalid_response(&error.to_string()))?;
        let code = match callback {
            Callback::Code(code) => code,
            Callback::Error(error) => return Err(self.not_signed_in(&error)),
        };
        let grant = Grant::Code {
            code: &code,
            pending,
        };
        let tokens = exchange(&self.web, &metadata, &self.client, grant).await?;
        let nonce = Some(pending.nonce.expose_secret());
        let claims = self.believed(&metadata, &tokens, nonce, now).await?;
        let claims = claims.ok_or_else(|| self.web.invalid_response("it sent no ID token"))?;
        let beside = self.beside(&metadata, &tokens, &claims).await?;
        Ok(SignedIn {
            person: self.meaning.person(&claims.subject, &claims.all, &beside)?,
            refresh_token: tokens.refresh,
            id_token: tokens.id,
        })
    }

    /// Renews the sign-in of the person with this id: who they are now, and in which groups.
    ///
    /// `Refused(Withdrawn)` if the provider takes the refresh token no more. A provider that sends
    /// no new ID token (OpenID Connect Core §12.2) must say at its userinfo endpoint that the
    /// access token is the same person's.
    pub async fn refresh(&self, refresh_token: &SecretString, id: &str, now: Timestamp) -> Renewed {
        let exchanged = async {
            let metadata = self.metadata(now).await?;
            let grant = Grant::Refresh(refresh_token);
            let tokens = exchange(&self.web, &metadata, &self.client, grant).await?;
            Ok((metadata, tokens))
        };
        match exchanged.await {
            Err(error) => Renewed::failed(error),
            Ok((metadata, tokens)) => Renewed {
                outcome: self.renewed(&metadata, &tokens, id, now).await,
                refresh_token: tokens.refresh,
                id_token: tokens.id,
            },
        }
    }

    async fn renewed(
        &self,
        metadata: &Metadata,
        tokens: &Tokens,
        id: &str,
        now: Timestamp,
    ) -> Result<Person, ProviderError> {
        let (token, beside) = match self.believed(metadata, tokens, None, now).await? {
            Some(claims) if claims.subject == id => {
                let beside = self.beside(metadata, tokens, &claims).await?;
                (claims.all, beside)
            }
            Some(_) => {
                return Err(self
                    .web
                    .invalid_response("it renewed somebody else's sign-in"));
            }
            None => {
                let url = metadata.userinfo.as_ref().ok_or_else(|| {
                    let problem = "it renewed a sign-in and does not say whose";
                    self.web.invalid_response(problem)
                })?;
                (Map::new(), self.userinfo(url, &tokens.access, id).await?)
            }
        };
        self.meaning.person(id, &token, &beside)
    }

    /// Where browsers sign out at the provider too; `None` if that has no such address.
    pub async fn end_session(&self, now: Timestamp) -> Result<Option<Url>, ProviderError> {
        Ok(self.metadata(now).await?.end_session.clone())
    }

    /// What a browser posts there, so that the ID token is in no URL.
    pub fn end_session_fields(
        &self,
        id_token: &SecretString,
        post_logout_redirect_uri: &Url,
    ) -> [(&'static str, SecretString); 3] {
        [
            ("id_token_hint", id_token.clone()),
            ("client_id", self.client.id.clone().into()),
            (
                "post_logout_redirect_uri",
                post_logout_redirect_uri.as_str().into(),
            ),
        ]
    }

    async fn metadata(&self, now: Timestamp) -> Result<Arc<Metadata>, ProviderError> {
        self.known.metadata(&self.web, &self.issuer, now).await
    }

    /// The claims of the ID token, if there is one.
    async fn believed(
        &self,
        metadata: &Metadata,
        tokens: &Tokens,
        nonce: Option<&str>,
        now: Timestamp,
    ) -> Result<Option<Claims>, ProviderError> {
        let Some(token) = &tokens.id else {
            return Ok(None);
        };
        let token = token.expose_secret();
        let expected = Expected {
            issuer: self.issuer.as_str(),
            client_id: &self.client.id,
            nonce,
            access_token: tokens.access.expose_secret(),
        };
        let keys = self.known.keys(&self.web, metadata, now).await?;
        let mut believed = verify(token, &keys, &expected, now);
        if believed == Err(TokenError::UnknownKey) {
            let newer = self.known.newer_keys(&self.web, metadata, &keys, now);
            if let Some(keys) = newer.await? {
                believed = verify(token, &keys, &expected, now);
            }
        }
        believed
            .map(Some)
            .map_err(|error| self.web.invalid_response(&error.to_string()))
    }

    /// What an ID token leaves out, if the provider can be asked for it.
    async fn beside(
        &self,
        metadata: &Metadata,
        tokens: &Tokens,
        claims: &Claims,
    ) -> Result<Map<String, Value>, ProviderError> {
        match &metadata.userinfo {
            Some(url) if self.meaning.is_incomplete(&claims.all) => {
                self.userinfo(url, &tokens.access, &claims.subject).await
            }
            _ => Ok(Map::new()),
        }
    }

    /// What the provider says of a person beside the ID token (OpenID Connect Core §5.3).
    async fn userinfo(
        &self,
        url: &Url,
        access_token: &SecretString,
        id: &str,
    ) -> Result<Map<String, Value>, ProviderError> {
        let request = self.web.client.get(url.clone());
        let request = request.bearer_auth(access_token.expose_secret());
        let answer = self.web.send("ask who somebody is", request).await?;
        if answer.status != StatusCode::OK {
            let problem = format!("its userinfo endpoint answered {}", answer.status);
            return Err(self.web.invalid_response(&problem));
        }
        if answer.media_type() != Some("application/json") {
            let problem = "what its userinfo endpoint says is not JSON: let it not be signed or \
                           encrypted";
            return Err(self.web.invalid_response(problem));
        }
        let claims: Map<String, Value> = serde_json::from_slice(&answer.body)
            .map_err(|_| self.web.invalid_response("its userinfo is no JSON object"))?;
        if !is_about(&claims, id) {
            let problem = "its userinfo is about somebody else";
            return Err(self.web.invalid_response(problem));
        }
        Ok(claims)
    }

    /// What it means that the provider signed nobody in (RFC 6749 §4.1.2.1).
    fn not_signed_in(&self, error: &str) -> ProviderError {
        let misconfigured = |field: &'static str, problem: &str| ProviderError::Misconfigured {
            field,
            problem: problem.to_owned(),
        };
        match error {
            "access_denied" => ProviderError::Refused(Refusal::Denied),
            "temporarily_unavailable" | "server_error" => self
                .web
                .unavailable("sign anybody in", "it says that it cannot now".into()),
            "invalid_scope" => misconfigured(
                "oidc.scopes",
                "the provider does not know one of them, or does not allow it: remove it here or \
                 allow it there",
            ),
            "unauthorized_client" | "unsupported_response_type" => misconfigured(
                "oidc.clientId",
                "the provider does not let this client sign people in by code: allow it there",
            ),
            other => {
                let problem = format!("it signed nobody in, with the error {}", quoted(other));
                self.web.invalid_response(&problem)
            }
        }
    }
}

/// What Drover is to the provider, if that can be.
fn registration(
    spec: &OidcSpec,
    secret: Option<SecretString>,
) -> Result<Registration, ProviderError> {
    let misconfigured = |field: &'static str, problem: &str| ProviderError::Misconfigured {
        field,
        problem: problem.to_owned(),
    };
    if spec.client_id.is_empty() {
        let problem = "is empty: copy it from the provider";
        return Err(misconfigured("oidc.clientId", problem));
    }
    let is_empty = |secret: &SecretString| secret.expose_secret().is_empty();
    if secret.as_ref().is_some_and(is_empty) || secret.is_some() != spec.client_secret.is_some() {
        let problem = "names a Secret that holds nothing, or none: write the client's secret there";
        return Err(misconfigured("oidc.clientSecret", problem));
    }
    Ok(Registration {
        id: spec.client_id.clone(),
        secret,
    })
}

/// `openid` and what else is asked for, each once.
fn scopes(spec: &OidcSpec) -> Result<Vec<String>, ProviderError> {
    let mut scopes = vec!["openid".to_owned()];
    for scope in &spec.scopes {
        // What a scope may be made of (RFC 6749 §3.3).
        let fits = |byte: u8| byte.is_ascii_graphic() && byte != b'"' && byte != b'\\';
        if scope.is_empty() || !scope.bytes().all(fits) {
            return Err(ProviderError::Misconfigured {
                field: "oidc.scopes",
                problem: format!("{} is no scope: write one in each line", quoted(scope)),
            });
        }
        if !scopes.contains(scope) {
            scopes.push(scope.clone());
        }
    }
    Ok(scopes)
}
