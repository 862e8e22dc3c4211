//! A sign-in that was begun, and what the browser brings back of it.

use std::fmt;

use jiff::Timestamp;
use reqwest::Url;
use secrecy::SecretString;
use serde::{Deserialize, Serialize};
use thiserror::Error;

use crate::code_flow::{self, exposed, once, random};

/// Longest query of a callback, in bytes.
const LONGEST_QUERY: usize = 16 * 1024;

/// A sign-in that was begun.
///
/// It serialises with its secrets, so that the server can seal it and give it to the browser; its
/// `Debug` shows none.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Pending {
    /// At whom it was begun; nobody else's answer is for it.
    issuer: String,
    /// What the ID token must repeat (OpenID Connect Core 1.0 §3.1.2.1).
    #[serde(with = "exposed")]
    pub(super) nonce: SecretString,
    #[serde(flatten)]
    pub(super) flow: code_flow::Pending,
}

impl Pending {
    /// Begins one with three secrets of 256 bits.
    pub(super) fn begin(issuer: &str, redirect_uri: &Url, now: Timestamp) -> Self {
        Self {
            issuer: issuer.to_owned(),
            nonce: random(),
            flow: code_flow::Pending::begin(redirect_uri.as_str(), now),
        }
    }

    /// Whether what the browser brought belongs to this sign-in: a stranger cannot forge that.
    pub fn matches_state(&self, query: &str) -> bool {
        self.flow.matches_state(query)
    }
}

/// What the browser brought back.
pub enum Callback {
    /// A code, for tokens.
    Code(SecretString),
    /// The provider signed nobody in; what it says is one of the words of RFC 6749 §4.1.2.1, or
    /// anything else.
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

/// Why what the browser brought back is not used.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum CallbackError {
    /// It was begun at another provider.
    #[error("the sign-in was begun at another provider: sign in again")]
    OtherProvider,
    /// Too long ago.
    #[error("the sign-in took more than 10 minutes: sign in again")]
    Late,
    /// Longer than any, or with a parameter twice.
    #[error("the answer that the browser brought is malformed: sign in again")]
    Malformed,
    /// `state` is not what was sent: somebody may have made the browser come with their own code.
    #[error("the answer that the browser brought belongs to another sign-in: sign in again")]
    State,
    /// `iss` is missing or another's: two providers may have been mixed up (RFC 9207).
    #[error("the answer that the browser brought is another issuer's: sign in again")]
    Issuer,
}

impl Callback {
    /// Reads the query of a callback that ends `pending` at `issuer`.
    ///
    /// `names_itself` is whether the provider says that it always sends `iss` (RFC 9207 §2.4). All
    /// of it holds for errors too, so that nobody can end another's sign-in.
    pub fn read(
        query: &str,
        pending: &Pending,
        issuer: &str,
        names_itself: bool,
        now: Timestamp,
    ) -> Result<Self, CallbackError> {
        if pending.issuer != issuer {
            return Err(CallbackError::OtherProvider);
        }
        if !pending.flow.is_current(now) {
            return Err(CallbackError::Late);
        }
        if query.len() > LONGEST_QUERY {
            return Err(CallbackError::Malformed);
        }
        let [state, iss, code, error] =
            once(query, ["state", "iss", "code", "error"]).ok_or(CallbackError::Malformed)?;
        if !state.is_some_and(|state| pending.flow.is_state(&state)) {
            return Err(CallbackError::State);
        }
        if iss.map_or(names_itself, |iss| iss != issuer) {
            return Err(CallbackError::Issuer);
        }
        match (code, error) {
            (Some(code), None) if !code.is_empty() => Ok(Self::Code(code.into())),
            (None, Some(error)) => Ok(Self::Error(error)),
            _ => Err(CallbackError::Malformed),
        }
    }
}
