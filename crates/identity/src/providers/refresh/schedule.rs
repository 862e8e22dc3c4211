//! The schedule of identity refreshes.

use std::collections::{HashMap, HashSet};
use std::time::Duration;

use drover_access::setting::Setting;
use drover_api::ids::ProviderUid;
use drover_api::kinds::{IdentityState, ProviderIdentity};
use jiff::{SignedDuration, Timestamp};
use kube::ResourceExt as _;

use super::{IdentityKey, Outcome};
use drover_entropy::backoff::Backoff;
use drover_hub::Hub;

/// The backoff of an unreachable provider.
const REST: (Duration, Duration) = (Duration::from_secs(10), Duration::from_mins(5));
/// The backoff of an identity that cannot be refreshed.
const AGAIN: (Duration, Duration) = (Duration::from_mins(2), Duration::from_mins(30));

/// The schedule of identity refreshes.
#[derive(Debug, Default)]
pub(super) struct RefreshSchedule {
    asking: HashSet<IdentityKey>,
    /// Identities that cannot be refreshed now.
    later: HashMap<IdentityKey, Later>,
    /// Unreachable providers.
    resting: HashMap<ProviderUid, Later>,
}

#[derive(Debug)]
struct Later {
    not_before: Timestamp,
    backoff: Backoff,
}

impl Later {
    fn new((first, longest): (Duration, Duration)) -> Self {
        Self {
            not_before: Timestamp::MIN,
            backoff: Backoff::new(first, longest),
        }
    }

    fn put_off(&mut self, least: Duration, now: Timestamp) {
        let pause = SignedDuration::try_from(least + self.backoff.next_delay());
        let pause = pause.unwrap_or(SignedDuration::MAX);
        self.not_before = now.saturating_add(pause).unwrap_or(Timestamp::MAX);
    }
}

impl RefreshSchedule {
    /// Returns whether an identity is being refreshed.
    pub(super) fn is_asking(&self, key: &IdentityKey) -> bool {
        self.asking.contains(key)
    }

    /// Returns the due identities and marks them as running, `most` in total.
    pub(super) fn due(&mut self, hub: &Hub, most: usize, now: Timestamp) -> Vec<IdentityKey> {
        let stores = hub.stores();
        let room = most.saturating_sub(self.asking.len());
        let every = stores.duration(Setting::GroupsRefresh);
        let every = SignedDuration::try_from(every).unwrap_or(SignedDuration::MAX);
        // Users without valid tokens need no refresh.
        let tokens = stores.tokens.all().into_iter();
        let living = tokens.filter(|token| now < token.spec.expires_at.0);
        let in_use: HashSet<String> = living
            .map(|token| token.spec.user_uid.to_string())
            .collect();
        self.later.retain(|key, _| in_use.contains(&key.user));
        let mut due = Vec::new();
        for user in stores.users.all() {
            let uid = user.uid().unwrap_or_default();
            if !user.spec.enabled || !in_use.contains(&uid) {
                continue;
            }
            let identities = user.status.iter().flat_map(|status| &status.identities);
            for identity in identities {
                let key = IdentityKey {
                    user: uid.clone(),
                    provider: identity.provider_uid.clone(),
                };
                if due.len() < room && self.is_due(&key, identity, every, now) {
                    self.asking.insert(key.clone());
                    due.push(key);
                }
            }
        }
        due
    }

    fn is_due(
        &self,
        key: &IdentityKey,
        identity: &ProviderIdentity,
        every: SignedDuration,
        now: Timestamp,
    ) -> bool {
        let waits = |later: Option<&Later>| later.is_some_and(|later| now < later.not_before);
        identity.state != IdentityState::Refused
            && now.duration_since(identity.confirmed_at.0) >= every
            && !self.asking.contains(key)
            && !waits(self.later.get(key))
            && !waits(self.resting.get(&key.provider))
    }

    /// Records the outcome of a refresh; `None` if the hub failed.
    pub(super) fn heard(&mut self, key: &IdentityKey, outcome: Option<Outcome>, now: Timestamp) {
        self.asking.remove(key);
        match outcome {
            Some(Outcome::Confirmed | Outcome::Refused) => {
                self.later.remove(key);
                self.resting.remove(&key.provider);
            }
            Some(Outcome::Unreachable) => {
                let (least, _) = REST;
                let resting = self.resting.entry(key.provider.clone());
                resting
                    .or_insert_with(|| Later::new(REST))
                    .put_off(least, now);
                self.put_off(key, now);
            }
            Some(Outcome::NotYet(until)) => {
                self.put_off(key, now);
                if let Some(later) = self.later.get_mut(key) {
                    later.not_before = later.not_before.max(until);
                }
            }
            Some(Outcome::NotAsked) | None => self.put_off(key, now),
        }
    }

    fn put_off(&mut self, key: &IdentityKey, now: Timestamp) {
        let (least, _) = AGAIN;
        let later = self.later.entry(key.clone());
        later
            .or_insert_with(|| Later::new(AGAIN))
            .put_off(least, now);
    }
}

#[cfg(test)]
mod tests;
