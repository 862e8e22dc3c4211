//! The discovery document of a provider (OpenID Connect Discovery 1.0 §3).

use reqwest::Url;
use serde::Deserialize;

use super::issuer::{Issuer, quoted, url_problem};
use super::keys::{self, Algorithm};
use super::object::object;
use crate::ProviderError;

/// Client authentication method at the token endpoint (OpenID Connect Core 1.0 §9).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ClientAuthentication {
    /// `client_secret_basic`: the secret in the `Authorization` header.
    Basic,
    /// `client_secret_post`: the secret in the form body.
    Post,
}

/// Validated provider metadata.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Metadata {
    /// Authorization endpoint, to which browsers are redirected.
    pub authorization: Url,
    /// Token endpoint.
    pub token: Url,
    /// URL of the JSON Web Key Set.
    pub jwks: Url,
    /// Userinfo endpoint, which may return claims that the ID token omits.
    pub userinfo: Option<Url>,
    /// Logout endpoint for browsers (OpenID Connect RP-Initiated Logout 1.0).
    pub end_session: Option<Url>,
    /// Signature algorithms for ID tokens that both the provider and Drover support.
    pub algorithms: Vec<Algorithm>,
    /// Authentication method for a client with a secret. `None` if Drover supports none of the
    /// provider's methods.
    pub authentication: Option<ClientAuthentication>,
    /// True if the provider advertises PKCE with S256. Many providers support PKCE but do not
    /// advertise PKCE.
    pub advertises_pkce: bool,
    /// True if the provider advertises the scope `offline_access` for refresh tokens.
    pub advertises_offline_access: bool,
    /// True if each callback contains `iss`, the issuer. This parameter prevents mix-up attacks
    /// (RFC 9207).
    pub sends_iss: bool,
}

/// The unvalidated document.
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
    /// Parses and validates the document of `issuer`.
    ///
    /// Returns `Misconfigured` if the document belongs to a different issuer or lacks a required
    /// capability. Returns `InvalidResponse` if the document is not a discovery document.
    pub fn parse(issuer: &Issuer, document: &[u8]) -> Result<Self, ProviderError> {
        let document: Document = object(document).ok_or_else(|| {
            invalid_response(
                issuer,
                "the discovery document is not JSON with the members of OpenID Connect Discovery",
            )
        })?;
        if document.issuer != issuer.as_str() {
            let name = quoted(&document.issuer);
            return Err(misconfigured(format!(
                "the discovery document names the issuer {name}: enter exactly this value if it is the correct provider"
            )));
        }
        let lacks = |list: &Option<Vec<String>>, wanted: &str| {
            let says = |list: &Vec<String>| !list.iter().any(|has| has == wanted);
            list.as_ref().is_some_and(says)
        };
        if lacks(&document.response_types_supported, "code") {
            return Err(misconfigured(
                "the provider does not support the response type \"code\", which Drover requires"
                    .to_owned(),
            ));
        }
        if lacks(&document.code_challenge_methods_supported, "S256") {
            return Err(misconfigured(
                "the provider does not support PKCE with S256 (RFC 7636): enable it at the provider".to_owned(),
            ));
        }
        let algorithms = algorithms(document.id_token_signing_alg_values_supported.as_deref());
        if algorithms.is_empty() {
            return Err(misconfigured(format!(
                "the provider supports no signature algorithm for ID tokens that Drover accepts: \
                 enable one of {}",
                keys::names()
            )));
        }
        let optional =
            |name, text: Option<String>| text.map(|text| endpoint(issuer, name, &text)).transpose();
        let required = |name, text: Option<String>| {
            optional(name, text)?.ok_or_else(|| {
                invalid_response(issuer, &format!("the discovery document has no {name}"))
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
            advertises_pkce: document.code_challenge_methods_supported.is_some(),
            advertises_offline_access: has_offline(&document.scopes_supported),
            sends_iss: document.authorization_response_iss_parameter_supported,
        })
    }
}

/// Returns the algorithms that both the provider and Drover support. If the provider publishes no
/// list, the algorithm is RS256, which each provider must support.
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

/// Selects the client authentication method. If the provider publishes no list, the method is
/// `client_secret_basic` (Discovery §3).
fn authentication(listed: Option<&[String]>) -> Option<ClientAuthentication> {
    let Some(listed) = listed else {
        return Some(ClientAuthentication::Basic);
    };
    let offers = |required: &str| listed.iter().any(|method| method == required);
    if offers("client_secret_basic") {
        Some(ClientAuthentication::Basic)
    } else if offers("client_secret_post") {
        Some(ClientAuthentication::Post)
    } else {
        None
    }
}

/// Reports whether a list of scopes contains `offline_access` (OpenID Connect Core §11).
pub(super) fn has_offline(scopes: &[String]) -> bool {
    scopes.iter().any(|scope| scope == "offline_access")
}

fn endpoint(issuer: &Issuer, name: &str, text: &str) -> Result<Url, ProviderError> {
    let url = Url::parse(text)
        .map_err(|_| invalid_response(issuer, &format!("{name} is not a URL: {}", quoted(text))))?;
    match url_problem(&url) {
        Some(wrong) => Err(invalid_response(issuer, &format!("{name} {wrong}"))),
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
