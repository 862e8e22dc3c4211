//! A sign-in that was begun, and what the browser brings back of it.

use std::fmt;

use aws_lc_rs::{digest, rand};
use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use jiff::{SignedDuration, Timestamp};
use reqwest::Url;
use secrecy::{ExposeSecret as _, SecretString};
use serde::{Deserialize, Serialize};
use thiserror::Error;

use super::id_token::same;

/// How long somebody may take to sign in at the provider.
const LONGEST: SignedDuration = SignedDuration::from_mins(10);
/// How far this server's clock may be behind that of the one that began.
const LEEWAY: SignedDuration = SignedDuration::from_mins(1);
/// Longest query of a callback, in bytes.
const LONGEST_QUERY: usize = 16 * 1024;

/// A sign-in that was begun.
///
/// It serialises with its secrets, so that the server can seal it and give it to the browser; its
/// `Debug` shows none.
#[derive(Clone, Serialize, Deserialize)]
pub struct Pending {
    /// At whom it was begun; nobody else's answer is for it.
    pub(super) issuer: String,
    #[serde(with = "exposed")]
    pub(super) state: SecretString,
    #[serde(with = "exposed")]
    pub(super) nonce: SecretString,
    #[serde(with = "exposed")]
    pub(super) verifier: SecretString,
    pub(super) redirect_uri: String,
    pub(super) issued_at: Timestamp,
}

impl fmt::Debug for Pending {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Pending")
            .field("issuer", &self.issuer)
            .field("redirect_uri", &self.redirect_uri)
            .field("issued_at", &self.issued_at)
            .finish_non_exhaustive()
    }
}

impl Pending {
    /// Begins one with three secrets of 256 bits; `None` if the system gives no randomness.
    pub(super) fn begin(issuer: &str, redirect_uri: &Url, now: Timestamp) -> Option<Self> {
        Some(Self {
            issuer: issuer.to_owned(),
            state: secret()?,
            nonce: secret()?,
            verifier: secret()?,
            redirect_uri: redirect_uri.as_str().to_owned(),
            issued_at: now,
        })
    }

    /// What the provider compares the verifier with: S256 (RFC 7636 §4.2).
    pub(super) fn challenge(&self) -> String {
        let verifier = self.verifier.expose_secret().as_bytes();
        URL_SAFE_NO_PAD.encode(digest::digest(&digest::SHA256, verifier))
    }

    /// Whether it may still end.
    fn is_current(&self, now: Timestamp) -> bool {
        let age = now.duration_since(self.issued_at);
        (-LEEWAY..=LONGEST).contains(&age)
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
        if !pending.is_current(now) {
            return Err(CallbackError::Late);
        }
        if query.len() > LONGEST_QUERY {
            return Err(CallbackError::Malformed);
        }
        let [state, iss, code, error] = once(query, ["state", "iss", "code", "error"])?;
        let wanted = pending.state.expose_secret();
        if !state.is_some_and(|state| same(&state, wanted)) {
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

/// The values of these parameters; none may be there twice (RFC 6749 §3.1).
fn once<const N: usize>(
    query: &str,
    names: [&str; N],
) -> Result<[Option<String>; N], CallbackError> {
    let mut values = names.map(|_| None);
    for (name, value) in url::form_urlencoded::parse(query.as_bytes()) {
        let Some(place) = names.iter().position(|known| *known == name) else {
            continue;
        };
        if values[place].replace(value.into_owned()).is_some() {
            return Err(CallbackError::Malformed);
        }
    }
    Ok(values)
}

/// 256 bits in 43 characters, which a PKCE verifier needs at least (RFC 7636 §4.1).
fn secret() -> Option<SecretString> {
    let mut bytes = [0; 32];
    rand::fill(&mut bytes).ok()?;
    Some(URL_SAFE_NO_PAD.encode(bytes).into())
}

/// Secrets of what is sealed as a whole.
mod exposed {
    use secrecy::{ExposeSecret as _, SecretString};
    use serde::{Deserialize as _, Deserializer, Serializer};

    pub(super) fn serialize<S: Serializer>(
        secret: &SecretString,
        serializer: S,
    ) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(secret.expose_secret())
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(
        deserializer: D,
    ) -> Result<SecretString, D::Error> {
        String::deserialize(deserializer).map(SecretString::from)
    }
}
