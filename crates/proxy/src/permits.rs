//! The permits of recent requests.
//!
//! A permit depends on the user's identity, the target, the grants and the time. The proxy decides
//! again after a change of each of these inputs. An [`Identity`] is immutable.

use std::collections::HashMap;
use std::sync::{Arc, Weak};

use drover_access::grants::Grants;
use drover_access::headers::{ImpersonationHeaders, Unrepresentable};
use drover_access::identity::{Identity, Principal};
use drover_access::permit::{self, Denied, Holder, Permit, Target};
use drover_audit::AuditCaller;
use jiff::Timestamp;
use parking_lot::RwLock;

/// The maximum number of users' tokens with permits. Above this number, the proxy removes all other
/// permits. The permits of users with few groups then use about 20 MB, because such a permit with
/// its headers uses about 1 KB.
const MAX_TOKENS: usize = 2048;
/// The maximum sum of the numbers of groups of all permits' identities. Above this number, the proxy
/// removes all other permits. The groups then use at most about 20 MB.
const MAX_GROUPS: usize = 200_000;
/// The maximum number of permits of one token. At this number, the oldest permit is removed.
const MAX_PERMITS: usize = 8;

/// A permit, the caller for the audit log, and the headers with the identity of the caller.
pub(crate) struct GrantedAccess {
    pub(crate) permit: Permit,
    pub(crate) caller: AuditCaller,
    pub(crate) headers: Result<ImpersonationHeaders, Unrepresentable>,
}

impl GrantedAccess {
    fn new(permit: Permit, principal: &Principal) -> Self {
        let headers = match permit.holder() {
            Holder::User { identity, .. } => ImpersonationHeaders::of_user(identity),
            Holder::Account(account) => ImpersonationHeaders::of_account(account),
        };
        Self {
            permit,
            caller: AuditCaller::from(principal),
            headers,
        }
    }
}

/// The permits of recent requests of users.
#[derive(Default)]
pub(crate) struct RecentPermits(RwLock<Recent>);

#[derive(Default)]
struct Recent {
    /// The grants on which all permits depend. The weak pointer prevents reuse of the address.
    grants: Weak<Grants>,
    by_token: HashMap<String, TokenPermits>,
    /// Sum of the numbers of groups of all permits' identities.
    groups: usize,
}

/// The permits of one identity. The weak pointer prevents reuse of the identity's address.
struct TokenPermits {
    identity: Weak<Identity>,
    /// Number of groups of the identity. The headers of a permit contain at most all groups.
    groups: usize,
    permits: Vec<Arc<GrantedAccess>>,
}

impl TokenPermits {
    fn new(identity: &Arc<Identity>) -> Self {
        Self {
            identity: Arc::downgrade(identity),
            groups: identity.groups.len(),
            permits: Vec::new(),
        }
    }

    fn insert(&mut self, access: &Arc<GrantedAccess>) {
        let target = access.permit.target();
        self.permits.retain(|old| old.permit.target() != target);
        if self.permits.len() >= MAX_PERMITS {
            self.permits.remove(0);
        }
        self.permits.push(Arc::clone(access));
    }

    fn all_groups(&self) -> usize {
        self.groups * self.permits.len()
    }
}

impl RecentPermits {
    /// Returns the permit of a recent request, or decides with [`permit::decide`].
    pub(crate) fn decide(
        &self,
        principal: &Principal,
        target: &Target,
        grants: &Arc<Grants>,
        now: Timestamp,
    ) -> Result<Arc<GrantedAccess>, Denied> {
        if let Principal::User(identity) = principal
            && let Some(access) = self.0.read().find(identity, target, grants)
            && now < access.permit.expires_at()
        {
            return Ok(access);
        }
        let permit = permit::decide(principal, target, grants, now)?;
        let access = Arc::new(GrantedAccess::new(permit, principal));
        if let Principal::User(identity) = principal {
            let removed = self.0.write().insert(identity, grants, &access);
            drop(removed);
        }
        Ok(access)
    }
}

impl Recent {
    fn find(
        &self,
        identity: &Arc<Identity>,
        target: &Target,
        grants: &Arc<Grants>,
    ) -> Option<Arc<GrantedAccess>> {
        let token = self.by_token.get(&identity.token.id)?;
        if self.grants.as_ptr() != Arc::as_ptr(grants)
            || token.identity.as_ptr() != Arc::as_ptr(identity)
        {
            return None;
        }
        let mut permits = token.permits.iter();
        let access = permits.find(|access| access.permit.target() == target);
        access.cloned()
    }

    /// Inserts a permit. Returns the removed permits, so that the caller can release the lock before
    /// it frees the memory.
    #[must_use]
    fn insert(
        &mut self,
        identity: &Arc<Identity>,
        grants: &Arc<Grants>,
        access: &Arc<GrantedAccess>,
    ) -> Self {
        let mut removed = Self::default();
        if self.grants.as_ptr() != Arc::as_ptr(grants) {
            removed = self.clear(grants);
        }
        let id = &identity.token.id;
        let old = self.by_token.remove(id);
        self.groups -= old.as_ref().map_or(0, TokenPermits::all_groups);
        let mut token = old
            .filter(|old| old.identity.as_ptr() == Arc::as_ptr(identity))
            .unwrap_or_else(|| TokenPermits::new(identity));
        token.insert(access);
        let groups = token.all_groups();
        if self.by_token.len() >= MAX_TOKENS || self.groups + groups > MAX_GROUPS {
            removed = self.clear(grants);
        }
        self.groups += groups;
        self.by_token.insert(id.clone(), token);
        removed
    }

    fn clear(&mut self, grants: &Arc<Grants>) -> Self {
        let empty = Self {
            grants: Arc::downgrade(grants),
            ..Self::default()
        };
        std::mem::replace(self, empty)
    }
}

#[cfg(test)]
mod tests;
