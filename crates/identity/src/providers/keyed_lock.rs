//! Locks that serialize changes of the same identity.

use std::collections::HashMap;
use std::sync::{Arc, Weak};

use drover_api::ids::ProviderUid;
use parking_lot::Mutex;

/// A map with one lock per identity. Clones share the locks.
#[derive(Clone, Debug, Default)]
pub struct KeyedLock(Arc<Mutex<HashMap<IdentityId, IdentityLock>>>);

/// The UID of a provider, and a user's ID at this provider.
type IdentityId = (String, String);
/// The lock of an identity. The reference is valid while a task holds the lock or waits for the
/// lock.
type IdentityLock = Weak<tokio::sync::Mutex<()>>;

impl KeyedLock {
    /// Acquires the lock that serializes all links of identities.
    pub async fn lock_links(&self) -> tokio::sync::OwnedMutexGuard<()> {
        // The empty key, which no identity has.
        self.lock_identity(&ProviderUid::new(""), "").await
    }

    /// Acquires the lock of one identity.
    pub async fn lock_identity(
        &self,
        provider: &ProviderUid,
        id: &str,
    ) -> tokio::sync::OwnedMutexGuard<()> {
        let key = (provider.to_string(), id.to_owned());
        let lock = {
            let mut all = self.0.lock();
            all.retain(|_, lock| lock.strong_count() > 0);
            let former = all.get(&key).and_then(Weak::upgrade);
            former.unwrap_or_else(|| {
                let lock = Arc::default();
                all.insert(key, Arc::downgrade(&lock));
                lock
            })
        };
        lock.lock_owned().await
    }
}
