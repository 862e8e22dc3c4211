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

/// The minimum and the maximum retry delay of an unreachable provider.
const UNREACHABLE_BACKOFF: (Duration, Duration) = (Duration::from_secs(10), Duration::from_mins(5));
/// The minimum and the maximum retry delay of an identity whose refresh fails.
const FAILED_BACKOFF: (Duration, Duration) = (Duration::from_mins(2), Duration::from_mins(30));

/// The schedule of identity refreshes.
#[derive(Debug, Default)]
pub(super) struct RefreshSchedule {
    running: HashSet<IdentityKey>,
    /// Identities whose last refresh failed, with their retry time.
    postponed: HashMap<IdentityKey, ProviderBackoff>,
    /// Unreachable providers, with their retry time.
    unreachable: HashMap<ProviderUid, ProviderBackoff>,
}

#[derive(Debug)]
struct ProviderBackoff {
    not_before: Timestamp,
    backoff: Backoff,
}

impl ProviderBackoff {
    fn new((first, longest): (Duration, Duration)) -> Self {
        Self {
            not_before: Timestamp::MIN,
            backoff: Backoff::new(first, longest),
        }
    }

    fn postpone(&mut self, least: Duration, now: Timestamp) {
        let pause = SignedDuration::try_from(least + self.backoff.next_delay());
        let pause = pause.unwrap_or(SignedDuration::MAX);
        self.not_before = now.saturating_add(pause).unwrap_or(Timestamp::MAX);
    }
}

impl RefreshSchedule {
    /// Reports whether an identity is being refreshed.
    pub(super) fn is_running(&self, key: &IdentityKey) -> bool {
        self.running.contains(key)
    }

    /// Returns the due identities and marks them as running. At most `most` identities run at the
    /// same time.
    pub(super) fn due(&mut self, hub: &Hub, most: usize, now: Timestamp) -> Vec<IdentityKey> {
        let stores = hub.stores();
        let room = most.saturating_sub(self.running.len());
        let every = stores.duration(Setting::GroupsRefresh);
        let every = SignedDuration::try_from(every).unwrap_or(SignedDuration::MAX);
        // Users without valid tokens need no refresh.
        let tokens = stores.tokens.all().into_iter();
        let living = tokens.filter(|token| now < token.spec.expires_at.0);
        let in_use: HashSet<String> = living
            .map(|token| token.spec.user_uid.to_string())
            .collect();
        self.postponed.retain(|key, _| in_use.contains(&key.user));
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
                    self.running.insert(key.clone());
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
        let waits = |postponed: Option<&ProviderBackoff>| {
            postponed.is_some_and(|postponed| now < postponed.not_before)
        };
        identity.state != IdentityState::Refused
            && now.duration_since(identity.confirmed_at.0) >= every
            && !self.running.contains(key)
            && !waits(self.postponed.get(key))
            && !waits(self.unreachable.get(&key.provider))
    }

    /// Records the outcome of a refresh. `outcome` is `None` after a failed call to the hub.
    pub(super) fn record_outcome(
        &mut self,
        key: &IdentityKey,
        outcome: Option<Outcome>,
        now: Timestamp,
    ) {
        self.running.remove(key);
        match outcome {
            Some(Outcome::Confirmed | Outcome::Refused) => {
                self.postponed.remove(key);
                self.unreachable.remove(&key.provider);
            }
            Some(Outcome::Unreachable) => {
                let (least, _) = UNREACHABLE_BACKOFF;
                let unreachable = self.unreachable.entry(key.provider.clone());
                unreachable
                    .or_insert_with(|| ProviderBackoff::new(UNREACHABLE_BACKOFF))
                    .postpone(least, now);
                self.postpone(key, now);
            }
            Some(Outcome::Postponed(until)) => {
                self.postpone(key, now);
                if let Some(postponed) = self.postponed.get_mut(key) {
                    postponed.not_before = postponed.not_before.max(until);
                }
            }
            Some(Outcome::Skipped) | None => self.postpone(key, now),
        }
    }

    fn postpone(&mut self, key: &IdentityKey, now: Timestamp) {
        let (least, _) = FAILED_BACKOFF;
        let postponed = self.postponed.entry(key.clone());
        postponed
            .or_insert_with(|| ProviderBackoff::new(FAILED_BACKOFF))
            .postpone(least, now);
    }
}

#[cfg(test)]
mod tests;
