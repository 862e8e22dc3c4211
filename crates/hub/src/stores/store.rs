//! An in-memory store of all objects of one kind, by name and by UID.

use std::collections::{BTreeMap, HashMap};
use std::ops::Bound;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

use kube::ResourceExt;
use parking_lot::{Mutex, RwLock};
use tokio::sync::watch;
use tokio::time::Instant;

/// Maximum time to wait until the store contains a write.
const VISIBLE_TIMEOUT: Duration = Duration::from_secs(5);

/// All objects of kind `K` in the last synced state. Cloning is cheap. Only [`super::reflector`]
/// writes to the store, in the order of the hub's changes.
pub struct Store<K> {
    shared: Arc<Shared<K>>,
}

struct Shared<K> {
    index: RwLock<Index<K>>,
    synced: AtomicBool,
    started: Instant,
    /// Milliseconds from `started` to the last response of the hub's watch.
    contact_ms: AtomicU64,
    changes: AtomicU64,
    /// The change counter of this kind. Notifies subscribers after each change.
    own: Changed,
    /// The change counters of single objects, by UID. Each counter notifies subscribers after a
    /// change of its object.
    watched: Mutex<HashMap<String, Changed>>,
    changed: Changed,
}

struct Index<K> {
    by_name: BTreeMap<String, Arc<K>>,
    by_uid: HashMap<String, Arc<K>>,
}

/// A change counter. All stores of a server share one counter for all changes.
#[derive(Clone, Debug)]
pub struct Changed(watch::Sender<u64>);

impl Default for Changed {
    fn default() -> Self {
        Self(watch::Sender::new(0))
    }
}

impl Changed {
    /// Returns a receiver that is notified after each change.
    pub fn subscribe(&self) -> watch::Receiver<u64> {
        self.0.subscribe()
    }

    pub(super) fn tick(&self) {
        self.0.send_modify(|count| *count = count.wrapping_add(1));
    }
}

impl<K> Clone for Store<K> {
    fn clone(&self) -> Self {
        Self {
            shared: Arc::clone(&self.shared),
        }
    }
}

impl<K> std::fmt::Debug for Store<K> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Store")
            .field("len", &self.shared.index.read().by_name.len())
            .finish_non_exhaustive()
    }
}

/// The operations of a store that do not depend on its kind.
pub(super) trait AnyStore {
    /// Reports whether the kind has been listed once.
    fn is_synced(&self) -> bool;

    /// Returns the time from the last response of the hub's watch to `now`.
    fn age(&self, now: Instant) -> Duration;

    /// Replaces all objects with an empty list.
    fn clear(&self);
}

impl<K: ResourceExt> AnyStore for Store<K> {
    fn is_synced(&self) -> bool {
        self.is_synced()
    }

    fn age(&self, now: Instant) -> Duration {
        self.age_at(now)
    }

    fn clear(&self) {
        self.replace(Vec::new());
    }
}

impl<K: ResourceExt> Store<K> {
    /// Creates an empty store that is not synced.
    pub fn new(changed: Changed) -> Self {
        Self {
            shared: Arc::new(Shared {
                index: RwLock::new(Index {
                    by_name: BTreeMap::new(),
                    by_uid: HashMap::new(),
                }),
                synced: AtomicBool::new(false),
                started: Instant::now(),
                contact_ms: AtomicU64::new(0),
                changes: AtomicU64::new(0),
                own: Changed::default(),
                watched: Mutex::default(),
                changed,
            }),
        }
    }

    /// Returns the object with this name.
    pub fn by_name(&self, name: &str) -> Option<Arc<K>> {
        self.shared.index.read().by_name.get(name).cloned()
    }

    /// Returns the object with this UID.
    pub fn by_uid(&self, uid: &str) -> Option<Arc<K>> {
        self.shared.index.read().by_uid.get(uid).cloned()
    }

    /// Returns all objects, sorted by name.
    pub fn all(&self) -> Vec<Arc<K>> {
        self.shared.index.read().by_name.values().cloned().collect()
    }

