//! The issuer URL of a provider.

use std::fmt;

use reqwest::Url;

use crate::ProviderError;

/// Maximum length of the issuer in bytes, equal to the limit in the schema of AuthProvider.
const MAX_BYTES: usize = 2048;
/// Maximum number of characters that an error message quotes from a provider's response.
const MAX_QUOTED_CHARS: usize = 120;

/// The issuer URL of a provider: `https`, without user info, query or fragment.
///
/// Issuers are compared byte for byte (OpenID Connect Discovery 1.0 §4.3), so this type stores the
/// original text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Issuer {
    text: String,
    discovery: Url,
}

impl Issuer {
    /// Parses `oidc.issuer`. Returns `Misconfigured` unless the text is a valid issuer (Discovery
    /// §2 and §3).
    pub fn parse(text: &str) -> Result<Self, ProviderError> {
        let problem = |problem: &str| ProviderError::Misconfigured {
            field: "oidc.issuer",
            problem: problem.to_owned(),
        };
        if text.len() > MAX_BYTES {
            return Err(problem("is longer than 2048 bytes"));
        }
        let url = Url::parse(text).map_err(|_| {
            problem("is not a URL; copy it from the provider, such as https://id.example.com")
        })?;
        if let Some(wrong) = url_problem(&url) {
            return Err(problem(wrong));
        }
        if url.query().is_some() {
            return Err(problem(
                "must not contain a query: remove the text from ? on",
            ));
        }
        // "Any terminating / MUST be removed before appending" (Discovery §4.1).
        let base = text.trim_end_matches('/');
        let discovery = Url::parse(&format!("{base}/.well-known/openid-configuration"))
            .map_err(|_| problem("is not a URL that accepts a path"))?;
        Ok(Self {
            text: text.to_owned(),
            discovery,
        })
    }

    /// Returns the issuer exactly as configured.
    pub fn as_str(&self) -> &str {
        &self.text
    }

    /// Returns the URL of the discovery document (Discovery §4).
    pub fn discovery(&self) -> &Url {
        &self.discovery
    }
}

impl fmt::Display for Issuer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

/// Returns the reason why Drover does not send requests to this URL. Returns `None` if the URL is
/// allowed.
pub(super) fn url_problem(url: &Url) -> Option<&'static str> {
    if url.scheme() != "https" {
        Some("must begin with https://")
    } else if !url.username().is_empty() || url.password().is_some() {
        Some("must not contain a user name or a password")
    } else if url.fragment().is_some() {
        Some("must not contain a fragment: remove the text from # on")
    } else {
        None
    }
}

/// Quotes a provider's text for an error message: truncated, with control characters escaped.
pub(super) fn quoted(text: &str) -> String {
    let start: String = text.chars().take(MAX_QUOTED_CHARS).collect();
    let rest = if start.len() < text.len() { "…" } else { "" };
    format!("{start:?}{rest}")
}
