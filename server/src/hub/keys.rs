//! The server's own keys: what plans are signed with, and what challenges are made with.

use std::fmt;

use aws_lc_rs::hmac;
use aws_lc_rs::rand::{SecureRandom as _, SystemRandom};
use aws_lc_rs::signature::{Ed25519KeyPair, KeyPair as _};
use drover_access::proof::PublicKey;
use k8s_openapi::api::core::v1::Secret;
use kube::Api;
use thiserror::Error;

use super::HubError;
use super::secret::{Data, create_or_read, entry, secret};

/// Secret of the keys that sign plans for clusters' nodes; one entry a key.
///
/// Names of entries sort by age, and the last signs. To rotate: add an entry, wait until every
/// cluster's manifest has been applied again, remove the old one.
pub const PLAN_KEYS: &str = "plan-signing-keys";
/// Secret of the key that challenges are authenticated with.
pub const CHALLENGE_KEY: &str = "challenge-key";
/// Name of the one entry of [`CHALLENGE_KEY`].
const CHALLENGE_ENTRY: &str = "key";
/// Name of the first entry of [`PLAN_KEYS`]; later ones must sort behind it.
const FIRST_PLAN_ENTRY: &str = "0001.pk8";

/// The server's own keys.
pub struct Keys {
    /// Oldest first, never empty.
    plan: Vec<Ed25519KeyPair>,
    challenge: hmac::Key,
}

impl fmt::Debug for Keys {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Keys")
            .field("plan_keys", &self.plan.len())
            .finish_non_exhaustive()
    }
}

/// Why the server's keys could not be had.
#[derive(Debug, Error)]
pub enum KeysError {
    /// The hub failed.
    #[error(transparent)]
    Hub(#[from] HubError),
    /// The system gave no randomness, or refused to make a key.
    #[error("the system's random generator failed")]
    Random,
    /// A Secret does not hold what it should.
    #[error(
        "Secret {secret} on the hub is damaged: {problem}; restore it from a backup, or delete it \
         to have a new one made (agents must then be given a new manifest)"
    )]
    Damaged {
        /// Its name.
        secret: &'static str,
        /// What is wrong with it.
        problem: &'static str,
    },
}

impl Keys {
    /// Fresh keys that nobody else has, for tests and tools without a hub.
    pub fn generate() -> Result<Self, KeysError> {
        Self::from_secrets(&new_plan_keys()?, &new_challenge_key()?)
    }

    /// The keys of this hub, made if they are not there yet.
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
            return Err(damaged(PLAN_KEYS, "it has no entry"));
        }
        let challenge = entry(challenge, CHALLENGE_ENTRY)
            .filter(|key| key.len() == 32)
            .ok_or_else(|| damaged(CHALLENGE_KEY, "the entry \"key\" is not 32 bytes"))?;
        Ok(Self {
            plan,
            challenge: hmac::Key::new(hmac::HMAC_SHA256, challenge),
        })
    }

    /// The keys that a cluster pins to verify plans with, the one in use last.
    pub fn plan_public_keys(&self) -> Vec<PublicKey> {
        self.plan
            .iter()
            .filter_map(|pair| pair.public_key().as_ref().try_into().ok())
            .map(PublicKey::from_bytes)
            .collect()
    }

    /// The HMAC-SHA-256 key that challenges are authenticated with.
    pub fn challenge(&self) -> &hmac::Key {
        &self.challenge
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

/// The system gave no randomness.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[error("the system's random generator failed")]
pub struct NoRandomness;

/// Fresh random bytes.
pub fn random<const N: usize>() -> Result<[u8; N], NoRandomness> {
    let mut bytes = [0; N];
    SystemRandom::new()
        .fill(&mut bytes)
        .map_err(|_| NoRandomness)?;
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_survive_the_way_through_their_secrets() {
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
    fn a_damaged_secret_is_named_with_the_way_out() {
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
