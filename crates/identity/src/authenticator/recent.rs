//! The identities of recent requests.
//!
//! The identity of a token depends on the Token and User objects, the providers, the settings, the
//! grants and the time. The server computes the identity again after a change of each of these
//! inputs. The caller checks the secret of the token and the age of the stores for every request.

use std::collections::HashMap;
use std::ops::Range;
use std::sync::{Arc, Weak};

use drover_access::grants::Grants;
use drover_access::identity::Identity;
use drover_api::kinds::{Token, User};
use drover_hub::Stores;
use drover_hub::stores::identity_status;
use jiff::Timestamp;
use parking_lot::RwLock;

use super::{IdentifyError, decide};

/// The maximum number of identities. Above this number, the server removes all other identities.
const MAX_IDENTITIES: usize = 4096;
/// The maximum number of groups of all identities. Above this number, the server removes all other
/// identities. The groups then use about 10 MB.
const MAX_GROUPS: usize = 100_000;

/// The identities of recent requests.
#[derive(Debug, Default)]
pub(super) struct RecentIdentities(RwLock<Identities>);

#[derive(Debug, Default)]
struct Identities {
    by_token: HashMap<String, Recent>,
    /// Number of groups of all identities.
    groups: usize,
}

impl Identities {
    /// Inserts an identity. Returns the removed identities, so that the caller can release the lock
    /// before it frees the memory.
    #[must_use]
    fn insert(&mut self, token: &str, recent: Recent) -> Self {
        let mut removed = Self::default();
        if let Some(old) = self.by_token.remove(token) {
            self.groups -= old.identity.groups.len();
        }
        let groups = recent.identity.groups.len();
        if self.by_token.len() >= MAX_IDENTITIES || self.groups + groups > MAX_GROUPS {
            removed = std::mem::take(self);
        }
        self.groups += groups;
        self.by_token.insert(token.to_owned(), recent);
        removed
    }
}

#[derive(Debug)]
struct Recent {
    inputs: Inputs,
    /// The time in which the inputs produce the same identity.
    validity: Range<Timestamp>,
    identity: Arc<Identity>,
}

/// The objects from which the server computed an identity, and the change counters of the stores.
/// Stored objects are immutable, and a weak pointer prevents reuse of the object's address. Equal
/// pointers therefore mean equal objects.
#[derive(Debug)]
struct Inputs {
    token: Weak<Token>,
    user: Weak<User>,
    grants: Weak<Grants>,
    providers: u64,
    settings: u64,
}

impl Inputs {
    /// Call this function before the objects of the stores are used.
    fn of(token: &Arc<Token>, user: &Arc<User>, stores: &Stores) -> Self {
        Self {
            token: Arc::downgrade(token),
            user: Arc::downgrade(user),
            grants: Arc::downgrade(&stores.grants.current()),
            providers: stores.auth_providers.changes(),
            settings: stores.settings.changes(),
        }
    }

    fn are_current(&self, token: &Arc<Token>, user: &Arc<User>, stores: &Stores) -> bool {
        self.token.as_ptr() == Arc::as_ptr(token)
            && self.user.as_ptr() == Arc::as_ptr(user)
            && self.grants.as_ptr() == Arc::as_ptr(&stores.grants.current())
            && self.providers == stores.auth_providers.changes()
            && self.settings == stores.settings.changes()
    }
}

impl RecentIdentities {
    /// Returns the identity of a token with a matching secret.
    pub(super) fn identity(
        &self,
        token: &Arc<Token>,
        user: Option<&Arc<User>>,
        stores: &Stores,
        now: Timestamp,
    ) -> Result<Arc<Identity>, IdentifyError> {
        let Some(user) = user else {
            return decide(token, None, stores, now).map(Arc::new);
        };
        let id = token.metadata.name.as_deref().unwrap_or_default();
        if let Some(recent) = self.0.read().by_token.get(id)
            && recent.validity.contains(&now)
            && recent.inputs.are_current(token, user, stores)
        {
            return Ok(Arc::clone(&recent.identity));
        }
        let inputs = Inputs::of(token, user, stores);
        let identity = Arc::new(decide(token, Some(user), stores, now)?);
        let end = identity_status::unchanged_until(user, stores, now);
        let recent = Recent {
            inputs,
            validity: now..end.min(identity.token.expires_at),
            identity: Arc::clone(&identity),
        };
        let removed = self.0.write().insert(id, recent);
        drop(removed);
        Ok(identity)
    }
}

#[cfg(test)]
mod tests;
