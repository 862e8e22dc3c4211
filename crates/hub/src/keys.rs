//! The server's keys. The keys sign node plans, authenticate challenges, and encrypt stored data.

use std::fmt;

use aws_lc_rs::aead::{AES_256_GCM, Aad, NONCE_LEN, Nonce, RandomizedNonceKey};
use aws_lc_rs::error::Unspecified;
use aws_lc_rs::hkdf::{HKDF_SHA256, Salt};
use aws_lc_rs::hmac;
use aws_lc_rs::signature::{Ed25519KeyPair, KeyPair as _};
use drover_access::proof::PublicKey;
use k8s_openapi::api::core::v1::Secret;
use kube::Api;
use thiserror::Error;

use super::HubError;
use super::secret::{Data, create_or_read, entry, secret};
use drover_entropy::{NoRandomness, random};

/// The name of the Secret with the Ed25519 keys that sign node plans. Each key has an entry.
///
/// Entry names sort by age, and the last key signs. A key rotation has three steps: add an entry,
/// apply the manifest of every cluster, and remove the previous entry.
pub const PLAN_KEYS: &str = "plan-signing-keys";
/// The name of the Secret with the key that authenticates challenges.
pub const CHALLENGE_KEY: &str = "challenge-key";
/// The name of the entry in [`CHALLENGE_KEY`].
const CHALLENGE_ENTRY: &str = "key";
/// The name of the first entry in [`PLAN_KEYS`]. The names of later entries must sort after this
/// name.
const FIRST_PLAN_ENTRY: &str = "0001.pk8";

/// The server's keys for signatures, challenges and encryption.
pub struct Keys {
    /// The signing keys of node plans, oldest first. The list is never empty.
    plan: Vec<Ed25519KeyPair>,
    challenge: hmac::Key,
    login_state: Seal,
    provider_tokens: Seal,
    /// The secret path segment of the admission webhook, 32 hexadecimal digits.
    webhook_path_segment: String,
}

impl fmt::Debug for Keys {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Keys")
            .field("plan_keys", &self.plan.len())
            .finish_non_exhaustive()
    }
}

/// The error of loading or generating keys.
#[derive(Debug, Error)]
pub enum KeysError {
    /// A call to the hub failed.
    #[error(transparent)]
    Hub(#[from] HubError),
    /// The random generator or the key generation failed.
    #[error("cannot generate a key: the system's random generator failed")]
    Random,
    /// The Secret has no valid key.
    #[error(
        "Secret {secret} on the hub is damaged: {problem}; restore the Secret from a backup, or \
         delete the Secret. After the deletion, the server creates a new Secret, and a new \
         manifest must be applied in every cluster"
    )]
    Damaged {
        /// The name of the Secret.
        secret: &'static str,
        /// The problem with the Secret's content.
        problem: &'static str,
    },
}

impl Keys {
    /// Generates keys in memory, for tests and tools without a hub.
    pub fn generate() -> Result<Self, KeysError> {
        Self::from_secrets(&new_plan_keys()?, &new_challenge_key()?)
    }

    /// Loads the keys from the hub, or creates them.
    pub async fn load(secrets: &Api<Secret>) -> Result<Self, KeysError> {
        let plan = create_or_read(secrets, PLAN_KEYS, new_plan_keys).await?;
        let challenge = create_or_read(secrets, CHALLENGE_KEY, new_challenge_key).await?;
        Self::from_secrets(&plan, &challenge)
    }

