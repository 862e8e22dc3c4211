//! A provider's public keys (RFC 7517), and which of them may have signed something.

pub use jsonwebtoken::Algorithm;

use jsonwebtoken::DecodingKey;
use jsonwebtoken::jwk::{AlgorithmParameters, EllipticCurve, Jwk, KeyOperations, PublicKeyUse};
use serde::Deserialize;
use serde_json::Value;

use super::object::object;

/// Most keys that are kept; a provider has two or three.
const MOST_KEYS: usize = 100;

/// What ID tokens may be signed with: what needs a private key to sign and a public one to check.
///
/// Never `none`, and never an HMAC, whose key would be one that everybody can read (RFC 8725 §2.1
/// and §3.1). ES512 is not in jsonwebtoken; every provider has RS256 (OpenID Connect Core §15.1).
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
    // The newer name of the same (RFC 9864 §2.2).
    (Algorithm::EdDSA, "Ed25519"),
];

/// The algorithm of this name (RFC 7518 §3.1), if it is one that is believed.
pub fn algorithm(name: &str) -> Option<Algorithm> {
    let found = ALGORITHMS.iter().find(|(_, known)| *known == name);
    found.map(|(algorithm, _)| *algorithm)
}

/// The names of all that are believed.
pub(super) fn names() -> String {
    ALGORITHMS.map(|(_, name)| name).join(", ")
}

/// Why no key is to be used.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum NoKey {
    /// None has this id; a newer set could hold it.
    Unknown,
    /// One has this id, and is for something else.
    Unfit,
    /// The token names none, and more than one would do (OpenID Connect Core §10.1).
    Ambiguous,
}

/// What a provider signs with, as it published it.
#[derive(Clone, Debug)]
pub struct KeySet {
    keys: Vec<Key>,
}

#[derive(Clone, Debug)]
struct Key {
    id: Option<String>,
    kind: Kind,
    /// The only algorithm that it is for, if it says one.
    only: Option<String>,
    decoding: DecodingKey,
}

/// What a key is, which decides what it can have signed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Rsa,
    P256,
    P384,
    Ed25519,
}

impl KeySet {
    /// Reads a set; `None` if it is none, or has more than 100 keys.
    ///
    /// Keys that cannot sign an ID token are left out: others' kinds, secrets, and those that are
    /// for encryption (RFC 7517 §5: what is not understood is ignored).
    pub fn parse(document: &[u8]) -> Option<Self> {
        #[derive(Deserialize)]
        struct Document {
            keys: Vec<Value>,
        }
        let document: Document = object(document)?;
        if document.keys.len() > MOST_KEYS {
            return None;
        }
        let keys = document.keys.into_iter().filter_map(Key::read).collect();
        Some(Self { keys })
    }

    /// How many keys can have signed an ID token.
    pub fn len(&self) -> usize {
        self.keys.len()
    }

    /// Whether nothing that the provider signs could be believed.
    pub fn is_empty(&self) -> bool {
        self.keys.is_empty()
    }

    /// The key that signed with `algorithm` and calls itself `id`.
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
            (None, _) => Err(NoKey::Unfit),
        }
    }
}

impl Key {
    /// `None` if it cannot have signed an ID token.
    fn read(value: Value) -> Option<Self> {
        // The library does not know the newer names.
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
