//! Client of the token endpoint (RFC 6749 §3.2, OpenID Connect Core 1.0 §3.1.3 and §12).

use reqwest::header::CONTENT_TYPE;
use reqwest::{RequestBuilder, StatusCode};
use secrecy::{ExposeSecret as _, SecretString};
use serde::Deserialize;

use super::issuer::quoted;
use super::metadata::{ClientAuthentication, Metadata};
use super::object::object;
use super::pending::Pending;
use super::web::{ProviderResponse, Web};
use crate::ProviderError;
use crate::error::Refusal;

/// Drover's client registration at the provider.
#[derive(Debug)]
pub(super) struct Registration {
    pub(super) id: String,
    /// Client secret; `None` for a public client.
    pub(super) secret: Option<SecretString>,
}

/// The grant of a token request.
#[derive(Clone, Copy)]
pub(super) enum Grant<'a> {
    Code {
        code: &'a SecretString,
        pending: &'a Pending,
    },
    Refresh(&'a SecretString),
}

impl Grant<'_> {
    fn name(self) -> &'static str {
        match self {
            Self::Code { .. } => "authorization_code",
            Self::Refresh(_) => "refresh_token",
        }
    }

    fn action(self) -> &'static str {
        match self {
            Self::Code { .. } => "exchange the authorization code",
            Self::Refresh(_) => "refresh the tokens",
        }
    }
}

/// Tokens of a successful token response.
pub(super) struct Tokens {
    pub(super) access: SecretString,
    pub(super) id: Option<SecretString>,
    pub(super) refresh: Option<SecretString>,
}

#[derive(Deserialize)]
struct Document {
    access_token: String,
    token_type: String,
    id_token: Option<String>,
    refresh_token: Option<String>,
}

/// Sends a token request and parses the response.
pub(super) async fn exchange(
    web: &Web,
    metadata: &Metadata,
    client: &Registration,
    grant: Grant<'_>,
) -> Result<Tokens, ProviderError> {
    let request = request(web, metadata, client, grant)?;
    let answer = web.send(grant.action(), request).await?;
    if answer.status != StatusCode::OK {
        return Err(error_of(web, &answer, grant));
    }
    let document: Document = object(&answer.body)
        .ok_or_else(|| web.invalid_response("the token endpoint returned no tokens as JSON"))?;
    if !document.token_type.eq_ignore_ascii_case("Bearer") {
        return Err(web.invalid_response("the access token is not a bearer token (RFC 6750)"));
    }
    let filled = |token: Option<String>| token.filter(|token| !token.is_empty());
    Ok(Tokens {
        access: document.access_token.into(),
        id: filled(document.id_token).map(SecretString::from),
        refresh: filled(document.refresh_token).map(SecretString::from),
    })
}

fn request(
    web: &Web,
    metadata: &Metadata,
    client: &Registration,
    grant: Grant<'_>,
) -> Result<RequestBuilder, ProviderError> {
    let mut form = url::form_urlencoded::Serializer::new(String::new());
    form.append_pair("grant_type", grant.name());
    match grant {
        Grant::Code { code, pending } => form
            .append_pair("code", code.expose_secret())
            .append_pair("redirect_uri", pending.flow.redirect_uri())
            .append_pair("code_verifier", pending.flow.verifier().expose_secret()),
        Grant::Refresh(token) => form.append_pair("refresh_token", token.expose_secret()),
    };
    let mut request = web.client.post(metadata.token.clone());
    match (&client.secret, metadata.authentication) {
        (None, _) => {
            form.append_pair("client_id", &client.id);
        }
        (Some(secret), Some(ClientAuthentication::Basic)) => {
            // The client ID and the secret are form-encoded before basic authentication (RFC 6749 §2.3.1).
            let encoded = |text: &str| -> String {
                url::form_urlencoded::byte_serialize(text.as_bytes()).collect()
            };
            let (id, secret) = (encoded(&client.id), encoded(secret.expose_secret()));
            request = request.basic_auth(id, Some(secret));
        }
        (Some(secret), Some(ClientAuthentication::Post)) => {
            form.append_pair("client_id", &client.id)
                .append_pair("client_secret", secret.expose_secret());
        }
        (Some(_), None) => return Err(no_client_authentication()),
    }
    Ok(request
        .header(CONTENT_TYPE, "application/x-www-form-urlencoded")
        .body(form.finish()))
}

/// Returns the error for a provider that supports none of Drover's client authentication methods.
/// Drover cannot send the client secret to such a provider.
pub(super) fn no_client_authentication() -> ProviderError {
    ProviderError::Misconfigured {
        field: "oidc.clientSecret",
        problem:
            "the provider supports neither client_secret_basic nor client_secret_post: enable \
                  one of them at the provider, or register a public client and remove the secret"
                .to_owned(),
    }
}

/// Maps an error response of the token endpoint (RFC 6749 §5.2, OpenID Connect Core §3.1.2.6).
///
/// Only error codes about the grant itself become `Refused`. A temporary failure or a wrong
/// configuration does not end sessions.
fn error_of(web: &Web, answer: &ProviderResponse, grant: Grant<'_>) -> ProviderError {
    #[derive(Deserialize)]
    struct Document {
        error: String,
    }
    let document: Option<Document> = object(&answer.body);
    let error = document.map(|document| document.error);
    let misconfigured =
        |field: &'static str, problem: String| ProviderError::Misconfigured { field, problem };
    match error.as_deref() {
        Some(
            "invalid_grant"
            | "access_denied"
            | "login_required"
            | "interaction_required"
            | "consent_required",
        ) => ProviderError::Refused(Refusal::Withdrawn),
        Some("temporarily_unavailable" | "server_error" | "slow_down") => web.unavailable(
            grant.action(),
            "the provider reports a temporary failure".into(),
        ),
        Some("invalid_client") => misconfigured(
            "oidc.clientSecret",
            "the provider rejects oidc.clientId or the client secret: copy both from the provider"
                .to_owned(),
        ),
        Some("unauthorized_client" | "unsupported_grant_type") => misconfigured(
            "oidc.clientId",
            format!(
                "the provider does not allow the grant type {} for this client: allow it at the provider",
                grant.name()
            ),
        ),
        Some("invalid_scope") => misconfigured(
            "oidc.scopes",
            "the provider does not support or allow one of the scopes: remove the scope, or \
             allow it at the provider"
                .to_owned(),
        ),
        None if answer.status == StatusCode::UNAUTHORIZED => misconfigured(
            "oidc.clientSecret",
            "the provider rejects the client secret (401): copy the secret from the provider"
                .to_owned(),
        ),
        Some(error) => web.invalid_response(&format!(
            "the token endpoint returned {} with the error {}",
            answer.status,
            quoted(error)
        )),
        None => web.invalid_response(&format!(
            "the token endpoint returned {} without an error as JSON",
            answer.status
        )),
    }
}
