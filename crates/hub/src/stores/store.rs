//! A store in memory of all objects of one kind, by name and by UID.

use std::collections::{BTreeMap, HashMap};
use std::ops::Bound;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

use kube::ResourceExt;
use parking_lot::{Mutex, RwLock};
use tokio::sync::watch;
use tokio::time::Instant;

/// Longest wait until the store contains a write.
const VISIBLE_WITHIN: Duration = Duration::from_secs(5);

/// All objects of kind `K` as last heard from the hub; cheap to clone.
///
/// Only [`super::reflector`] writes to it: what a request creates or deletes appears when the hub's
/// watch says so, so that a late creation can never outlive a deletion.
pub struct Store<K> {
    shared: Arc<Shared<K>>,
}

struct Shared<K> {
    index: RwLock<Index<K>>,
    synced: AtomicBool,
    started: Instant,
    /// Milliseconds from `started` to the last sign that the hub's watch is alive.
    contact_ms: AtomicU64,
    changes: AtomicU64,
    /// Of this kind alone.
    own: Changed,
    /// Of one object, for those who follow it.
    watched: Mutex<HashMap<String, Changed>>,
    changed: Changed,
}

struct Index<K> {
    by_name: BTreeMap<String, Arc<K>>,
    by_uid: HashMap<String, Arc<K>>,
}

/// Ticks whenever any store changes; shared by all stores of a server.
#[derive(Clone, Debug)]
pub struct Changed(watch::Sender<u64>);

impl Default for Changed {
    fn default() -> Self {
        Self(watch::Sender::new(0))
    }
}

impl Changed {
    /// A receiver whose `changed()` resolves after the next change.
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

/// What every store knows of itself, whatever its kind.
pub(super) trait AnyStore {
    /// Whether the whole kind has been listed once.
    fn is_synced(&self) -> bool;

    /// How long ago the hub last proved that it is current.
    fn age(&self) -> Duration;

    /// Takes a listing without objects.
    fn clear(&self);
}

impl<K: ResourceExt> AnyStore for Store<K> {
    fn is_synced(&self) -> bool {
        self.is_synced()
    }

    fn age(&self) -> Duration {
        self.age()
    }

    fn clear(&self) {
        self.replace(Vec::new());
    }
}

impl<K: ResourceExt> Store<K> {
    /// An empty store that has not heard of the hub yet.
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

    /// The object of this name.
    pub fn by_name(&self, name: &str) -> Option<Arc<K>> {
        self.shared.index.read().by_name.get(name).cloned()
    }

    /// The object with this UID.
    pub fn by_uid(&self, uid: &str) -> Option<Arc<K>> {
        self.shared.index.read().by_uid.get(uid).cloned()
    }

    /// All objects in the order of their names.
    pub fn all(&self) -> Vec<Arc<K>> {
        self.shared.index.read().by_name.values().cloned().collect()
    }

    /// At most `limit` objects that satisfy `wanted`, in the order of their names, from behind
    /// `after` on; and whether there are more.
    pub fn page(
        &self,
        after: Option<&str>,
        limit: usize,
        wanted: impl Fn(&K) -> bool,
    ) -> (Vec<Arc<K>>, bool) {
        let start = after.map_or(Bound::Unbounded, Bound::Excluded);
        let index = self.shared.index.read();
        let mut rest = index
            .by_name
            .range::<str, _>((start, Bound::Unbounded))
            .map(|(_, object)| object)
            .filter(|object| wanted(object));
        let page: Vec<_> = rest.by_ref().take(limit).cloned().collect();
        let more = rest.next().is_some();
        (page, more)
    }