    /// Returns a page of at most `limit` objects for which `matches` returns true, sorted by name.
    /// The page starts after the name `after`. The returned flag is true if more objects follow.
    pub fn page(
        &self,
        after: Option<&str>,
        limit: usize,
        matches: impl Fn(&K) -> bool,
    ) -> (Vec<Arc<K>>, bool) {
        let start = after.map_or(Bound::Unbounded, Bound::Excluded);
        let index = self.shared.index.read();
        let mut rest = index
            .by_name
            .range::<str, _>((start, Bound::Unbounded))
            .map(|(_, object)| object)
            .filter(|object| matches(object));
        let page: Vec<_> = rest.by_ref().take(limit).cloned().collect();
        let more = rest.next().is_some();
        (page, more)
    }

    /// Returns the number of objects.
    pub fn len(&self) -> usize {
        self.shared.index.read().by_name.len()
    }

    /// Reports whether the store has no object.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Reports whether the kind has been listed once.
    pub fn is_synced(&self) -> bool {
        self.shared.synced.load(Ordering::Acquire)
    }

    /// Returns the time since the last response of the hub's watch.
    pub fn age(&self) -> Duration {
        self.age_at(Instant::now())
    }

    fn age_at(&self, now: Instant) -> Duration {
        let contact = Duration::from_millis(self.shared.contact_ms.load(Ordering::Relaxed));
        let since = now.saturating_duration_since(self.shared.started);
        since.saturating_sub(contact)
    }

    /// Waits a bounded time until the store contains the written object or a newer version. Returns
    /// false after the timeout.
    pub async fn wait_for(&self, written: &K) -> bool {
        self.wait_for_within(written, VISIBLE_TIMEOUT).await
    }

    pub(crate) async fn wait_for_within(&self, written: &K, limit: Duration) -> bool {
        let (name, uid) = (written.name_any(), written.uid());
        let version = written.resource_version();
        self.wait(limit, || {
            self.by_name(&name).is_some_and(|stored| {
                stored.uid() == uid
                    && !is_older(stored.resource_version().as_deref(), version.as_deref())
            })
        })
        .await
    }

    /// Waits a bounded time until the object with this UID is removed. Returns false after the
    /// timeout.
    pub async fn wait_until_gone(&self, uid: &str) -> bool {
        self.wait(VISIBLE_TIMEOUT, || self.by_uid(uid).is_none())
            .await
    }

    async fn wait(&self, limit: Duration, done: impl Fn() -> bool) -> bool {
        let mut changed = self.changed();
        let waiting = async {
            while !done() {
                let change = changed.changed().await;
                change.expect("the store owns the sender");
            }
        };
        tokio::time::timeout(limit, waiting).await.is_ok()
    }

    /// Returns the number of changes of this store. If two calls return the same number, the store
    /// has not changed between the calls. To detect later changes of objects, read the number
    /// *before* the objects.
    pub fn changes(&self) -> u64 {
        self.shared.changes.load(Ordering::Acquire)
    }

    /// Returns a receiver that is notified after each change of this kind.
    pub fn changed(&self) -> watch::Receiver<u64> {
        self.shared.own.subscribe()
    }

    /// Returns a receiver for changes of the object with this UID. The receiver closes after the
    /// object's deletion.
    pub fn watch(&self, uid: &str) -> watch::Receiver<u64> {
        let mut watched = self.shared.watched.lock();
        match watched.get(uid) {
            Some(changed) => changed.subscribe(),
            None => watched.entry(uid.to_owned()).or_default().subscribe(),
        }
    }

    /// Counts a change. Call this method with the write lock of the index, so that every reader of
    /// the changed objects also reads the new count.
    fn count_change(&self) {
        self.shared.changes.fetch_add(1, Ordering::Release);
    }

    fn tick(&self) {
        self.shared.own.tick();
        self.shared.changed.tick();
    }

    /// Notifies the watchers of one object and of the kind.
    fn tick_one(&self, uid: &str) {
        {
            let mut watched = self.shared.watched.lock();
            if let Some(changed) = watched.get(uid) {
                changed.tick();
                if changed.0.is_closed() {
                    watched.remove(uid);
                }
            }
        }
        self.tick();
    }

