//! OpenID Connect client: authorization code flow with PKCE.
//!
//! Implements parts of OpenID Connect Core 1.0, Discovery 1.0, RP-Initiated Logout 1.0, RFC 6749,
//! RFC 7636 (PKCE) and RFC 9207 (issuer identification). This module sends the requests in the
//! correct order. The submodules contain pure parsing and validation. Callers pass the current
//! time, because the functions do not read a clock.
//!
//! Only a rejection by the provider maps to `Refused`: `access_denied` at the authorization
//! endpoint, and `invalid_grant` and similar codes at the token endpoint. Connection failures and
//! 5xx responses are `Unavailable`.

mod cache;
mod check;
pub mod claims;
mod exchange;
pub mod id_token;
pub mod issuer;
pub mod keys;
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
use crate::{ProviderError, ProviderUser};
use cache::MetadataCache;
use claims::{ClaimMapping, ClaimPath, is_about};
use exchange::{Grant, Registration, Tokens, exchange};
use id_token::{Claims, Expected, TokenError, verify};
use issuer::{Issuer, quoted};
use metadata::{Metadata, has_offline};
use pending::Callback;
use web::Web;

/// Client for one OpenID provider.
#[derive(Debug)]
pub struct Oidc {
    issuer: Issuer,
    client: Registration,
    scopes: Vec<String>,
    mapping: ClaimMapping,
    web: Web,
    cache: MetadataCache,
}

/// A user whom the provider authenticated.
#[derive(Debug)]
pub struct SignedIn {
    /// The authenticated user.
    pub person: ProviderUser,
    /// Refresh token, if the provider issued one.
    pub refresh_token: Option<SecretString>,
    /// ID token, used as the hint for logout at the provider.
    pub id_token: Option<SecretString>,
}

/// Result of refreshing a user.
#[derive(Debug)]
pub struct Renewed {
    /// New refresh token. The caller must store this token immediately, even after an error,
    /// because many providers invalidate the previous token. `None` if the previous refresh token
    /// stays valid.
    pub refresh_token: Option<SecretString>,
    /// New ID token for logout; `None` if the previous ID token stays in use.
    pub id_token: Option<SecretString>,
    /// The updated user, or the error.
    pub outcome: Result<ProviderUser, ProviderError>,
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
    /// Creates a client from the spec without sending a request.
    ///
    /// Returns `Misconfigured` with the name of an invalid field.
    pub fn new(
        spec: &OidcSpec,
        client_secret: Option<SecretString>,
    ) -> Result<Self, ProviderError> {
        let issuer = Issuer::parse(&spec.issuer)?;
        let web = Web::new(issuer.clone(), spec.ca_bundle.as_deref())?;
        Ok(Self {
            client: registration(spec, client_secret)?,
            scopes: scopes(spec)?,
            mapping: ClaimMapping {
                groups: ClaimPath::parse("oidc.groupsClaim", &spec.groups_claim)?,
                login: ClaimPath::parse("oidc.loginClaim", &spec.login_claim)?,
            },
            web,
            issuer,
            cache: MetadataCache::default(),
        })
    }

