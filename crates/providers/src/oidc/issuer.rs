//! The address by which a provider names itself.

use std::fmt;

use reqwest::Url;

use crate::ProviderError;

/// Longest issuer, as the schema of AuthProvider has it.
const LONGEST: usize = 2048;
/// Longest part of a provider's words that an error repeats, in characters.
const LONGEST_QUOTE: usize = 120;

/// The address by which a provider names itself: `https`, and nothing that could hide a secret.
///
/// It is compared byte for byte (OpenID Connect Discovery 1.0 §4.3), so its text is kept as it was
/// written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Issuer {
    text: String,
    discovery: Url,
}

impl Issuer {
    /// Reads `oidc.issuer`; `Misconfigured` unless it can be an issuer (Discovery §2 and §3).
    pub fn parse(text: &str) -> Result<Self, ProviderError> {
        let problem = |problem: &str| ProviderError::Misconfigured {
            field: "oidc.issuer",
            problem: problem.to_owned(),
        };
        if text.len() > LONGEST {
            return Err(problem("has more than 2048 bytes"));
        }
        let url = Url::parse(text).map_err(|_| {
            problem("is not a URL; write it as the provider does, such as https://id.example.com")
        })?;
        if let Some(wrong) = unfit(&url) {
            return Err(problem(wrong));
        }
        if url.query().is_some() {
            return Err(problem("must have no query: remove everything from ? on"));
        }
        // "Any terminating / MUST be removed before appending" (Discovery §4.1).
        let base = text.trim_end_matches('/');
        let discovery = Url::parse(&format!("{base}/.well-known/openid-configuration"))
            .map_err(|_| problem("is not a URL that a path can be appended to"))?;
        Ok(Self {
            text: text.to_owned(),
            discovery,
        })
    }

    /// As it was written.
    pub fn as_str(&self) -> &str {
        &self.text
    }

    /// Where the provider describes itself (Discovery §4).
    pub fn discovery(&self) -> &Url {
        &self.discovery
    }
}

impl fmt::Display for Issuer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

/// What forbids to send anything to this address, if something does.
pub(super) fn unfit(url: &Url) -> Option<&'static str> {
    if url.scheme() != "https" {
        Some("must begin with https://: whoever can change its answers can be anybody")
    } else if !url.username().is_empty() || url.password().is_some() {
        Some("must hold no name and no password")
    } else if url.fragment().is_some() {
        Some("must have no fragment: remove everything from # on")
    } else {
        None
    }
}

/// A provider's words in an error: cut, and with nothing in them that a terminal or a log obeys.
pub(super) fn quoted(text: &str) -> String {
    let start: String = text.chars().take(LONGEST_QUOTE).collect();
    let rest = if start.len() < text.len() { "…" } else { "" };
    format!("{start:?}{rest}")
}
