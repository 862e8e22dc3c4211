//! The server's own keys: what plans are signed with, what challenges are made with, and what is
//! sealed with.

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
    login_state: Seal,
    provider_tokens: Seal,
    /// Base64, safe in a path.
    webhook_path_segment: String,
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
            login_state: seal(challenge, "sign-ins that were begun")
                .map_err(|_| KeysError::Random)?,
            provider_tokens: seal(challenge, "what providers gave")
                .map_err(|_| KeysError::Random)?,
            webhook_path_segment: secret_segment(challenge, "where a hub asks the rules")
                .map_err(|_| KeysError::Random)?,
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

    /// Seals sign-ins that were begun, which browsers keep until they end.
    pub fn login_state(&self) -> &Seal {
        &self.login_state
    }

    /// The part of a path that only the hub is told, which asks there about writes.
    pub fn webhook_path_segment(&self) -> &str {
        &self.webhook_path_segment
    }

    /// Seals what identity providers gave for asking them again, which lies on the hub.
    pub fn provider_tokens(&self) -> &Seal {
        &self.provider_tokens
    }
}

/// A key for one purpose, drawn from the one that challenges are made with: HKDF (RFC 5869), whose
/// first step has another key than any challenge.
fn seal(of: &[u8], purpose: &str) -> Result<Seal, Unspecified> {
    let key = drawn_key(of, purpose)?;
    Ok(Seal(RandomizedNonceKey::new(&AES_256_GCM, &key)?))
}

fn secret_segment(of: &[u8], purpose: &str) -> Result<String, Unspecified> {
    let key = drawn_key(of, purpose)?;
    let half = key.first_chunk().copied().unwrap_or_default();
    // A hub takes names of its own form only in the path of a Service (RFC 1123).
    Ok(format!("{:032x}", u128::from_be_bytes(half)))
}

fn drawn_key(of: &[u8], purpose: &str) -> Result<[u8; 32], Unspecified> {
    let drawn = Salt::new(HKDF_SHA256, b"drover seals").extract(of);
    let mut key = [0; 32];
    let purpose = [purpose.as_bytes()];
    drawn.expand(&purpose, HKDF_SHA256)?.fill(&mut key)?;
    Ok(key)
}

/// What only this server and its peers on the same hub can read or make: AES-256-GCM.
pub struct Seal(RandomizedNonceKey);

impl fmt::Debug for Seal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Seal(hidden)")
    }
}

impl Seal {
    /// Seals bytes; `of` is what they belong to, and they open for nothing else.
    pub fn close(&self, of: &str, plain: &[u8]) -> Result<Vec<u8>, NoRandomness> {
        let mut sealed = plain.to_vec();
        let of = Aad::from(of.as_bytes());
        let nonce = self.0.seal_in_place_append_tag(of, &mut sealed);
        let mut all = nonce.map_err(|_| NoRandomness)?.as_ref().to_vec();
        all.append(&mut sealed);
        Ok(all)
    }

    /// What was sealed for `of`; `None` if this was not.
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
    fn a_hub_takes_the_secret_part_of_the_path_also_for_a_service() {
        let segment = secret_segment(b"of these bytes", "a purpose").unwrap();
        let fits = |b: u8| b.is_ascii_lowercase() || b.is_ascii_digit();
        assert!(
            segment.len() == 32 && segment.bytes().all(fits),
            "{segment}"
        );
    }

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
    fn what_is_sealed_opens_for_what_it_belongs_to_and_with_the_same_key_only() {
        let (plan, challenge) = (new_plan_keys().unwrap(), new_challenge_key().unwrap());
        let [one, peer] = [(); 2].map(|()| Keys::from_secrets(&plan, &challenge).unwrap());
        let sealed = one.login_state().close("corp", b"secret").unwrap();
        assert_eq!(peer.login_state().open("corp", &sealed).unwrap(), b"secret");
        assert!(one.login_state().open("other", &sealed).is_none());
        assert!(one.provider_tokens().open("corp", &sealed).is_none());
        let stranger = Keys::generate().unwrap();
        assert!(stranger.login_state().open("corp", &sealed).is_none());
        for place in 0..sealed.len() {
            let mut forged = sealed.clone();
            forged[place] ^= 1;
            assert!(one.login_state().open("corp", &forged).is_none(), "{place}");
            assert!(one.login_state().open("corp", &sealed[..place]).is_none());
        }
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
