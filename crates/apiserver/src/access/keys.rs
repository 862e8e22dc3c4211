//! Keys that sign tokens of service accounts: ECDSA with P-256 (`ES256`).

use std::fmt;

use aws_lc_rs::digest::{SHA256, digest};
use aws_lc_rs::error::{KeyRejected, Unspecified};
use aws_lc_rs::signature::{ECDSA_P256_SHA256_FIXED_SIGNING, EcdsaKeyPair, KeyPair};
use base64::Engine;
use base64::engine::general_purpose::{STANDARD, URL_SAFE_NO_PAD};
use jiff::Timestamp;
use jsonwebtoken::{DecodingKey, EncodingKey};
use secrecy::{ExposeSecret, SecretString};
use serde::Deserialize;
use serde_json::{Value, json};

/// The first bytes of the DER encoding of every P-256 `SubjectPublicKeyInfo` (RFC 5480). The bytes
/// of the curve point follow.
const SPKI_PREFIX: [u8; 26] = [
    0x30, 0x59, 0x30, 0x13, 0x06, 0x07, 0x2a, 0x86, 0x48, 0xce, 0x3d, 0x02, 0x01, 0x06, 0x08, 0x2a,
    0x86, 0x48, 0xce, 0x3d, 0x03, 0x01, 0x07, 0x03, 0x42, 0x00,
];
/// The length of an uncompressed point (`04`, x, y), in bytes.
const POINT_BYTES: usize = 65;

/// A signing key, and previous signing keys that still verify tokens.
pub struct Keys {
    signing: EncodingKey,
    /// The PKCS#8 document of the signing key, in base64. Only [`Keys::to_stored`] uses the
    /// document.
    pkcs8: SecretString,
    current: PublicKey,
    /// Time at which the signing key was created.
    since: Timestamp,
    previous: Vec<Retired>,
}

/// A public key that verifies tokens.
#[derive(Clone)]
pub(crate) struct PublicKey {
    id: String,
    point: Vec<u8>,
    decoding: DecodingKey,
}

#[derive(Clone)]
struct Retired {
    key: PublicKey,
    since: Timestamp,
}

