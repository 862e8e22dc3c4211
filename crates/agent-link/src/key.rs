//! The Ed25519 key of an agent. The key is the agent's long-lived credential, and the replicas of a
//! cluster agent share it.

use std::sync::Arc;

use aws_lc_rs::signature::{Ed25519KeyPair, KeyPair as _};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use drover_access::proof::PublicKey;
use secrecy::{ExposeSecret as _, SecretSlice};
use thiserror::Error;

/// The reason why an agent has no usable key.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum KeyError {
    /// The bytes are not a PKCS#8 Ed25519 key.
    #[error(
        "the stored key is not a PKCS#8 Ed25519 key; delete the Secret drover-agent-key and import the cluster again"
    )]
    Malformed,
    /// The system has no randomness.
    #[error("the system cannot generate a key")]
    Generation,
}

/// An agent's key pair.
pub struct AgentKey {
    pair: Ed25519KeyPair,
    public: PublicKey,
}

impl std::fmt::Debug for AgentKey {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("AgentKey")
            .field("public", &self.public.encode())
            .finish_non_exhaustive()
    }
}

impl AgentKey {
    /// Generates a key in PKCS#8 format (RFC 8410). Store the key before you use it.
    pub fn generate() -> Result<SecretSlice<u8>, KeyError> {
        let pair = Ed25519KeyPair::generate().map_err(|_| KeyError::Generation)?;
        let document = pair.to_pkcs8().map_err(|_| KeyError::Generation)?;
        Ok(SecretSlice::from(document.as_ref().to_vec()))
    }

    /// Parses a stored PKCS#8 key.
    pub fn from_pkcs8(bytes: &SecretSlice<u8>) -> Result<Self, KeyError> {
        let pair =
            Ed25519KeyPair::from_pkcs8(bytes.expose_secret()).map_err(|_| KeyError::Malformed)?;
        let public = pair
            .public_key()
            .as_ref()
            .try_into()
            .map_err(|_| KeyError::Malformed)?;
        Ok(Self {
            public: PublicKey::from_bytes(public),
            pair,
        })
    }

    /// Returns the public key, which the server binds to the Cluster.
    pub fn public(&self) -> &PublicKey {
        &self.public
    }

    /// Signs a message. Returns the signature in base64.
    pub fn sign(&self, message: &[u8]) -> String {
        STANDARD.encode(self.pair.sign(message))
    }
}

/// The stored keys of an agent.
#[derive(Clone, Debug)]
pub struct StoredKeys {
    /// The key for new connections.
    pub current: Arc<AgentKey>,
    /// The keys that the server can have bound instead: first the next key, if the server has
    /// requested one, then the replaced key.
    pub others: Vec<Arc<AgentKey>>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn public_key_verifies_signature_of_stored_key() {
        let stored = AgentKey::generate().unwrap();
        let (one, again) = (
            AgentKey::from_pkcs8(&stored).unwrap(),
            AgentKey::from_pkcs8(&stored).unwrap(),
        );
        assert_eq!(one.public(), again.public());
        assert_eq!(one.public().verify(b"m", &again.sign(b"m")), Ok(()));
    }

    #[test]
    fn malformed_key_is_rejected_and_debug_output_hides_the_key() {
        let damaged = SecretSlice::from(vec![1, 2, 3]);
        assert_eq!(
            AgentKey::from_pkcs8(&damaged).unwrap_err(),
            KeyError::Malformed
        );
        let key = AgentKey::from_pkcs8(&AgentKey::generate().unwrap()).unwrap();
        assert!(!format!("{key:?}").contains("pair"));
    }
}
