//! What a provider says of itself (OpenID Connect Discovery 1.0 §3).

use reqwest::Url;
use serde::Deserialize;

use super::issuer::{Issuer, quoted, unfit};
use super::keys::{self, Algorithm};
use super::object::object;
use crate::ProviderError;

/// How Drover proves to the token endpoint who it is (OpenID Connect Core 1.0 §9).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ClientAuthentication {
    /// The secret in the header `Authorization`: `client_secret_basic`.
    Basic,
    /// The secret in the form: `client_secret_post`.
    Post,
}

/// What a provider says of itself, checked.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Metadata {
    /// Where people are sent to sign in.
    pub authorization: Url,
    /// Where a code becomes tokens.
    pub token: Url,
    /// Where its keys are.
    pub jwks: Url,
    /// Where it says more of a person than in an ID token.
    pub userinfo: Option<Url>,
    /// Where people are sent to sign out (OpenID Connect RP-Initiated Logout 1.0).
    pub end_session: Option<Url>,
    /// What it may sign ID tokens with, of what Drover believes.
    pub algorithms: Vec<Algorithm>,
    /// How a client with a secret proves itself; `None` if in no way that Drover knows.
    pub authentication: Option<ClientAuthentication>,
    /// Whether it says that it knows PKCE's S256; many that do say nothing.
    pub says_pkce: bool,
    /// Whether it says that it gives tokens that outlive a session there, for `offline_access`.
    pub offers_offline: bool,
    /// Whether each of its callbacks names it (RFC 9207), which ends mix-ups.
    pub names_itself: bool,
}

/// The document, of which nothing is believed yet.
#[derive(Deserialize)]
struct Document {
    issuer: String,
    authorization_endpoint: Option<String>,
    token_endpoint: Option<String>,
    jwks_uri: Option<String>,
    userinfo_endpoint: Option<String>,
    end_session_endpoint: Option<String>,
    response_types_supported: Option<Vec<String>>,
    id_token_signing_alg_values_supported: Option<Vec<String>>,
    token_endpoint_auth_methods_supported: Option<Vec<String>>,
    code_challenge_methods_supported: Option<Vec<String>>,
    #[serde(default)]
    scopes_supported: Vec<String>,
    #[serde(default)]
    authorization_response_iss_parameter_supported: bool,
}

impl Metadata {
    /// Reads the document that `issuer` publishes.
    ///
    /// `Misconfigured` if it belongs to another issuer or cannot do what Drover needs;
    /// `InvalidResponse` if it is no such document.
    pub fn parse(issuer: &Issuer, document: &[u8]) -> Result<Self, ProviderError> {
        let document: Document = object(document).ok_or_else(|| {
            invalid_response(
                issuer,
                "its discovery document is not JSON with the members of OpenID Connect Discovery",
            )
        })?;
        if document.issuer != issuer.as_str() {
            let name = quoted(&document.issuer);
            return Err(misconfigured(format!(
                "the provider there calls itself {name}: write exactly that, if it is the one"
            )));
        }
        let lacks = |list: &Option<Vec<String>>, wanted: &str| {
            let says = |list: &Vec<String>| !list.iter().any(|has| has == wanted);
            list.as_ref().is_some_and(says)
        };
        if lacks(&document.response_types_supported, "code") {
            return Err(misconfigured(
                "the provider does not offer the response type \"code\", the only one that \
                 Drover uses"
                    .to_owned(),
            ));
        }
        if lacks(&document.code_challenge_methods_supported, "S256") {
            return Err(misconfigured(
                "the provider does not offer PKCE with S256 (RFC 7636): allow it there".to_owned(),
            ));
        }
        let algorithms = algorithms(document.id_token_signing_alg_values_supported.as_deref());
        if algorithms.is_empty() {
            return Err(misconfigured(format!(
                "the provider signs ID tokens with nothing that Drover believes: let it sign with \
                 one of {}",
                keys::names()
            )));
        }
        let optional =
            |name, text: Option<String>| text.map(|text| endpoint(issuer, name, &text)).transpose();
        let required = |name, text: Option<String>| {
            optional(name, text)?.ok_or_else(|| {
                invalid_response(issuer, &format!("its discovery document has no {name}"))
            })
        };
        Ok(Self {
            authorization: required("authorization_endpoint", document.authorization_endpoint)?,
            token: required("token_endpoint", document.token_endpoint)?,
            jwks: required("jwks_uri", document.jwks_uri)?,
            userinfo: optional("userinfo_endpoint", document.userinfo_endpoint)?,
            end_session: optional("end_session_endpoint", document.end_session_endpoint)?,
            algorithms,
            authentication: authentication(
                document.token_endpoint_auth_methods_supported.as_deref(),
            ),
            says_pkce: document.code_challenge_methods_supported.is_some(),
            offers_offline: has_offline(&document.scopes_supported),
            names_itself: document.authorization_response_iss_parameter_supported,
        })
    }
}

/// What both believe; a provider that lists nothing signs with RS256, which each must have.
fn algorithms(listed: Option<&[String]>) -> Vec<Algorithm> {
    match listed {
        None => vec![Algorithm::RS256],
        Some(listed) => {
            let mut known = Vec::new();
            for algorithm in listed.iter().filter_map(|name| keys::algorithm(name)) {
                if !known.contains(&algorithm) {
                    known.push(algorithm);
                }
            }
            known
        }
    }
}

/// `client_secret_basic` is what a provider takes that lists nothing (Discovery §3).
fn authentication(listed: Option<&[String]>) -> Option<ClientAuthentication> {
    let Some(listed) = listed else {
        return Some(ClientAuthentication::Basic);
    };
    let offers = |wanted: &str| listed.iter().any(|method| method == wanted);
    if offers("client_secret_basic") {
        Some(ClientAuthentication::Basic)
    } else if offers("client_secret_post") {
        Some(ClientAuthentication::Post)
    } else {
        None
    }
}

/// Whether a refresh token is among what is offered or asked for (OpenID Connect Core §11).
pub(super) fn has_offline(scopes: &[String]) -> bool {
    scopes.iter().any(|scope| scope == "offline_access")
}

fn endpoint(issuer: &Issuer, name: &str, text: &str) -> Result<Url, ProviderError> {
    let url = Url::parse(text).map_err(|_| {
        invalid_response(
            issuer,
            &format!("its {name} is not a URL: {}", quoted(text)),
        )
    })?;
    match unfit(&url) {
        Some(wrong) => Err(invalid_response(issuer, &format!("its {name} {wrong}"))),
        None => Ok(url),
    }
}

fn misconfigured(problem: String) -> ProviderError {
    ProviderError::Misconfigured {
        field: "oidc.issuer",
        problem,
    }
}

fn invalid_response(issuer: &Issuer, problem: &str) -> ProviderError {
    ProviderError::InvalidResponse {
        provider: issuer.to_string(),
        problem: problem.to_owned(),
    }
}
