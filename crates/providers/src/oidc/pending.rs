//! State of an OpenID Connect sign-in in progress, and the parsing of its callback.

use std::fmt;

use jiff::Timestamp;
use reqwest::Url;
use secrecy::SecretString;
use serde::{Deserialize, Serialize};
use thiserror::Error;

use crate::code_flow::{self, exposed, random, unique_parameters};

/// Maximum length of a callback query, in bytes.
const MAX_QUERY_BYTES: usize = 16 * 1024;

/// State of an OpenID Connect sign-in in progress.
///
/// The serialized form contains the secrets. The server encrypts this form, and stores the
/// encrypted form in the browser. The `Debug` output contains no secrets.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Pending {
    /// Issuer at which the sign-in started. Responses of other issuers are rejected.
    issuer: String,
    /// The `nonce` claim that the ID token must repeat (OpenID Connect Core 1.0 §3.1.2.1).
    #[serde(with = "exposed")]
    pub(super) nonce: SecretString,
    #[serde(flatten)]
    pub(super) flow: code_flow::Pending,
}

impl Pending {
    /// Starts a sign-in with three new secrets of 256 bits: state, nonce and verifier.
    pub(super) fn begin(issuer: &str, redirect_uri: &Url, now: Timestamp) -> Self {
        Self {
            issuer: issuer.to_owned(),
            nonce: random(),
            flow: code_flow::Pending::begin(redirect_uri.as_str(), now),
        }
    }

    /// Reports whether the callback query carries the state of this sign-in. An attacker cannot
    /// guess the state.
    pub fn matches_state(&self, query: &str) -> bool {
        self.flow.matches_state(query)
    }
}

/// A validated callback.
pub enum Callback {
    /// The authorization code to exchange for tokens.
    Code(SecretString),
    /// The provider's error code. Usually a code of RFC 6749 §4.1.2.1, but any text is possible.
    Error(String),
}

impl fmt::Debug for Callback {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Code(_) => f.write_str("Code(hidden)"),
            Self::Error(error) => f.debug_tuple("Error").field(error).finish(),
        }
    }
}

/// Reason why a callback is rejected.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum CallbackError {
    /// The sign-in started at a different provider.
    #[error("the sign-in started at a different provider: sign in again")]
    OtherProvider,
    /// The sign-in started more than 10 minutes ago.
    #[error("the sign-in took more than 10 minutes: sign in again")]
    Expired,
    /// The query is too long, or a parameter is missing or duplicated.
    #[error("the callback query is malformed: sign in again")]
    Malformed,
    /// The `state` parameter does not match. This check prevents login CSRF.
    #[error("the state of the callback does not match this sign-in: sign in again")]
    State,
    /// The `iss` parameter is missing or is a different issuer. This check prevents mix-up attacks
    /// (RFC 9207).
    #[error("the issuer of the callback is not the configured issuer: sign in again")]
    Issuer,
}

impl Callback {
    /// Parses and validates the callback query for the sign-in `pending` at `issuer`.
    ///
    /// `sends_iss` is true if the provider declares that each response contains `iss` (RFC 9207
    /// §2.4). Error responses are validated like success responses. Otherwise, a different site
    /// could abort a user's sign-in.
    pub fn read(
        query: &str,
        pending: &Pending,
        issuer: &str,
        sends_iss: bool,
        now: Timestamp,
    ) -> Result<Self, CallbackError> {
        if pending.issuer != issuer {
            return Err(CallbackError::OtherProvider);
        }
        if !pending.flow.is_current(now) {
            return Err(CallbackError::Expired);
        }
        if query.len() > MAX_QUERY_BYTES {
            return Err(CallbackError::Malformed);
        }
        let [state, iss, code, error] = unique_parameters(query, ["state", "iss", "code", "error"])
            .ok_or(CallbackError::Malformed)?;
        if !state.is_some_and(|state| pending.flow.is_state(&state)) {
            return Err(CallbackError::State);
        }
        if iss.map_or(sends_iss, |iss| iss != issuer) {
            return Err(CallbackError::Issuer);
        }
        match (code, error) {
            (Some(code), None) if !code.is_empty() => Ok(Self::Code(code.into())),
            (None, Some(error)) => Ok(Self::Error(error)),
            _ => Err(CallbackError::Malformed),
        }
    }
}