    /// How many objects there are.
    pub fn len(&self) -> usize {
        self.shared.index.read().by_name.len()
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Whether the whole kind has been listed once.
    pub fn is_synced(&self) -> bool {
        self.shared.synced.load(Ordering::Acquire)
    }

    /// How long ago the hub last proved that this store is current.
    pub fn age(&self) -> Duration {
        let contact = Duration::from_millis(self.shared.contact_ms.load(Ordering::Relaxed));
        self.shared.started.elapsed().saturating_sub(contact)
    }

    /// Waits a bounded time until the store contains a written object, or a newer one.
    ///
    /// Returns whether it does.
    pub async fn wait_for(&self, written: &K) -> bool {
        self.wait_for_within(written, VISIBLE_WITHIN).await
    }

    pub(crate) async fn wait_for_within(&self, written: &K, limit: Duration) -> bool {
        let (name, uid) = (written.name_any(), written.uid());
        let version = written.resource_version();
        self.wait(limit, || {
            self.by_name(&name).is_some_and(|held| {
                held.uid() == uid
                    && !is_older(held.resource_version().as_deref(), version.as_deref())
            })
        })
        .await
    }

    /// Waits a bounded time until the object with this UID is gone; returns whether it is.
    pub async fn wait_until_gone(&self, uid: &str) -> bool {
        self.wait(VISIBLE_WITHIN, || self.by_uid(uid).is_none())
            .await
    }

    async fn wait(&self, limit: Duration, done: impl Fn() -> bool) -> bool {
        let mut changed = self.changed();
        let waiting = async {
            while !done() {
                // The sender lives in `self`, so this cannot fail.
                if changed.changed().await.is_err() {
                    break;
                }
            }
        };
        tokio::time::timeout(limit, waiting).await.is_ok()
    }

    /// How many times this store changed; what did not grow is what it was.
    ///
    /// Ask *before* reading what is to be compared later.
    pub fn changes(&self) -> u64 {
        self.shared.changes.load(Ordering::Acquire)
    }

    /// A receiver whose `changed()` resolves after the next change of this kind.
    pub fn changed(&self) -> watch::Receiver<u64> {
        self.shared.own.subscribe()
    }

    /// The same for the object with this UID: with many objects, following all of them is work for
    /// everybody whenever any of them changes. When the object goes, `changed()` resolves once more,
    /// and fails from then on.
    pub fn watch(&self, uid: &str) -> watch::Receiver<u64> {
        let mut watched = self.shared.watched.lock();
        match watched.get(uid) {
            Some(changed) => changed.subscribe(),
            None => watched.entry(uid.to_owned()).or_default().subscribe(),
        }
    }

    fn tick(&self) {
        self.shared.changes.fetch_add(1, Ordering::Release);
        self.shared.own.tick();
        self.shared.changed.tick();
    }

    /// Tells those who follow one object, and then all others.
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

    /// Tells those who follow an object that it is gone, and keeps nothing for them: no UID comes
    /// twice.
    fn tick_gone(&self, uid: &str) {
        let watched = self.shared.watched.lock().remove(uid);
        if let Some(changed) = watched {
            changed.tick();
        }
        self.tick();
    }

    /// Tells those who follow any object.
    fn tick_all(&self) {
        self.shared.watched.lock().retain(|_, changed| {
            changed.tick();
            !changed.0.is_closed()
        });
        self.tick();
    }

    /// Notes that the hub's watch is alive.
    pub fn touch(&self) {
        let since = self.shared.started.elapsed().as_millis();
        self.shared
            .contact_ms
            .store(u64::try_from(since).unwrap_or(u64::MAX), Ordering::Relaxed);
    }

    /// Takes a complete listing.
    pub fn replace(&self, objects: Vec<K>) {
        let mut by_name = BTreeMap::new();
        let mut by_uid = HashMap::with_capacity(objects.len());
        for object in objects {
            let (name, uid, object) = (object.name_any(), object.uid(), Arc::new(object));
            by_uid.insert(uid.unwrap_or_default(), Arc::clone(&object));
            by_name.insert(name, object);
        }
        *self.shared.index.write() = Index { by_name, by_uid };
        self.shared.synced.store(true, Ordering::Release);
        self.touch();
        self.tick_all();
    }

    /// Takes one object that was added or modified.
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
            before
        };
        self.touch();
        if let Some(old) = before {
            self.tick_gone(&old);
        }
        self.tick_one(&uid);
    }