/// The reason why [`Keys::from_stored`] cannot parse stored keys.
#[derive(Debug, thiserror::Error)]
pub enum LoadKeysError {
    /// The text is not the JSON of [`Keys::to_stored`]. The error contains only the position,
    /// because the text may be a private key.
    #[error("cannot parse stored signing keys: malformed JSON at line {line}, column {column}")]
    Format {
        /// The line of the error, starting at 1.
        line: usize,
        /// The column of the error, starting at 1.
        column: usize,
    },
    /// A field is not base64.
    #[error("cannot parse a stored signing key: not base64")]
    Encoding(#[source] base64::DecodeError),
    /// A key is not a P-256 private key.
    #[error("cannot parse the stored signing key: not an ECDSA P-256 key in PKCS#8")]
    Private(#[source] KeyRejected),
    /// A key is not a P-256 public key.
    #[error("cannot parse a stored verification key: not a point on P-256")]
    Public,
}

/// The system's random number generator failed.
#[derive(Debug, thiserror::Error)]
#[error("cannot generate a signing key: the system's random number generator failed")]
pub struct GenerateKeyError(#[source] Unspecified);

#[derive(Deserialize)]
struct StoredKeys {
    current: String,
    #[serde(default)]
    since: Timestamp,
    #[serde(default)]
    previous: Vec<StoredPrevious>,
}

#[derive(Deserialize)]
struct StoredPrevious {
    public: String,
    since: Timestamp,
}

impl fmt::Debug for Keys {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let previous: Vec<&str> = self.previous.iter().map(|old| old.key.id()).collect();
        f.debug_struct("Keys")
            .field("current", &self.current.id)
            .field("previous", &previous)
            .finish_non_exhaustive()
    }
}

impl PublicKey {
    fn new(point: &[u8]) -> Self {
        let mut spki = SPKI_PREFIX.to_vec();
        spki.extend_from_slice(point);
        Self {
            // kube-apiserver computes the same key ID for the same key.
            id: URL_SAFE_NO_PAD.encode(digest(&SHA256, &spki)),
            point: point.to_vec(),
            decoding: DecodingKey::from_ec_der(point),
        }
    }

    pub(crate) fn id(&self) -> &str {
        &self.id
    }

    pub(crate) fn decoding(&self) -> &DecodingKey {
        &self.decoding
    }

    fn jwk(&self) -> Value {
        let (x, y) = self.point.split_at(1).1.split_at((POINT_BYTES - 1) / 2);
        json!({
            "use": "sig", "kty": "EC", "kid": self.id, "crv": "P-256", "alg": "ES256",
            "x": URL_SAFE_NO_PAD.encode(x), "y": URL_SAFE_NO_PAD.encode(y),
        })
    }
}

impl Keys {
    /// Creates keys with a new signing key and no previous keys.
    pub fn generate() -> Result<Self, GenerateKeyError> {
        Self::generate_at(Timestamp::now())
    }

    fn generate_at(now: Timestamp) -> Result<Self, GenerateKeyError> {
        let pair =
            EcdsaKeyPair::generate(&ECDSA_P256_SHA256_FIXED_SIGNING).map_err(GenerateKeyError)?;
        let pkcs8 = pair.to_pkcs8v1().map_err(GenerateKeyError)?;
        Ok(Self::of(&pair, pkcs8.as_ref(), now, Vec::new()))
    }

    fn of(pair: &EcdsaKeyPair, pkcs8: &[u8], since: Timestamp, previous: Vec<Retired>) -> Self {
        Self {
            signing: EncodingKey::from_ec_der(pkcs8),
            pkcs8: STANDARD.encode(pkcs8).into(),
            current: PublicKey::new(pair.public_key().as_ref()),
            since,
            previous,
        }
    }

    /// Adds a new signing key. The previous signing keys still verify tokens.
    pub fn rotate(&self, now: Timestamp) -> Result<Self, GenerateKeyError> {
        let mut next = Self::generate_at(now)?;
        next.previous.push(Retired {
            key: self.current.clone(),
            since: now,
        });
        next.previous.extend(self.previous.iter().cloned());
        Ok(next)
    }

    /// Replaces the signing key if it is older than `rotate_after` seconds. Replaced keys still
    /// verify tokens for `keep` seconds. Returns `None` if the keys do not change.
    pub fn renewed(
        &self,
        now: Timestamp,
        rotate_after: i64,
        keep: i64,
    ) -> Result<Option<Self>, GenerateKeyError> {
        if now.as_second().saturating_sub(self.since.as_second()) < rotate_after {
            return Ok(None);
        }
        let oldest = Timestamp::from_second(now.as_second().saturating_sub(keep));
        let next = self.rotate(now)?;
        Ok(Some(match oldest {
            Ok(oldest) => next.remove_retired_before(oldest),
            Err(_) => next,
        }))
    }

    /// Removes keys that were replaced before `moment`. Tokens of the removed keys are no longer
    /// valid. If the maximum token lifetime has passed since `moment`, all of these tokens have
    /// already expired.
    #[must_use]
    pub fn remove_retired_before(mut self, moment: Timestamp) -> Self {
        self.previous.retain(|old| old.since >= moment);
        self
    }

    /// Parses the result of [`Keys::to_stored`].
    pub fn from_stored(stored: &SecretString) -> Result<Self, LoadKeysError> {
        let stored: StoredKeys = serde_json::from_str(stored.expose_secret()).map_err(|error| {
            LoadKeysError::Format {
                line: error.line(),
                column: error.column(),
            }
        })?;
        let pkcs8 = STANDARD
            .decode(&stored.current)
            .map_err(LoadKeysError::Encoding)?;
        let pair = EcdsaKeyPair::from_pkcs8(&ECDSA_P256_SHA256_FIXED_SIGNING, &pkcs8)
            .map_err(LoadKeysError::Private)?;
        let previous = stored.previous.iter().map(Retired::parse);
        let previous = previous.collect::<Result<_, _>>()?;
        Ok(Self::of(&pair, &pkcs8, stored.since, previous))
    }

    /// Serializes the keys to JSON for storage. The JSON contains private keys, which can sign a
    /// token for any service account.
    pub fn to_stored(&self) -> SecretString {
        let previous: Vec<Value> = self.previous.iter().map(Retired::stored).collect();
        let since = self.since.to_string();
        json!({ "current": self.pkcs8.expose_secret(), "since": since, "previous": previous })
            .to_string()
            .into()
    }

    /// Returns the ID of the signing key, for the header `kid`.
    pub fn id(&self) -> &str {
        self.current.id()
    }

    pub(crate) fn signing(&self) -> &EncodingKey {
        &self.signing
    }

    /// Returns the keys with the ID `id`. Returns all keys if the token has no `kid`.
    pub(crate) fn verifying<'a>(
        &'a self,
        id: Option<&'a str>,
    ) -> impl Iterator<Item = &'a PublicKey> {
        std::iter::once(&self.current)
            .chain(self.previous.iter().map(|old| &old.key))
            .filter(move |key| id.is_none_or(|id| key.id == id))
    }