    fn from_secrets(plan: &Secret, challenge: &Secret) -> Result<Self, KeysError> {
        let damaged = |secret, problem| KeysError::Damaged { secret, problem };
        let plan: Vec<_> = plan
            .data
            .iter()
            .flatten()
            .map(|(_, pkcs8)| Ed25519KeyPair::from_pkcs8(&pkcs8.0))
            .collect::<Result<_, _>>()
            .map_err(|_| damaged(PLAN_KEYS, "an entry is not a PKCS#8 Ed25519 key"))?;
        if plan.is_empty() {
            return Err(damaged(PLAN_KEYS, "the Secret has no entry"));
        }
        let challenge = entry(challenge, CHALLENGE_ENTRY)
            .filter(|key| key.len() == 32)
            .ok_or_else(|| damaged(CHALLENGE_KEY, "the entry \"key\" is not 32 bytes"))?;
        Ok(Self {
            plan,
            challenge: hmac::Key::new(hmac::HMAC_SHA256, challenge),
            // The purposes are HKDF inputs: a change would invalidate stored data.
            login_state: seal(challenge, "sign-ins that were begun")
                .map_err(|_| KeysError::Random)?,
            provider_tokens: seal(challenge, "what providers gave")
                .map_err(|_| KeysError::Random)?,
            webhook_path_segment: secret_segment(challenge, "where a hub asks the rules")
                .map_err(|_| KeysError::Random)?,
        })
    }

    /// Returns the public keys that a cluster stores to verify plans. The last key is the current
    /// signing key.
    pub fn plan_public_keys(&self) -> Vec<PublicKey> {
        self.plan
            .iter()
            .filter_map(|pair| pair.public_key().as_ref().try_into().ok())
            .map(PublicKey::from_bytes)
            .collect()
    }

    /// Returns the HMAC-SHA-256 key that authenticates challenges.
    pub fn challenge(&self) -> &hmac::Key {
        &self.challenge
    }

    /// Returns the key that encrypts the state of started logins. Browsers store the encrypted
    /// state until the login ends.
    pub fn login_state(&self) -> &Seal {
        &self.login_state
    }

    /// Returns the secret segment of the admission webhook's path.
    pub fn webhook_path_segment(&self) -> &str {
        &self.webhook_path_segment
    }

    /// Returns the key that encrypts the tokens of identity providers. The hub stores the encrypted
    /// tokens.
    pub fn provider_tokens(&self) -> &Seal {
        &self.provider_tokens
    }
}

/// Derives a key for one purpose from the challenge key with HKDF (RFC 5869). The salt cannot equal
/// the input of any challenge.
fn seal(of: &[u8], purpose: &str) -> Result<Seal, Unspecified> {
    let key = derive_key(of, purpose)?;
    Ok(Seal(RandomizedNonceKey::new(&AES_256_GCM, &key)?))
}

fn secret_segment(of: &[u8], purpose: &str) -> Result<String, Unspecified> {
    let key = derive_key(of, purpose)?;
    let half = *key.first_chunk().expect("the key has 32 bytes");
    // The path of a webhook's Service allows only RFC 1123 characters.
    Ok(format!("{:032x}", u128::from_be_bytes(half)))
}

fn derive_key(of: &[u8], purpose: &str) -> Result<[u8; 32], Unspecified> {
    let derived = Salt::new(HKDF_SHA256, b"drover seals").extract(of);
    let mut key = [0; 32];
    let purpose = [purpose.as_bytes()];
    derived.expand(&purpose, HKDF_SHA256)?.fill(&mut key)?;
    Ok(key)
}

/// An AES-256-GCM key. Only the servers of one hub have the key.
pub struct Seal(RandomizedNonceKey);

impl fmt::Debug for Seal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Seal(hidden)")
    }
}

impl Seal {
    /// Encrypts bytes. `of` is the additional authenticated data. [`Self::open`] requires the same
    /// `of`.
    pub fn close(&self, of: &str, plain: &[u8]) -> Result<Vec<u8>, NoRandomness> {
        let mut sealed = plain.to_vec();
        let of = Aad::from(of.as_bytes());
        let nonce = self.0.seal_in_place_append_tag(of, &mut sealed);
        let mut all = nonce.map_err(|_| NoRandomness)?.as_ref().to_vec();
        all.append(&mut sealed);
        Ok(all)
    }

