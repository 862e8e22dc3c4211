//! A provider's public keys (RFC 7517) and the selection of the key for a signature.

pub use jsonwebtoken::Algorithm;

use jsonwebtoken::DecodingKey;
use jsonwebtoken::jwk::{AlgorithmParameters, EllipticCurve, Jwk, KeyOperations, PublicKeyUse};
use serde::Deserialize;
use serde_json::Value;

use super::object::object;

/// Maximum number of keys in a key set. Providers usually publish two or three.
const MAX_KEYS: usize = 100;

/// Accepted signature algorithms for ID tokens: only asymmetric algorithms.
///
/// The list contains neither `none` nor HMAC algorithms. An attacker could sign an HMAC with a
/// public key (RFC 8725 §2.1 and §3.1). jsonwebtoken does not support ES512. Every provider
/// supports RS256 (OpenID Connect Core §15.1).
const ALGORITHMS: [(Algorithm, &str); 10] = [
    (Algorithm::RS256, "RS256"),
    (Algorithm::RS384, "RS384"),
    (Algorithm::RS512, "RS512"),
    (Algorithm::PS256, "PS256"),
    (Algorithm::PS384, "PS384"),
    (Algorithm::PS512, "PS512"),
    (Algorithm::ES256, "ES256"),
    (Algorithm::ES384, "ES384"),
    (Algorithm::EdDSA, "EdDSA"),
    // Newer name of EdDSA with Ed25519 (RFC 9864 §2.2).
    (Algorithm::EdDSA, "Ed25519"),
];

/// Returns the accepted algorithm with this name (RFC 7518 §3.1).
pub fn algorithm(name: &str) -> Option<Algorithm> {
    let found = ALGORITHMS.iter().find(|(_, known)| *known == name);
    found.map(|(algorithm, _)| *algorithm)
}

/// Returns the names of all accepted algorithms, separated by commas.
pub(super) fn names() -> String {
    ALGORITHMS.map(|(_, name)| name).join(", ")
}

/// Reason why no key of the set can verify a signature.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum NoKey {
    /// The key set has no key with this ID. A newer key set may contain the key.
    Unknown,
    /// The key with this ID cannot verify signatures with this algorithm.
    Unsuitable,
    /// The token has no key ID, and several keys match (OpenID Connect Core §10.1).
    Ambiguous,
}

/// Published keys of a provider.
#[derive(Clone, Debug)]
pub struct KeySet {
    keys: Vec<Key>,
}

#[derive(Clone, Debug)]
struct Key {
    id: Option<String>,
    kind: Kind,
    /// The `alg` member: the only algorithm for this key. `None` allows each algorithm of the key
    /// type.
    only: Option<String>,
    decoding: DecodingKey,
}

/// Key type, which determines the possible algorithms.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Rsa,
    P256,
    P384,
    Ed25519,
}

impl KeySet {
    /// Parses a key set. Returns `None` if the document is not a key set or has more than 100 keys.
    ///
    /// Drops keys that cannot verify ID tokens: unknown types, symmetric keys and encryption keys
    /// (RFC 7517 §5: ignore unknown keys).
    pub fn parse(document: &[u8]) -> Option<Self> {
        #[derive(Deserialize)]
        struct Document {
            keys: Vec<Value>,
        }
        let document: Document = object(document)?;
        if document.keys.len() > MAX_KEYS {
            return None;
        }
        let keys = document.keys.into_iter().filter_map(Key::read).collect();
        Some(Self { keys })
    }

    /// Returns the number of keys that can verify ID tokens.
    pub fn len(&self) -> usize {
        self.keys.len()
    }

    /// Reports whether the set has no key that can verify ID tokens.
    pub fn is_empty(&self) -> bool {
        self.keys.is_empty()
    }

    /// Finds the key for `algorithm` with the key ID `id`.
    pub(super) fn find(
        &self,
        id: Option<&str>,
        algorithm: Algorithm,
    ) -> Result<&DecodingKey, NoKey> {
        let named = |key: &&Key| id.is_none() || key.id.as_deref() == id;
        if !self.keys.iter().any(|key| named(&key)) {
            return Err(NoKey::Unknown);
        }
        let mut fit = self
            .keys
            .iter()
            .filter(named)
            .filter(|key| key.fits(algorithm));
        match (fit.next(), fit.next()) {
            (Some(key), None) => Ok(&key.decoding),
            (Some(_), Some(_)) => Err(NoKey::Ambiguous),
            (None, _) if id.is_none() => Err(NoKey::Unknown),
            (None, _) => Err(NoKey::Unsuitable),
        }
    }
}

impl Key {
    /// Parses one key. Returns `None` if the key cannot verify ID tokens.
    fn read(value: Value) -> Option<Self> {
        // jsonwebtoken does not know the newer algorithm names.
        let only = value.get("alg").map(|name| name.as_str().unwrap_or(""));
        let only = only.map(str::to_owned);
        let jwk: Jwk = serde_json::from_value(value).ok()?;
        let kind = match &jwk.algorithm {
            AlgorithmParameters::RSA(_) => Kind::Rsa,
            AlgorithmParameters::EllipticCurve(key) => match key.curve {
                EllipticCurve::P256 => Kind::P256,
                EllipticCurve::P384 => Kind::P384,
                _ => return None,
            },
            AlgorithmParameters::OctetKeyPair(key) if key.curve == EllipticCurve::Ed25519 => {
                Kind::Ed25519
            }
            _ => return None,
        };
        let signs = match &jwk.common.public_key_use {
            None | Some(PublicKeyUse::Signature) => true,
            Some(_) => false,
        };
        let verifies = match &jwk.common.key_operations {
            None => true,
            Some(operations) => operations.contains(&KeyOperations::Verify),
        };
        let decoding = DecodingKey::from_jwk(&jwk).ok()?;
        (signs && verifies).then(|| Self {
            id: jwk.common.key_id,
            kind,
            only,
            decoding,
        })
    }

    fn fits(&self, algorithm: Algorithm) -> bool {
        let kind = match algorithm {
            Algorithm::RS256
            | Algorithm::RS384
            | Algorithm::RS512
            | Algorithm::PS256
            | Algorithm::PS384
            | Algorithm::PS512 => Kind::Rsa,
            Algorithm::ES256 => Kind::P256,
            Algorithm::ES384 => Kind::P384,
            Algorithm::EdDSA => Kind::Ed25519,
            _ => return false,
        };
        let only = self.only.as_deref();
        self.kind == kind && only.is_none_or(|name| self::algorithm(name) == Some(algorithm))
    }
}
