//! Challenges: values that an agent signs to connect, each good once and for a minute.
//!
//! Nothing is kept for a challenge that was handed out: it carries its time and a MAC over that
//! and the Cluster. Only those that were answered with the right key are remembered, until their
//! time is over, so strangers cannot fill the memory.

use std::collections::{BTreeSet, HashSet};

use aws_lc_rs::hmac;
use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use drover_api::ids::ClusterUid;
use jiff::{SignedDuration, Timestamp};
use parking_lot::Mutex;
use thiserror::Error;

use crate::hub::keys::{NoRandomness, random};

/// How long a challenge is good.
const LIFE: SignedDuration = SignedDuration::from_secs(60);
/// Answered challenges remembered at once: far more than agents connect in a minute.
const MOST_USED: usize = 65_536;
const TIME: usize = 8;
const RANDOM: usize = 16;
const MAC: usize = 32;

/// Why a nonce is not accepted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum ChallengeError {
    /// Not made by this hub's servers, or for another Cluster.
    #[error("the challenge was not made by this server for this Cluster: ask for a new one")]
    Foreign,
    /// Too old.
    #[error("the challenge is older than a minute: ask for a new one")]
    Stale,
    /// Answered before.
    #[error("the challenge was answered already: ask for a new one")]
    Replayed,
    /// Too many agents connect at once.
    #[error("too many agents connect at once: try again in a minute")]
    Full,
}

/// A nonce that is genuine and fresh, but perhaps used.
#[derive(Debug)]
pub struct Genuine {
    made_at: Timestamp,
    value: [u8; RANDOM],
}

/// Makes and checks challenges; holds those that were answered in the last minute.
#[derive(Debug, Default)]
pub struct Challenges {
    used: Mutex<Used>,
}

#[derive(Debug, Default)]
struct Used {
    values: HashSet<[u8; RANDOM]>,
    by_age: BTreeSet<(Timestamp, [u8; RANDOM])>,
}

impl Challenges {
    /// A fresh challenge for a Cluster.
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
        let tag = hmac::sign(key, &authenticated(cluster, &bytes));
        bytes.extend_from_slice(tag.as_ref());
        Ok(URL_SAFE_NO_PAD.encode(bytes))
    }

    /// Checks origin, Cluster and age; says nothing about earlier use.
    pub fn check(
        &self,
        key: &hmac::Key,
        cluster: &ClusterUid,
        nonce: &str,
        now: Timestamp,
    ) -> Result<Genuine, ChallengeError> {
        let bytes = URL_SAFE_NO_PAD
            .decode(nonce)
            .map_err(|_| ChallengeError::Foreign)?;
        let (signed, tag) = bytes
            .split_at_checked(TIME + RANDOM)
            .ok_or(ChallengeError::Foreign)?;
        hmac::verify(key, &authenticated(cluster, signed), tag)
            .map_err(|_| ChallengeError::Foreign)?;
        let (time, value) = signed.split_at(TIME);
        let foreign = |_| ChallengeError::Foreign;
        let millisecond = i64::from_be_bytes(time.try_into().map_err(foreign)?);
        let made_at =
            Timestamp::from_millisecond(millisecond).map_err(|_| ChallengeError::Foreign)?;
        let age = now.duration_since(made_at);
        // Another server of the hub may have made it, with a clock a little ahead.
        if age > LIFE || age < -LIFE {
            return Err(ChallengeError::Stale);
        }
        Ok(Genuine {
            made_at,
            value: value.try_into().map_err(foreign)?,
        })
    }

    /// Uses a challenge up; call once its answer has proved the key.
    pub fn spend(&self, genuine: &Genuine, now: Timestamp) -> Result<(), ChallengeError> {
        let mut used = self.used.lock();
        used.forget_before(now - LIFE * 2);
        if used.values.contains(&genuine.value) {
            return Err(ChallengeError::Replayed);
        }
        if used.values.len() >= MOST_USED {
            return Err(ChallengeError::Full);
        }
        used.values.insert(genuine.value);
        used.by_age.insert((genuine.made_at, genuine.value));
        Ok(())
    }
}

impl Used {
    fn forget_before(&mut self, limit: Timestamp) {
        while let Some(oldest) = self
            .by_age
            .first()
            .copied()
            .filter(|(made, _)| *made < limit)
        {
            self.by_age.remove(&oldest);
            self.values.remove(&oldest.1);
        }
    }
}

fn authenticated(cluster: &ClusterUid, signed: &[u8]) -> Vec<u8> {
    let mut message = b"drover-challenge-v1\0".to_vec();
    message.extend_from_slice(signed);
    message.extend_from_slice(cluster.as_str().as_bytes());
    message
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
    fn a_challenge_is_good_once_for_one_cluster_and_a_minute() {
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
    fn memory_of_answered_challenges_is_bounded_and_ends() {
        let challenges = Challenges::default();
        let genuine = |n: usize, made_at| {
            let mut value = [0; RANDOM];
            value[..8].copy_from_slice(&n.to_be_bytes());
            Genuine { made_at, value }
        };
        for n in 0..MOST_USED {
            assert_eq!(challenges.spend(&genuine(n, at(0)), at(0)), Ok(()));
        }
        assert_eq!(
            challenges.spend(&genuine(MOST_USED, at(0)), at(1)),
            Err(ChallengeError::Full)
        );
        assert_eq!(
            challenges.spend(&genuine(MOST_USED, at(121)), at(121)),
            Ok(())
        );
        assert_eq!(challenges.used.lock().values.len(), 1);
        assert_eq!(challenges.used.lock().by_age.len(), 1);
    }

    proptest! {
        #[test]
        fn a_changed_challenge_is_foreign(index in 0..56_usize, flip in 1..255_u8) {
            let challenges = Challenges::default();
            let a = ClusterUid::new("a");
            let nonce = challenges.issue(&key(1), &a, at(0)).unwrap();
            let mut bytes = URL_SAFE_NO_PAD.decode(&nonce).unwrap();
            bytes[index] ^= flip;
            let changed = URL_SAFE_NO_PAD.encode(bytes);
            let verdict = challenges.check(&key(1), &a, &changed, at(0)).err();
            prop_assert_eq!(verdict, Some(ChallengeError::Foreign));
        }

        #[test]
        fn no_text_panics_the_check(text in ".*") {
            let a = ClusterUid::new("a");
            let _ = Challenges::default().check(&key(1), &a, &text, at(0));
        }
    }
}