    /// Decrypts bytes. Returns `None` if the bytes are invalid or were encrypted with a different
    /// `of`.
    pub fn open(&self, of: &str, sealed: &[u8]) -> Option<Vec<u8>> {
        let (nonce, sealed) = sealed.split_at_checked(NONCE_LEN)?;
        let nonce = Nonce::try_assume_unique_for_key(nonce).ok()?;
        let mut bytes = sealed.to_vec();
        let plain = self
            .0
            .open_in_place(nonce, Aad::from(of.as_bytes()), &mut bytes);
        plain.ok().map(|plain| plain.to_vec())
    }
}

fn new_plan_keys() -> Result<Secret, KeysError> {
    let pair = Ed25519KeyPair::generate().map_err(|_| KeysError::Random)?;
    let pkcs8 = pair.to_pkcs8().map_err(|_| KeysError::Random)?;
    let data = Data::from([(FIRST_PLAN_ENTRY.to_owned(), pkcs8.as_ref().to_vec())]);
    Ok(secret(PLAN_KEYS, "Opaque", data))
}

fn new_challenge_key() -> Result<Secret, KeysError> {
    let key = random::<32>().map_err(|_| KeysError::Random)?;
    let data = Data::from([(CHALLENGE_ENTRY.to_owned(), key.to_vec())]);
    Ok(secret(CHALLENGE_KEY, "Opaque", data))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn webhook_path_segment_has_only_rfc_1123_characters() {
        let segment = secret_segment(b"of these bytes", "a purpose").unwrap();
        let fits = |b: u8| b.is_ascii_lowercase() || b.is_ascii_digit();
        assert!(
            segment.len() == 32 && segment.bytes().all(fits),
            "{segment}"
        );
    }

    #[test]
    fn keys_loaded_twice_from_secrets_are_equal() {
        let (plan, challenge) = (new_plan_keys().unwrap(), new_challenge_key().unwrap());
        let (one, two) = (
            Keys::from_secrets(&plan, &challenge),
            Keys::from_secrets(&plan, &challenge),
        );
        let (one, two) = (one.unwrap(), two.unwrap());
        assert_eq!(one.plan_public_keys(), two.plan_public_keys());
        assert_eq!(one.plan_public_keys().len(), 1);
        let tag = hmac::sign(one.challenge(), b"x");
        assert!(hmac::verify(two.challenge(), b"x", tag.as_ref()).is_ok());
    }

    #[test]
    fn sealed_data_is_decrypted_only_with_same_key_and_context() {
        let (plan, challenge) = (new_plan_keys().unwrap(), new_challenge_key().unwrap());
        let [one, peer] = [(); 2].map(|()| Keys::from_secrets(&plan, &challenge).unwrap());
        let sealed = one.login_state().close("corp", b"secret").unwrap();
        assert_eq!(peer.login_state().open("corp", &sealed).unwrap(), b"secret");
        assert!(one.login_state().open("other", &sealed).is_none());
        assert!(one.provider_tokens().open("corp", &sealed).is_none());
        let other = Keys::generate().unwrap();
        assert!(other.login_state().open("corp", &sealed).is_none());
        for index in 0..sealed.len() {
            let mut forged = sealed.clone();
            forged[index] ^= 1;
            assert!(one.login_state().open("corp", &forged).is_none(), "{index}");
            assert!(one.login_state().open("corp", &sealed[..index]).is_none());
        }
    }

    #[test]
    fn error_of_damaged_secret_names_the_secret() {
        let good = new_plan_keys().unwrap();
        for damaged in [
            secret(PLAN_KEYS, "Opaque", Data::new()),
            secret(
                PLAN_KEYS,
                "Opaque",
                Data::from([("a".into(), vec![1, 2, 3])]),
            ),
        ] {
            let error = Keys::from_secrets(&damaged, &new_challenge_key().unwrap()).unwrap_err();
            assert!(error.to_string().contains(PLAN_KEYS), "{error}");
        }
        let short = secret(
            CHALLENGE_KEY,
            "Opaque",
            Data::from([("key".into(), vec![0; 16])]),
        );
        let error = Keys::from_secrets(&good, &short).unwrap_err();
        assert!(error.to_string().contains(CHALLENGE_KEY), "{error}");
    }
}
