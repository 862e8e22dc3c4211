//! What concerns one person happens one thing after another.

use std::collections::HashMap;
use std::sync::{Arc, Weak};

use drover_api::ids::ProviderUid;
use parking_lot::Mutex;

/// Lets what concerns one person of a provider happen one after another; clones share it.
#[derive(Clone, Debug, Default)]
pub struct KeyedLock(Arc<Mutex<HashMap<ByProvider, Turn>>>);

/// UID of a provider, and a person's id there.
type ByProvider = (String, String);
/// Held by whoever is at a person.
type Turn = Weak<tokio::sync::Mutex<()>>;

impl KeyedLock {
    /// Waits until nobody else says whose an identity is.
    pub async fn lock_links(&self) -> tokio::sync::OwnedMutexGuard<()> {
        // A person of no provider, which nobody is.
        self.lock_identity(&ProviderUid::new(""), "").await
    }

    /// Waits until nobody else is at this person.
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