    /// Starts a sign-in. Returns the authorization URL for the browser, and the state with which
    /// Drover validates the callback. After the sign-in, the provider redirects the browser to
    /// `redirect_uri`.
    pub async fn authorize(
        &self,
        redirect_uri: &Url,
        now: Timestamp,
    ) -> Result<(Url, Pending), ProviderError> {
        let metadata = self.metadata(now).await?;
        let pending = Pending::begin(self.issuer.as_str(), redirect_uri, now);
        let mut url = metadata.authorization.clone();
        // Keeps the existing query of the authorization endpoint (RFC 6749 §3.1).
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
            // Providers ignore offline_access without prompt=consent (OpenID Connect Core §11).
            url.query_pairs_mut().append_pair("prompt", "consent");
        }
        Ok((url, pending))
    }

    /// Completes a sign-in with the callback query.
    ///
    /// Returns `Refused(Denied)` if the user denied consent.
    pub async fn redeem(
        &self,
        query: &str,
        pending: &Pending,
        now: Timestamp,
    ) -> Result<SignedIn, ProviderError> {
        let metadata = self.metadata(now).await?;
        let (issuer, sends_iss) = (self.issuer.as_str(), metadata.sends_iss);
        let callback = Callback::read(query, pending, issuer, sends_iss, now)
            .map_err(|error| self.web.invalid_response(&error.to_string()))?;
        let code = match callback {
            Callback::Code(code) => code,
            Callback::Error(error) => return Err(self.authorization_error(&error)),
        };
        let grant = Grant::Code {
            code: &code,
            pending,
        };
        let tokens = exchange(&self.web, &metadata, &self.client, grant).await?;
        let nonce = Some(pending.nonce.expose_secret());
        let claims = self
            .validated_claims(&metadata, &tokens, nonce, now)
            .await?;
        let claims = claims.ok_or_else(|| {
            self.web
                .invalid_response("the token response has no ID token")
        })?;
        let userinfo = self.missing_claims(&metadata, &tokens, &claims).await?;
        Ok(SignedIn {
            person: self
                .mapping
                .person(&claims.subject, &claims.all, &userinfo)?,
            refresh_token: tokens.refresh,
            id_token: tokens.id,
        })
    }

    /// Refreshes the user with this ID and the user's groups.
    ///
    /// Returns `Refused(Withdrawn)` if the provider rejects the refresh token. If the provider
    /// sends no new ID token (OpenID Connect Core §12.2), its userinfo endpoint must confirm the
    /// user.
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
                outcome: self.refreshed_user(&metadata, &tokens, id, now).await,
                refresh_token: tokens.refresh,
                id_token: tokens.id,
            },
        }
    }

    async fn refreshed_user(
        &self,
        metadata: &Metadata,
        tokens: &Tokens,
        id: &str,
        now: Timestamp,
    ) -> Result<ProviderUser, ProviderError> {
        let (token, userinfo) = match self.validated_claims(metadata, tokens, None, now).await? {
            Some(claims) if claims.subject == id => {
                let userinfo = self.missing_claims(metadata, tokens, &claims).await?;
                (claims.all, userinfo)
            }
            Some(_) => {
                return Err(self
                    .web
                    .invalid_response("the refresh returned another user"));
            }
            None => {
                let url = metadata.userinfo.as_ref().ok_or_else(|| {
                    let problem = "the refresh returned no ID token, and the provider has no userinfo endpoint";
                    self.web.invalid_response(problem)
                })?;
                (Map::new(), self.userinfo(url, &tokens.access, id).await?)
            }
        };
        self.mapping.person(id, &token, &userinfo)
    }

    /// Returns the provider's logout endpoint for browsers. Returns `None` if the provider has no
    /// logout endpoint.
    pub async fn end_session(&self, now: Timestamp) -> Result<Option<Url>, ProviderError> {
        Ok(self.metadata(now).await?.end_session.clone())
    }

    /// Returns the form fields of a logout request. The form keeps the ID token out of URLs.
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
        self.cache.metadata(&self.web, &self.issuer, now).await
    }

    /// Validates the ID token of a token response. Returns `None` if the response contains no ID
    /// token.
    async fn validated_claims(
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
        let keys = self.cache.keys(&self.web, metadata, now).await?;
        let mut claims = verify(token, &keys, &expected, now);
        if claims == Err(TokenError::UnknownKey) {
            let newer = self.cache.newer_keys(&self.web, metadata, &keys, now);
            if let Some(keys) = newer.await? {
                claims = verify(token, &keys, &expected, now);
            }
        }
        claims
            .map(Some)
            .map_err(|error| self.web.invalid_response(&error.to_string()))
    }

    /// Fetches userinfo if the ID token lacks claims and the provider has a userinfo endpoint.
    async fn missing_claims(
        &self,
        metadata: &Metadata,
        tokens: &Tokens,
        claims: &Claims,
    ) -> Result<Map<String, Value>, ProviderError> {
        match &metadata.userinfo {
            Some(url) if self.mapping.is_incomplete(&claims.all) => {
                self.userinfo(url, &tokens.access, &claims.subject).await
            }
            _ => Ok(Map::new()),
        }
    }

    /// Fetches the claims of the userinfo endpoint (OpenID Connect Core §5.3).
    async fn userinfo(
        &self,
        url: &Url,
        access_token: &SecretString,
        id: &str,
    ) -> Result<Map<String, Value>, ProviderError> {
        let request = self.web.client.get(url.clone());
        let request = request.bearer_auth(access_token.expose_secret());
        let answer = self.web.send("fetch userinfo", request).await?;
        if answer.status != StatusCode::OK {
            let problem = format!("the userinfo endpoint returned {}", answer.status);
            return Err(self.web.invalid_response(&problem));
        }
        if answer.media_type() != Some("application/json") {
            let problem = "the userinfo response is not JSON: disable its signing and encryption at the \
                           provider";
            return Err(self.web.invalid_response(problem));
        }
        let claims: Map<String, Value> = serde_json::from_slice(&answer.body).map_err(|_| {
            self.web
                .invalid_response("the userinfo response is not a JSON object")
        })?;
        if !is_about(&claims, id) {
            let problem = "the userinfo response describes another user";
            return Err(self.web.invalid_response(problem));
        }
        Ok(claims)
    }

    /// Converts an error code of the authorization endpoint (RFC 6749 §4.1.2.1) to a
    /// [`ProviderError`].
    fn authorization_error(&self, error: &str) -> ProviderError {
        let misconfigured = |field: &'static str, problem: &str| ProviderError::Misconfigured {
            field,
            problem: problem.to_owned(),
        };
        match error {
            "access_denied" => ProviderError::Refused(Refusal::Denied),
            "temporarily_unavailable" | "server_error" => self.web.unavailable(
                "sign in users",
                "the provider reports a temporary failure".into(),
            ),
            "invalid_scope" => misconfigured(
                "oidc.scopes",
                "the provider does not support or allow one of the scopes: remove the scope, or \
                 allow it at the provider",
            ),
            "unauthorized_client" | "unsupported_response_type" => misconfigured(
                "oidc.clientId",
                "the provider does not allow the authorization code flow for this client: allow it at the provider",
            ),
            other => {
                let problem = format!(
                    "the authorization endpoint returned the error {}",
                    quoted(other)
                );
                self.web.invalid_response(&problem)
            }
        }
    }
}