    /// Notifies the watchers of a deleted object, and removes the entry of its UID. UIDs are never
    /// reused.
    fn tick_gone(&self, uid: &str) {
        let watched = self.shared.watched.lock().remove(uid);
        if let Some(changed) = watched {
            changed.tick();
        }
        self.tick();
    }

    /// Notifies the watchers of all objects.
    fn tick_all(&self) {
        self.shared.watched.lock().retain(|_, changed| {
            changed.tick();
            !changed.0.is_closed()
        });
        self.tick();
    }

    /// Records the time of a response of the hub. The response resets the store's age.
    pub fn touch(&self) {
        let since = self.shared.started.elapsed().as_millis();
        self.shared
            .contact_ms
            .store(u64::try_from(since).unwrap_or(u64::MAX), Ordering::Relaxed);
    }

    /// Replaces all objects with a complete list.
    pub fn replace(&self, objects: Vec<K>) {
        let mut by_name = BTreeMap::new();
        let mut by_uid = HashMap::with_capacity(objects.len());
        for object in objects {
            let (name, uid, object) = (object.name_any(), object.uid(), Arc::new(object));
            by_uid.insert(uid.unwrap_or_default(), Arc::clone(&object));
            by_name.insert(name, object);
        }
        {
            let mut index = self.shared.index.write();
            *index = Index { by_name, by_uid };
            self.count_change();
        }
        self.shared.synced.store(true, Ordering::Release);
        self.touch();
        self.tick_all();
    }

    /// Stores an object that was added or modified.
    pub fn apply(&self, object: K) {
        let (name, uid, object) = (object.name_any(), object.uid(), Arc::new(object));
        let uid = uid.unwrap_or_default();
        let before = {
            let mut index = self.shared.index.write();
            let before = index.by_name.insert(name, Arc::clone(&object));
            let before = before.and_then(|old| old.uid()).filter(|old| *old != uid);
            if let Some(old) = &before {
                index.by_uid.remove(old);
            }
            index.by_uid.insert(uid.clone(), object);
            self.count_change();
            before
        };
        self.touch();
        if let Some(old) = before {
            self.tick_gone(&old);
        }
        self.tick_one(&uid);
    }

    /// Removes the object with this name.
    pub fn remove(&self, name: &str) {
        let gone = {
            let mut index = self.shared.index.write();
            let gone = index.by_name.remove(name);
            let gone = gone.and_then(|old| old.uid()).unwrap_or_default();
            index.by_uid.remove(&gone);
            self.count_change();
            gone
        };
        self.touch();
        self.tick_gone(&gone);
    }
}

/// Reports whether the version `stored_version` is older than the version `desired`. Compares the
/// versions as numbers. Kubernetes 1.35 defines this comparison.
fn is_older(stored_version: Option<&str>, desired: Option<&str>) -> bool {
    let number = |version: Option<&str>| version.and_then(|text| text.parse::<u128>().ok());
    match (number(stored_version), number(desired)) {
        (Some(stored_version), Some(desired)) => stored_version < desired,
        _ => stored_version != desired,
    }
}

#[cfg(test)]
mod tests {
    use drover_api::kinds::{Setting, SettingSpec};

    use super::*;

    fn setting(name: &str, uid: &str, version: u32) -> Setting {
        let mut setting = Setting::new(
            name,
            SettingSpec {
                value: String::new(),
            },
        );
        setting.metadata.uid = Some(uid.to_owned());
        setting.metadata.resource_version = Some(version.to_string());
        setting
    }

    fn names(page: &[Arc<Setting>]) -> Vec<String> {
        page.iter().map(|s| s.name_any()).collect()
    }

    #[test]
    fn change_count_of_a_store_excludes_changes_of_other_stores() {
        let changed = Changed::default();
        let (ours, other) = (Store::new(changed.clone()), Store::new(changed));
        let before = ours.changes();
        other.apply(setting("a", "1", 1));
        ours.touch();
        assert_eq!(ours.changes(), before);
        let every: [&dyn Fn(); 3] = [
            &|| ours.replace(Vec::new()),
            &|| ours.apply(setting("a", "1", 1)),
            &|| ours.remove("a"),
        ];
        for change in every {
            let before = ours.changes();
            change();
            assert_ne!(ours.changes(), before);
        }
    }

