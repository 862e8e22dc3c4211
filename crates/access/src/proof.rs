//! Messages that an agent signs with its cluster's Ed25519 key (RFC 8032), and their verification.
//!
//! Each message starts with its purpose, and each field of the message has a length prefix. A
//! signature is therefore valid only for one purpose and for one cluster.

use aws_lc_rs::signature::{ED25519, UnparsedPublicKey};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use drover_api::ids::ClusterUid;
use thiserror::Error;

/// Reasons to reject an agent's signature.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum ProofError {
    /// The key is not the base64 of 32 bytes.
    #[error("publicKey must be the base64 of a 32-byte Ed25519 key")]
    BadKey,
    /// The signature is not base64.
    #[error("signature must be base64")]
    BadEncoding,
    /// The signature does not match the key and the message.
    #[error("the signature does not match the public key and the message")]
    Mismatch,
}

/// The public key of a cluster.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PublicKey([u8; 32]);

impl PublicKey {
    /// Creates a key from raw bytes.
    pub const fn from_bytes(bytes: [u8; 32]) -> Self {
        Self(bytes)
    }

    /// Parses a public key in base64.
    pub fn parse(text: &str) -> Result<Self, ProofError> {
        let bytes = STANDARD.decode(text).map_err(|_| ProofError::BadKey)?;
        bytes.try_into().map(Self).map_err(|_| ProofError::BadKey)
    }

    /// Returns the key in base64, as Cluster objects and tunnel messages contain the key.
    pub fn encode(&self) -> String {
        STANDARD.encode(self.0)
    }

    /// Verifies a base64 signature of a message.
    pub fn verify(&self, message: &[u8], signature: &str) -> Result<(), ProofError> {
        let signature = STANDARD
            .decode(signature)
            .map_err(|_| ProofError::BadEncoding)?;
        UnparsedPublicKey::new(&ED25519, &self.0)
            .verify(message, &signature)
            .map_err(|_| ProofError::Mismatch)
    }
}

/// Returns the message that an agent signs to register its key with a token.
pub fn register_message(cluster: &ClusterUid, key: &PublicKey, token_id: &str) -> Vec<u8> {
    message(
        "drover-register-v1",
        &[cluster.as_str().as_bytes(), &key.0, token_id.as_bytes()],
    )
}

/// Returns the message that an agent signs to connect. Contains the Cluster's UID, the nonce of the
/// challenge, and the name of the replica.
pub fn connect_message(cluster: &ClusterUid, nonce: &str, replica: &str) -> Vec<u8> {
    message(
        "drover-connect-v1",
        &[
            cluster.as_str().as_bytes(),
            nonce.as_bytes(),
            replica.as_bytes(),
        ],
    )
}

/// Returns the message that a cluster agent signs to obtain a token for the hub's Kubernetes API. Contains
/// the Cluster's UID and the nonce of the challenge.
pub fn hub_token_message(cluster: &ClusterUid, nonce: &str) -> Vec<u8> {
    message(
        "drover-hub-token-v1",
        &[cluster.as_str().as_bytes(), nonce.as_bytes()],
    )
}

/// Returns the message that a node agent signs to bind its key to its node.
pub fn node_register_message(cluster: &ClusterUid, key: &PublicKey) -> Vec<u8> {
    message(
        "drover-node-register-v1",
        &[cluster.as_str().as_bytes(), &key.0],
    )
}

/// Returns the message that a node agent signs to connect. Contains the Cluster's UID, the nonce of the
/// challenge, the name of the replica, and the name of the node.
pub fn node_connect_message(
    cluster: &ClusterUid,
    nonce: &str,
    replica: &str,
    node: &str,
) -> Vec<u8> {
    message(
        "drover-node-connect-v1",
        &[
            cluster.as_str().as_bytes(),
            nonce.as_bytes(),
            replica.as_bytes(),
            node.as_bytes(),
        ],
    )
}

/// Returns the message that an agent signs with its new key. Contains the key that authenticated the
/// tunnel, so that the signature is valid only for the replacement of this key.
pub fn next_key_message(cluster: &ClusterUid, current: &PublicKey, next: &PublicKey) -> Vec<u8> {
    message(
        "drover-next-key-v1",
        &[cluster.as_str().as_bytes(), &current.0, &next.0],
    )
}

fn message(purpose: &str, parts: &[&[u8]]) -> Vec<u8> {
    let mut out = Vec::with_capacity(128);
    for part in std::iter::once(purpose.as_bytes()).chain(parts.iter().copied()) {
        out.extend_from_slice(&(part.len() as u64).to_be_bytes());
        out.extend_from_slice(part);
    }
    out
}

#[cfg(test)]
mod tests {
    use aws_lc_rs::signature::{Ed25519KeyPair, KeyPair as _};

    use super::*;

    fn key(seed: u8) -> (Ed25519KeyPair, PublicKey) {
        let pair = Ed25519KeyPair::from_seed_unchecked(&[seed; 32]).unwrap();
        let public = PublicKey::from_bytes(pair.public_key().as_ref().try_into().unwrap());
        (pair, public)
    }

    #[test]
    fn key_proof_is_invalid_for_different_key_or_cluster_or_purpose() {
        let (pair, public) = key(1);
        let (_, other) = key(2);
        let (a, b) = (ClusterUid::new("a"), ClusterUid::new("b"));
        let signed = connect_message(&a, "nonce", "pod-0");
        let signature = STANDARD.encode(pair.sign(&signed));
        assert_eq!(public.verify(&signed, &signature), Ok(()));
        assert_eq!(other.verify(&signed, &signature), Err(ProofError::Mismatch));
        for message in [
            connect_message(&b, "nonce", "pod-0"),
            connect_message(&a, "nonce2", "pod-0"),
            connect_message(&a, "noncep", "od-0"),
            register_message(&a, &public, "nonce"),
            next_key_message(&a, &other, &public),
            hub_token_message(&a, "nonce"),
        ] {
            assert_eq!(
                public.verify(&message, &signature),
                Err(ProofError::Mismatch)
            );
        }
        assert_eq!(public.verify(&signed, "%"), Err(ProofError::BadEncoding));
    }

    #[test]
    fn agent_public_keys_round_trip_and_malformed_keys_are_rejected() {
        let (_, public) = key(3);
        assert_eq!(PublicKey::parse(&public.encode()), Ok(public));
        for bad in ["", "AAAA", "not base64", &STANDARD.encode([0; 33])] {
            assert_eq!(PublicKey::parse(bad), Err(ProofError::BadKey), "{bad:?}");
        }
    }
}
