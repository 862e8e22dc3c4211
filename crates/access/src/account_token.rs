//! Tokens of the hub's service accounts, as presented: JSON Web Tokens (RFC 7519) signed by the hub.
//!
//! What one says of itself is read here only to leave out what the hub need not be asked about.
//! Whether it is true is the hub's to say (TokenReview).

use std::fmt;

use aws_lc_rs::digest;
use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use jiff::Timestamp;
use secrecy::{ExposeSecret as _, SecretString};
use serde_json::Value;

use crate::names::AccountName;

mod bound;

pub use bound::{BoundKind, BoundObject};

/// Longest token that is read, in bytes; those of Kubernetes have about 1 KiB.
const LONGEST: usize = 8 * 1024;

/// Tells one token from every other and gives nothing of it away: its SHA-256.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct TokenDigest([u8; digest::SHA256_OUTPUT_LEN]);

impl fmt::Debug for TokenDigest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("TokenDigest(hidden)")
    }
}

/// What calls itself the token of a service account.
#[derive(Debug)]
pub struct AccountToken {
    text: SecretString,
    digest: TokenDigest,
    expires_at: Timestamp,
    bound: Vec<BoundObject>,
}

impl AccountToken {
    /// Reads a bearer token; `None` unless it says that it is a service account's.
    ///
    /// Those that Kubernetes once put into Secrets say nothing of an end.
    pub fn parse(text: &str) -> Option<Self> {
        if text.len() > LONGEST {
            return None;
        }
        let mut parts = text.split('.');
        let (header, claims) = (parts.next()?, parts.next()?);
        let signature = parts.next().filter(|_| parts.next().is_none())?;
        if header.is_empty() || signature.is_empty() {
            return None;
        }
        let claims = URL_SAFE_NO_PAD.decode(claims).ok()?;
        let claims: Value = serde_json::from_slice(&claims).ok()?;
        AccountName::parse(claims.get("sub")?.as_str()?)?;
        let expires_at = match claims.get("exp") {
            None => Timestamp::MAX,
            Some(end) => Timestamp::from_second(end.as_i64()?).ok()?,
        };
        let hash = digest::digest(&digest::SHA256, text.as_bytes());
        let digest = TokenDigest(hash.as_ref().try_into().ok()?);
        Some(Self {
            text: SecretString::from(text),
            digest,
            expires_at,
            bound: bound::objects(&claims),
        })
    }

    /// The token, for the hub's eyes only.
    pub fn expose(&self) -> &str {
        self.text.expose_secret()
    }

    /// Tells it from every other.
    pub fn digest(&self) -> TokenDigest {
        self.digest
    }

    /// When it ends by its own word; no hub takes it longer.
    pub fn expires_at(&self) -> Timestamp {
        self.expires_at
    }

    /// The objects whose deletion ends the token, the service account first; empty if the claims do
    /// not name the account's UID. Believe them only after the hub accepted the token.
    pub fn bound_objects(&self) -> &[BoundObject] {
        &self.bound
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn token(claims: &str) -> String {
        let encode = |text: &str| URL_SAFE_NO_PAD.encode(text);
        format!("{}.{}.c2ln", encode(r#"{"alg":"RS256"}"#), encode(claims))
    }

    #[test]
    fn only_what_calls_itself_a_service_account_is_shown_to_the_hub() {
        let account = r#"{"sub":"system:serviceaccount:apps:puller","exp":1001}"#;
        let good = token(account);
        for (what, text, wanted) in [
            ("one with an end", good.clone(), true),
            (
                "one out of a Secret",
                token(r#"{"sub":"system:serviceaccount:apps:puller"}"#),
                true,
            ),
            (
                "one with an end that is no time",
                token(r#"{"sub":"system:serviceaccount:apps:puller","exp":"soon"}"#),
                false,
            ),
            (
                "somebody else's",
                token(r#"{"sub":"ann","exp":1001}"#),
                false,
            ),
            ("nobody's", token("{}"), false),
            ("no object", token("7"), false),
            ("a part too many", format!("{good}.x"), false),
            (
                "no signature",
                good.trim_end_matches("c2ln").to_owned(),
                false,
            ),
            (
                "one of Drover's",
                "drover_bcdfghjkmnpq_23456789".to_owned(),
                false,
            ),
            (
                "an endless one",
                format!("{good}{}", "A".repeat(LONGEST)),
                false,
            ),
            ("nothing", String::new(), false),
        ] {
            assert_eq!(AccountToken::parse(&text).is_some(), wanted, "{what}");
        }
    }

    #[test]
    fn a_token_is_told_from_every_other_and_not_shown() {
        let claims = r#"{"sub":"system:serviceaccount:apps:puller"}"#;
        let read = |text: &str| AccountToken::parse(text).unwrap();
        let (one, other) = (token(claims), format!("{}x", token(claims)));
        assert_eq!(read(&one).digest(), read(&one).digest());
        assert_eq!(read(&one).expires_at(), Timestamp::MAX);
        assert_ne!(read(&one).digest(), read(&other).digest());
        let shown = format!("{:?}", read(&one));
        assert!(!shown.contains("c2ln"), "{shown}");
    }
}