/// Validates the client registration in the spec.
fn registration(
    spec: &OidcSpec,
    secret: Option<SecretString>,
) -> Result<Registration, ProviderError> {
    let misconfigured = |field: &'static str, problem: &str| ProviderError::Misconfigured {
        field,
        problem: problem.to_owned(),
    };
    if spec.client_id.is_empty() {
        let problem = "is empty: copy the client ID from the provider";
        return Err(misconfigured("oidc.clientId", problem));
    }
    let is_empty = |secret: &SecretString| secret.expose_secret().is_empty();
    if secret.as_ref().is_some_and(is_empty) || secret.is_some() != spec.client_secret.is_some() {
        let problem = "names a missing or empty Secret: write the client secret into the Secret";
        return Err(misconfigured("oidc.clientSecret", problem));
    }
    Ok(Registration {
        id: spec.client_id.clone(),
        secret,
    })
}

/// Returns `openid` and the configured scopes without duplicates.
fn scopes(spec: &OidcSpec) -> Result<Vec<String>, ProviderError> {
    let mut scopes = vec!["openid".to_owned()];
    for scope in &spec.scopes {
        // Characters allowed in a scope (RFC 6749 §3.3).
        let fits = |byte: u8| byte.is_ascii_graphic() && byte != b'"' && byte != b'\\';
        if scope.is_empty() || !scope.bytes().all(fits) {
            return Err(ProviderError::Misconfigured {
                field: "oidc.scopes",
                problem: format!(
                    "{} is not a valid scope: write one scope per line",
                    quoted(scope)
                ),
            });
        }
        if !scopes.contains(scope) {
            scopes.push(scope.clone());
        }
    }
    Ok(scopes)
}