    /// Drops the object of this name.
    pub fn remove(&self, name: &str) {
        let gone = {
            let mut index = self.shared.index.write();
            let gone = index.by_name.remove(name);
            let gone = gone.and_then(|old| old.uid()).unwrap_or_default();
            index.by_uid.remove(&gone);
            gone
        };
        self.touch();
        self.tick_gone(&gone);
    }
}

/// Whether one resource version comes before another; Kubernetes 1.35 made them comparable, and
/// every version before compared the same way.
fn is_older(held: Option<&str>, wanted: Option<&str>) -> bool {
    let number = |version: Option<&str>| version.and_then(|text| text.parse::<u128>().ok());
    match (number(held), number(wanted)) {
        (Some(held), Some(wanted)) => held < wanted,
        _ => held != wanted,
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
    fn a_mirror_counts_its_own_changes_and_no_others() {
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
    fn who_follows_one_object_hears_of_that_one_only() {
        let store = Store::new(Changed::default());
        store.replace(vec![setting("a", "1", 1), setting("b", "2", 1)]);
        let heard = |change: &dyn Fn()| {
            let (mut one, mut other) = (store.watch("1"), store.watch("2"));
            one.mark_unchanged();
            other.mark_unchanged();
            change();
            // The end is a change as well.
            let changed = |one: &watch::Receiver<u64>| one.has_changed().unwrap_or(true);
            (changed(&one), changed(&other))
        };
        assert_eq!(heard(&|| store.apply(setting("a", "1", 2))), (true, false));
        assert_eq!(heard(&|| store.apply(setting("b", "2", 2))), (false, true));
        assert_eq!(heard(&|| store.apply(setting("a", "3", 3))), (true, false));
        assert_eq!(heard(&|| store.remove("b")), (false, true));
        assert_eq!(heard(&|| store.replace(Vec::new())), (true, true));
        // Nobody follows any more, and nothing is kept for those who did.
        store.replace(Vec::new());
        assert!(store.shared.watched.lock().is_empty());
    }

    #[tokio::test]
    async fn nothing_is_kept_for_an_object_that_is_gone_and_who_follows_it_hears_of_it() {
        let store = Store::new(Changed::default());
        store.replace(vec![setting("a", "1", 1), setting("b", "2", 1)]);
        let (mut removed, mut replaced) = (store.watch("1"), store.watch("2"));
        store.remove("a");
        store.apply(setting("b", "3", 2));
        assert!(store.shared.watched.lock().is_empty());
        for gone in [&mut removed, &mut replaced] {
            assert!(gone.changed().await.is_ok(), "told of its end");
            assert!(gone.changed().await.is_err(), "and of nothing more");
        }
    }

    #[tokio::test]
    async fn pages_reflect_each_other_without_gap_or_repetition() {
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
        // The object at the boundary goes away between two pages.
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
    async fn a_name_made_again_has_only_the_new_uid() {
        let store = Store::new(Changed::default());
        store.replace(vec![setting("a", "old", 1)]);
        store.apply(setting("a", "new", 2));
        assert!(store.by_uid("old").is_none());
        assert!(store.by_uid("new").is_some());
        store.remove("a");
        assert!(store.by_uid("new").is_none());
    }

    #[tokio::test(start_paused = true)]
    async fn a_write_is_waited_for_until_the_watch_brings_it() {
        let store = Store::new(Changed::default());
        store.replace(vec![setting("a", "1", 5)]);
        let written = setting("a", "1", 10);
        assert!(
            !store
                .wait_for_within(&written, Duration::from_secs(1))
                .await
        );
        let (seen, ()) = tokio::join!(
            store.wait_for_within(&written, Duration::from_mins(1)),
            async {
                store.apply(setting("a", "1", 9));
                tokio::task::yield_now().await;
                store.apply(setting("a", "1", 11));
            }
        );
        assert!(seen);
    }

    #[tokio::test(start_paused = true)]
    async fn age_counts_from_the_last_sign_of_the_hub() {
        let store = Store::<Setting>::new(Changed::default());
        tokio::time::advance(Duration::from_secs(7)).await;
        assert_eq!(store.age(), Duration::from_secs(7));
        store.touch();
        assert_eq!(store.age(), Duration::ZERO);
    }
}
