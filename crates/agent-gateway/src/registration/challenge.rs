//! Challenges: values that an agent signs to connect. An agent can use each challenge once, within
//! one minute.
//!
//! The server does not store issued challenges. A challenge contains its time, and a MAC over the
//! time, the Cluster and the ID of the server process. After a restart, the server rejects all
//! challenges from before the restart. The server stores a challenge only after an agent has signed
//! the challenge with the correct key, and removes the challenge when it expires. The number of
//! stored challenges per Cluster is limited. Therefore unauthenticated clients cannot fill the
//! memory, and the agents of one Cluster cannot block the agents of other Clusters.

use std::collections::{BTreeSet, HashMap, HashSet};

use aws_lc_rs::hmac;
use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use drover_api::ids::ClusterUid;
use jiff::{SignedDuration, Timestamp};
use parking_lot::Mutex;
use thiserror::Error;
use uuid::Uuid;

use drover_entropy::{NoRandomness, random};

/// Time after which a challenge expires.
const LIFETIME: SignedDuration = SignedDuration::from_secs(60);
/// Maximum number of stored used challenges per Cluster. Agents connect far less often within a
/// minute.
const MAX_USED: usize = 512;
const TIME: usize = 8;
const RANDOM: usize = 16;
const MAC: usize = 32;

/// The reason why the server rejects a challenge's nonce.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum ChallengeError {
    /// A different server process issued the challenge, or the challenge is for a different
    /// Cluster.
    #[error("this server did not issue the challenge for this Cluster: request a new challenge")]
    Foreign,
    /// The challenge has expired.
    #[error("the challenge is older than a minute: request a new challenge")]
    Stale,
    /// The challenge was used before.
    #[error("the challenge was already used: request a new challenge")]
    Replayed,
    /// The agents of the Cluster connect too often: the limit of stored challenges is reached.
    #[error("the agents of this cluster connected too often: try again in two minutes")]
    Full,
}

/// A challenge that this server issued and that has not expired. An agent may already have used the
/// challenge.
#[derive(Debug)]
pub struct ValidNonce {
    cluster: ClusterUid,
    made_at: Timestamp,
    value: [u8; RANDOM],
}

/// The issuer of challenges. Stores the used challenges until they expire.
#[derive(Debug)]
pub struct Challenges {
    /// Random ID that the server generates at each start.
    start: Uuid,
    used: Mutex<Used>,
}

impl Default for Challenges {
    fn default() -> Self {
        Self {
            start: Uuid::new_v4(),
            used: Mutex::default(),
        }
    }
}

#[derive(Debug, Default)]
struct Used {
    values: HashMap<ClusterUid, HashSet<[u8; RANDOM]>>,
    by_age: BTreeSet<(Timestamp, [u8; RANDOM], ClusterUid)>,
}

impl Challenges {
    /// Issues a challenge for a Cluster.
    pub fn issue(
        &self,
        key: &hmac::Key,
        cluster: &ClusterUid,
        now: Timestamp,
    ) -> Result<String, NoRandomness> {
        let value: [u8; RANDOM] = random()?;
        let mut bytes = Vec::with_capacity(TIME + RANDOM + MAC);
        bytes.extend_from_slice(&now.as_millisecond().to_be_bytes());
        bytes.extend_from_slice(&value);
        let tag = hmac::sign(key, &self.authenticated(cluster, &bytes));
        bytes.extend_from_slice(tag.as_ref());
        Ok(URL_SAFE_NO_PAD.encode(bytes))
    }

    /// Checks the origin, the Cluster and the age of a challenge. Does not check whether the
    /// challenge was used before.
    pub fn check(
        &self,
        key: &hmac::Key,
        cluster: &ClusterUid,
        nonce: &str,
        now: Timestamp,
    ) -> Result<ValidNonce, ChallengeError> {
        let bytes = URL_SAFE_NO_PAD
            .decode(nonce)
            .map_err(|_| ChallengeError::Foreign)?;
        let (signed, tag) = bytes
            .split_at_checked(TIME + RANDOM)
            .ok_or(ChallengeError::Foreign)?;
        hmac::verify(key, &self.authenticated(cluster, signed), tag)
            .map_err(|_| ChallengeError::Foreign)?;
        let (time, value) = signed.split_at(TIME);
        let foreign = |_| ChallengeError::Foreign;
        let millisecond = i64::from_be_bytes(time.try_into().map_err(foreign)?);
        let made_at =
            Timestamp::from_millisecond(millisecond).map_err(|_| ChallengeError::Foreign)?;
        let age = now.duration_since(made_at);
        // The clock may have been set back since the server issued the challenge.
        if age > LIFETIME || age < -LIFETIME {
            return Err(ChallengeError::Stale);
        }
        Ok(ValidNonce {
            cluster: cluster.clone(),
            made_at,
            value: value.try_into().map_err(foreign)?,
        })
    }

    /// Marks a challenge as used. Call this method after the verification of the signature.
    pub fn spend(&self, genuine: &ValidNonce, now: Timestamp) -> Result<(), ChallengeError> {
        let mut used = self.used.lock();
        used.forget_before(now - LIFETIME * 2);
        let values = used.values.entry(genuine.cluster.clone()).or_default();
        if values.contains(&genuine.value) {
            return Err(ChallengeError::Replayed);
        }
        if values.len() >= MAX_USED {
            return Err(ChallengeError::Full);
        }
        values.insert(genuine.value);
        let cluster = genuine.cluster.clone();
        used.by_age
            .insert((genuine.made_at, genuine.value, cluster));
        Ok(())
    }

