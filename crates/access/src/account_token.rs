//! Tokens of the hub's service accounts: JSON Web Tokens (RFC 7519) signed by the hub.
//!
//! The server reads the claims only to reject unsuitable tokens without a request to the hub. The
//! hub verifies the token (TokenReview).

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

/// Maximum length of a token, in bytes. Kubernetes tokens have about 1 KiB.
const LONGEST: usize = 8 * 1024;

/// SHA-256 of a token. Identifies the token without disclosing the token.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct TokenDigest([u8; digest::SHA256_OUTPUT_LEN]);

impl fmt::Debug for TokenDigest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("TokenDigest(hidden)")
    }
}

/// A token whose claims contain the name of a service account. The server has not verified the
/// token's signature.
#[derive(Debug)]
pub struct AccountToken {
    text: SecretString,
    digest: TokenDigest,
    expires_at: Timestamp,
    bound: Vec<BoundObject>,
}

impl AccountToken {
    /// Parses a bearer token. Returns `None` unless the token's claims contain the name of a
    /// service account.
    ///
    /// Tokens that Kubernetes stores in Secrets have no expiry claim.
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

    /// Returns the secret token. Only requests to the hub may contain the result.
    pub fn expose(&self) -> &str {
        self.text.expose_secret()
    }

    /// Returns the digest that identifies the token.
    pub fn digest(&self) -> TokenDigest {
        self.digest
    }

    /// Returns the expiry in the token's claims. The hub rejects the token after that time.
    pub fn expires_at(&self) -> Timestamp {
        self.expires_at
    }

    /// Returns the objects whose deletion invalidates the token. The first object is the service
    /// account. The list is empty if the claims do not contain the account's UID. Use the result
    /// only after the hub has accepted the token.
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
    fn only_service_account_tokens_are_sent_to_hub() {
        let account = r#"{"sub":"system:serviceaccount:apps:puller","exp":1001}"#;
        let good = token(account);
        for (case, text, expected) in [
            ("one with an end", good.clone(), true),
            (
                "a token stored in a Secret",
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
            ("one segment too many", format!("{good}.x"), false),
            (
                "no signature",
                good.trim_end_matches("c2ln").to_owned(),
                false,
            ),
            (
                "a token of Drover",
                "drover_bcdfghjkmnpq_23456789".to_owned(),
                false,
            ),
            (
                "a token without expiry",
                format!("{good}{}", "A".repeat(LONGEST)),
                false,
            ),
            ("nothing", String::new(), false),
        ] {
            assert_eq!(AccountToken::parse(&text).is_some(), expected, "{case}");
        }
    }

    #[test]
    fn token_digest_is_unique_and_debug_output_hides_token() {
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
