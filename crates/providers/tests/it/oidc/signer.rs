//! Creates signing keys and ID tokens for test issuers. The signing code does not use Drover's
//! verifying code.

use std::sync::LazyLock;

use aws_lc_rs::rand::SystemRandom;
use aws_lc_rs::signature::Ed25519KeyPair;
use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use drover_providers::oidc::keys::{Algorithm, KeySet};
use jsonwebtoken::jwk::Jwk;
use jsonwebtoken::{EncodingKey, Header};
use rcgen::{KeyPair, SignatureAlgorithm};
use serde_json::{Value, json};

use super::{CLIENT, NOW};

/// A signing key with its ID.
pub(super) struct Signer {
    pub(super) id: &'static str,
    pub(super) algorithm: Algorithm,
    key: EncodingKey,
}

impl Signer {
    /// Creates a key. All tests share one RSA key, because creating RSA keys is slow.
    pub(super) fn new(id: &'static str, algorithm: Algorithm) -> Self {
        let pem = |kind: &'static SignatureAlgorithm| {
            KeyPair::generate_for(kind).unwrap().serialize_pem()
        };
        let key = match algorithm {
            Algorithm::ES256 => {
                EncodingKey::from_ec_pem(pem(&rcgen::PKCS_ECDSA_P256_SHA256).as_bytes())
            }
            Algorithm::ES384 => {
                EncodingKey::from_ec_pem(pem(&rcgen::PKCS_ECDSA_P384_SHA384).as_bytes())
            }
            Algorithm::EdDSA => {
                // jsonwebtoken derives the public key only from this form.
                let key = Ed25519KeyPair::generate_pkcs8v1(&SystemRandom::new()).unwrap();
                Ok(EncodingKey::from_ed_der(key.as_ref()))
            }
            _ => EncodingKey::from_rsa_pem(RSA.as_bytes()),
        };
        Self {
            id,
            algorithm,
            key: key.unwrap(),
        }
    }

    /// Returns the public key as a JWK.
    pub(super) fn published(&self) -> Value {
        let jwk = Jwk::from_encoding_key(&self.key, self.algorithm).unwrap();
        let mut jwk = serde_json::to_value(jwk).unwrap();
        jwk["kid"] = self.id.into();
        jwk["use"] = "sig".into();
        jwk
    }

    /// Signs claims with the default header.
    pub(super) fn sign(&self, claims: &Value) -> String {
        let header = json!({"alg": format!("{:?}", self.algorithm), "kid": self.id});
        self.sign_with(&header, claims)
    }

    /// Signs claims with the JWT header `header`.
    pub(super) fn sign_with(&self, header: &Value, claims: &Value) -> String {
        let message = format!("{}.{}", encoded(header), encoded(claims));
        let signature = jsonwebtoken::crypto::sign(message.as_bytes(), &self.key, self.algorithm);
        format!("{message}.{}", signature.unwrap())
    }
}

static RSA: LazyLock<String> = LazyLock::new(|| {
    let key = KeyPair::generate_for(&rcgen::PKCS_RSA_SHA256).unwrap();
    key.serialize_pem()
});

/// Creates a token with an HMAC signature. `key` is the HMAC key.
pub(super) fn hmac(header: &Value, claims: &Value, key: &[u8]) -> String {
    let message = format!("{}.{}", encoded(header), encoded(claims));
    let key = EncodingKey::from_secret(key);
    let algorithm = Header::default().alg;
    let signature = jsonwebtoken::crypto::sign(message.as_bytes(), &key, algorithm).unwrap();
    format!("{message}.{signature}")
}

pub(super) fn encoded(part: &Value) -> String {
    URL_SAFE_NO_PAD.encode(part.to_string())
}

pub(super) fn document(keys: &[Value]) -> Value {
    json!({ "keys": keys })
}

pub(super) fn set(keys: &[Value]) -> KeySet {
    KeySet::parse(document(keys).to_string().as_bytes()).unwrap()
}

/// Returns the claims of a valid ID token.
pub(super) fn claims(issuer: &str, nonce: &str) -> Value {
    json!({
        "iss": issuer, "sub": "ann-1", "aud": CLIENT, "nonce": nonce,
        "iat": NOW, "exp": NOW + 300,
        "preferred_username": "ann", "name": "Ann", "email": "ann@example.com",
        "groups": ["team-a"],
    })
}