    /// Returns the JSON Web Key Set for `/openid/v1/jwks` (RFC 7517).
    pub fn jwks(&self) -> Value {
        let keys: Vec<Value> = self.verifying(None).map(PublicKey::jwk).collect();
        json!({ "keys": keys })
    }
}

impl Retired {
    fn parse(stored: &StoredPrevious) -> Result<Self, LoadKeysError> {
        let point = STANDARD
            .decode(&stored.public)
            .map_err(LoadKeysError::Encoding)?;
        if point.len() != POINT_BYTES || point.first() != Some(&4) {
            return Err(LoadKeysError::Public);
        }
        Ok(Self {
            key: PublicKey::new(&point),
            since: stored.since,
        })
    }

    fn stored(&self) -> Value {
        json!({ "public": STANDARD.encode(&self.key.point), "since": self.since.to_string() })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ids(keys: &Keys) -> Vec<&str> {
        keys.verifying(None).map(PublicKey::id).collect()
    }

    #[test]
    fn signing_keys_round_trip_through_storage() {
        let keys = Keys::generate()
            .unwrap()
            .rotate(Timestamp::UNIX_EPOCH)
            .unwrap();
        let read = Keys::from_stored(&keys.to_stored()).unwrap();
        assert_eq!(ids(&read), ids(&keys));
        assert_eq!(
            read.to_stored().expose_secret(),
            keys.to_stored().expose_secret()
        );
        assert_eq!(read.jwks(), keys.jwks());
    }

    #[test]
    fn rotated_signing_key_is_retained_until_its_last_token_expires() {
        let first = Keys::generate().unwrap();
        let second = first.rotate(Timestamp::UNIX_EPOCH).unwrap();
        assert_ne!(first.id(), second.id());
        assert!(ids(&second).contains(&first.id()));
        let later = Timestamp::from_second(1).unwrap();
        let third = second.remove_retired_before(later);
        assert_eq!(ids(&third), [third.id()]);
    }

    #[test]
    fn old_signing_keys_are_rotated_and_later_removed() {
        let day = 24 * 60 * 60;
        let at = |second: i64| Timestamp::from_second(second).unwrap();
        let first = Keys::generate_at(at(0)).unwrap();
        assert!(
            first
                .renewed(at(90 * day - 1), 90 * day, day)
                .unwrap()
                .is_none()
        );
        let second = first.renewed(at(90 * day), 90 * day, day).unwrap().unwrap();
        assert_eq!(ids(&second), [second.id(), first.id()]);
        let stored = Keys::from_stored(&second.to_stored()).unwrap();
        assert!(
            stored
                .renewed(at(91 * day), 90 * day, day)
                .unwrap()
                .is_none()
        );
        let third = stored
            .renewed(at(180 * day), 90 * day, day)
            .unwrap()
            .unwrap();
        assert_eq!(ids(&third), [third.id(), second.id()]);
    }

    #[test]
    fn debug_output_and_errors_do_not_contain_private_keys() {
        let keys = Keys::generate().unwrap();
        let secret = keys.pkcs8.expose_secret().to_owned();
        assert!(!format!("{keys:?}").contains(&secret));
        let broken = format!(r#"{{"current":"{secret}!"}}"#);
        let error = Keys::from_stored(&broken.into()).unwrap_err();
        assert!(!format!("{error:?} {error}").contains(&secret));
    }

    #[test]
    fn malformed_stored_signing_keys_are_rejected_with_the_reason() {
        let load = |text: &str| Keys::from_stored(&text.to_owned().into()).unwrap_err();
        assert!(matches!(load("{"), LoadKeysError::Format { .. }));
        assert!(matches!(
            load(r#"{"current":"-"}"#),
            LoadKeysError::Encoding(_)
        ));
        assert!(matches!(
            load(r#"{"current":"AAAA"}"#),
            LoadKeysError::Private(_)
        ));
    }
}