    #[test]
    fn watcher_of_one_object_is_notified_only_of_that_object() {
        let store = Store::new(Changed::default());
        store.replace(vec![setting("a", "1", 1), setting("b", "2", 1)]);
        let notified = |change: &dyn Fn()| {
            let (mut one, mut other) = (store.watch("1"), store.watch("2"));
            one.mark_unchanged();
            other.mark_unchanged();
            change();
            // A closed channel counts as a change.
            let changed = |one: &watch::Receiver<u64>| one.has_changed().unwrap_or(true);
            (changed(&one), changed(&other))
        };
        assert_eq!(
            notified(&|| store.apply(setting("a", "1", 2))),
            (true, false)
        );
        assert_eq!(
            notified(&|| store.apply(setting("b", "2", 2))),
            (false, true)
        );
        assert_eq!(
            notified(&|| store.apply(setting("a", "3", 3))),
            (true, false)
        );
        assert_eq!(notified(&|| store.remove("b")), (false, true));
        assert_eq!(notified(&|| store.replace(Vec::new())), (true, true));
        // Without watchers the store keeps no entries.
        store.replace(Vec::new());
        assert!(store.shared.watched.lock().is_empty());
    }

    #[tokio::test]
    async fn deletion_of_an_object_notifies_and_removes_its_watcher() {
        let store = Store::new(Changed::default());
        store.replace(vec![setting("a", "1", 1), setting("b", "2", 1)]);
        let (mut removed, mut replaced) = (store.watch("1"), store.watch("2"));
        store.remove("a");
        store.apply(setting("b", "3", 2));
        assert!(store.shared.watched.lock().is_empty());
        for gone in [&mut removed, &mut replaced] {
            assert!(gone.changed().await.is_ok(), "the deletion is notified");
            assert!(gone.changed().await.is_err(), "the channel is closed");
        }
    }

    #[tokio::test]
    async fn store_pages_have_no_missing_and_no_duplicate_objects() {
        let store = Store::new(Changed::default());
        store.replace(
            (0..5)
                .map(|i| setting(&format!("s{i}"), &i.to_string(), 1))
                .collect(),
        );
        let (first, more) = store.page(None, 2, |_| true);
        assert_eq!(
            (names(&first), more),
            (vec!["s0".into(), "s1".into()], true)
        );
        // The object at the page boundary is deleted between two pages.
        store.remove("s1");
        let (second, more) = store.page(Some("s1"), 2, |_| true);
        assert_eq!(
            (names(&second), more),
            (vec!["s2".into(), "s3".into()], true)
        );
        let (last, more) = store.page(Some("s3"), 2, |_| true);
        assert_eq!((names(&last), more), (vec!["s4".into()], false));
    }

    #[tokio::test]
    async fn recreated_object_replaces_the_deleted_object_in_the_uid_index() {
        let store = Store::new(Changed::default());
        store.replace(vec![setting("a", "old", 1)]);
        store.apply(setting("a", "new", 2));
        assert!(store.by_uid("old").is_none());
        assert!(store.by_uid("new").is_some());
        store.remove("a");
        assert!(store.by_uid("new").is_none());
    }

    #[tokio::test(start_paused = true)]
    async fn store_wait_ends_after_the_watch_delivers_the_written_object() {
        let store = Store::new(Changed::default());
        store.replace(vec![setting("a", "1", 5)]);
        let written = setting("a", "1", 10);
        assert!(
            !store
                .wait_for_within(&written, Duration::from_secs(1))
                .await
        );
        let (visible, ()) = tokio::join!(
            store.wait_for_within(&written, Duration::from_mins(1)),
            async {
                store.apply(setting("a", "1", 9));
                tokio::task::yield_now().await;
                store.apply(setting("a", "1", 11));
            }
        );
        assert!(visible);
    }

    #[tokio::test(start_paused = true)]
    async fn store_age_is_the_time_since_the_last_response_of_the_hub() {
        let store = Store::<Setting>::new(Changed::default());
        tokio::time::advance(Duration::from_secs(7)).await;
        assert_eq!(store.age(), Duration::from_secs(7));
        store.touch();
        assert_eq!(store.age(), Duration::ZERO);
    }
}
