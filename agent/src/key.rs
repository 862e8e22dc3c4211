//! The cluster's Ed25519 key: the lasting credential, shared by the agent's replicas.

use aws_lc_rs::signature::{Ed25519KeyPair, KeyPair as _};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use drover_access::proof::PublicKey;
use secrecy::{ExposeSecret as _, SecretSlice};
use thiserror::Error;

/// Why there is no usable key.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum KeyError {
    /// The bytes are no PKCS#8 Ed25519 key.
    #[error(
        "the stored key is not a PKCS#8 Ed25519 key; delete the Secret drover-agent-key and import the cluster again"
    )]
    Malformed,
    /// The system gave no randomness.
    #[error("the system could not make a key")]
    Generation,
}

/// A cluster's key pair.
pub struct ClusterKey {
    pair: Ed25519KeyPair,
    public: PublicKey,
}

impl std::fmt::Debug for ClusterKey {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("ClusterKey")
            .field("public", &self.public.encode())
            .finish_non_exhaustive()
    }
}

impl ClusterKey {
    /// Makes a fresh key, as PKCS#8 (RFC 8410) to be stored before it is used.
    pub fn generate() -> Result<SecretSlice<u8>, KeyError> {
        let pair = Ed25519KeyPair::generate().map_err(|_| KeyError::Generation)?;
        let document = pair.to_pkcs8().map_err(|_| KeyError::Generation)?;
        Ok(SecretSlice::from(document.as_ref().to_vec()))
    }

    /// Reads a stored key.
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

    /// The half that the server binds to the Cluster.
    pub fn public(&self) -> &PublicKey {
        &self.public
    }

    /// A signature, as base64.
    pub fn sign(&self, message: &[u8]) -> String {
        STANDARD.encode(self.pair.sign(message))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_stored_key_signs_what_its_public_half_verifies() {
        let stored = ClusterKey::generate().unwrap();
        let (one, again) = (
            ClusterKey::from_pkcs8(&stored).unwrap(),
            ClusterKey::from_pkcs8(&stored).unwrap(),
        );
        assert_eq!(one.public(), again.public());
        assert_eq!(one.public().verify(b"m", &again.sign(b"m")), Ok(()));
    }

    #[test]
    fn a_damaged_key_is_refused_and_none_is_shown() {
        let damaged = SecretSlice::from(vec![1, 2, 3]);
        assert_eq!(
            ClusterKey::from_pkcs8(&damaged).unwrap_err(),
            KeyError::Malformed
        );
        let key = ClusterKey::from_pkcs8(&ClusterKey::generate().unwrap()).unwrap();
        assert!(!format!("{key:?}").contains("pair"));
    }
}