    fn authenticated(&self, cluster: &ClusterUid, signed: &[u8]) -> Vec<u8> {
        let mut message = b"drover-challenge-v2\0".to_vec();
        message.extend_from_slice(self.start.as_bytes());
        message.extend_from_slice(signed);
        message.extend_from_slice(cluster.as_str().as_bytes());
        message
    }
}

impl Used {
    fn forget_before(&mut self, limit: Timestamp) {
        while self
            .by_age
            .first()
            .is_some_and(|(created_at, ..)| *created_at < limit)
        {
            let Some((_, value, cluster)) = self.by_age.pop_first() else {
                return;
            };
            if let Some(values) = self.values.get_mut(&cluster) {
                values.remove(&value);
                if values.is_empty() {
                    self.values.remove(&cluster);
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn key(seed: u8) -> hmac::Key {
        hmac::Key::new(hmac::HMAC_SHA256, &[seed; 32])
    }

    fn at(second: i64) -> Timestamp {
        Timestamp::from_second(1_000_000 + second).unwrap()
    }

    #[test]
    fn challenge_is_valid_once_for_one_cluster_within_one_minute() {
        let challenges = Challenges::default();
        let (a, b) = (ClusterUid::new("a"), ClusterUid::new("b"));
        let nonce = challenges.issue(&key(1), &a, at(0)).unwrap();
        let check = |key: &hmac::Key, cluster, nonce: &str, now| {
            challenges.check(key, cluster, nonce, now).map(|_| ()).err()
        };
        assert_eq!(check(&key(1), &a, &nonce, at(60)), None);
        assert_eq!(
            check(&key(1), &a, &nonce, at(61)),
            Some(ChallengeError::Stale)
        );
        assert_eq!(
            check(&key(1), &b, &nonce, at(1)),
            Some(ChallengeError::Foreign)
        );
        assert_eq!(
            check(&key(2), &a, &nonce, at(1)),
            Some(ChallengeError::Foreign)
        );
        let genuine = challenges.check(&key(1), &a, &nonce, at(1)).unwrap();
        assert_eq!(challenges.spend(&genuine, at(1)), Ok(()));
        assert_eq!(
            challenges.spend(&genuine, at(2)),
            Err(ChallengeError::Replayed)
        );
    }

    #[test]
    fn challenge_is_invalid_after_a_restart() {
        let a = ClusterUid::new("a");
        let nonce = Challenges::default().issue(&key(1), &a, at(0)).unwrap();
        let decision = Challenges::default().check(&key(1), &a, &nonce, at(1));
        assert_eq!(decision.err(), Some(ChallengeError::Foreign));
    }

    fn genuine(cluster: &str, n: usize, made_at: Timestamp) -> ValidNonce {
        let mut value = [0; RANDOM];
        value[..8].copy_from_slice(&n.to_be_bytes());
        ValidNonce {
            cluster: ClusterUid::new(cluster),
            made_at,
            value,
        }
    }

    #[test]
    fn number_of_stored_used_challenges_is_limited_and_expired_challenges_are_removed() {
        let challenges = Challenges::default();
        for n in 0..MAX_USED {
            assert_eq!(challenges.spend(&genuine("a", n, at(0)), at(0)), Ok(()));
        }
        assert_eq!(
            challenges.spend(&genuine("a", MAX_USED, at(0)), at(1)),
            Err(ChallengeError::Full)
        );
        assert_eq!(
            challenges.spend(&genuine("a", MAX_USED, at(121)), at(121)),
            Ok(())
        );
        assert_eq!(challenges.used.lock().by_age.len(), 1);
        assert_eq!(challenges.spend(&genuine("b", 0, at(300)), at(300)), Ok(()));
        assert_eq!(challenges.used.lock().values.len(), 1);
    }

    #[test]
    fn repeated_connections_of_one_cluster_do_not_block_other_clusters() {
        let challenges = Challenges::default();
        for n in 0..100_000 {
            let _ = challenges.spend(&genuine("a", n, at(0)), at(0));
        }
        assert_eq!(challenges.spend(&genuine("b", 0, at(0)), at(0)), Ok(()));
    }

    proptest! {
        #[test]
        fn modified_challenge_is_rejected(index in 0..56_usize, flip in 1..255_u8) {
            let challenges = Challenges::default();
            let a = ClusterUid::new("a");
            let nonce = challenges.issue(&key(1), &a, at(0)).unwrap();
            let mut bytes = URL_SAFE_NO_PAD.decode(&nonce).unwrap();
            bytes[index] ^= flip;
            let changed = URL_SAFE_NO_PAD.encode(bytes);
            let decision = challenges.check(&key(1), &a, &changed, at(0)).err();
            prop_assert_eq!(decision, Some(ChallengeError::Foreign));
        }

        #[test]
        fn challenge_check_does_not_panic_on_arbitrary_text(text in ".*") {
            let a = ClusterUid::new("a");
            let _ = Challenges::default().check(&key(1), &a, &text, at(0));
        }
    }
}
