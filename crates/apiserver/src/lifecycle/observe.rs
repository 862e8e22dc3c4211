//! The feed of objects from the store: a list, then a watch.

use std::time::Duration;

use futures::stream::{self, BoxStream, StreamExt};

use super::ObjectPath;
use super::feed::{Observed, ObservedObject};
use crate::store::{
    At, Batch, Event, List, ListError, Rest, Store, StoreError, Stored, Watch, WatchEnd, WatchError,
};

/// Number of objects per read of the store.
const PAGE: usize = 500;
const FIRST_PAUSE: Duration = Duration::from_millis(50);
const LONGEST_PAUSE: Duration = Duration::from_secs(10);

/// Returns all objects whose keys start with `prefix`, then their changes, until the store is
/// closed.
///
/// During the initial list, the feed may deliver a new state of an object, then an older state from
/// the list. The feed always delivers the newest state last. The list may take longer than the
/// store retains history. If the feed misses changes, it starts again with [`Observed::Restart`].
pub fn observe(store: Store, prefix: impl Into<String>) -> BoxStream<'static, Observed> {
    let reader = Reader {
        store,
        prefix: prefix.into(),
        phase: Phase::Begin,
        pause: FIRST_PAUSE,
    };
    stream::unfold(Some(reader), |reader| async move {
        let mut reader = reader?;
        match reader.step().await {
            Ok(observed) => Some((observed, Some(reader))),
            Err(Closed) => None,
        }
    })
    .flat_map(stream::iter)
    .boxed()
}

struct Reader {
    store: Store,
    prefix: String,
    phase: Phase,
    /// The delay before the next restart.
    pause: Duration,
}

enum Phase {
    Begin,
    List(Box<Listing>),
    Watch(Box<Watch>),
    /// The feed waits after an error before it restarts.
    Pause,
}

/// The progress of the initial list. The feed reads the list in pages while objects change.
///
/// Each page has its own revision. The feed delivers the changes before that revision first, then
/// the page. A page is therefore never older than a delivered change. A change waits for at most
/// one page.
struct Listing {
    watch: Watch,
    /// Changes up to this revision are delivered before the next page.
    until: u64,
    after: Option<String>,
}

/// The store is closed.
struct Closed;

impl Reader {
    async fn step(&mut self) -> Result<Vec<Observed>, Closed> {
        match std::mem::replace(&mut self.phase, Phase::Pause) {
            Phase::Begin => self.begin(),
            Phase::Pause => {
                tokio::time::sleep(self.pause).await;
                self.pause = (self.pause * 2).min(LONGEST_PAUSE);
                self.phase = Phase::Begin;
                Ok(Vec::new())
            }
            Phase::List(listing) => self.list(listing).await,
            Phase::Watch(mut watch) => match watch.next().await {
                Ok(batch) => {
                    self.phase = Phase::Watch(watch);
                    Ok(changes(&batch))
                }
                Err(end) => {
                    let watch = self.resume(&watch, &end)?;
                    self.phase = watch.map_or(Phase::Pause, |watch| Phase::Watch(Box::new(watch)));
                    Ok(Vec::new())
                }
            },
        }
    }

    fn begin(&mut self) -> Result<Vec<Observed>, Closed> {
        let from = self.store.revision();
        match self.store.watch_pinned(self.prefix.as_str(), from) {
            Ok(watch) => {
                let listing = Listing {
                    watch,
                    until: from,
                    after: None,
                };
                self.phase = Phase::List(Box::new(listing));
                Ok(vec![Observed::Restart])
            }
            Err(WatchError::Closed) => Err(Closed),
            Err(WatchError::Compacted { .. } | WatchError::Future { .. }) => Ok(Vec::new()),
        }
    }

    /// Delivers pending changes. Delivers the next page if no changes are pending.
    async fn list(&mut self, mut listing: Box<Listing>) -> Result<Vec<Observed>, Closed> {
        if listing.watch.revision() < listing.until {
            match listing.watch.pending().await {
                Ok(Some(batch)) => {
                    self.phase = Phase::List(listing);
                    return Ok(changes(&batch));
                }
                // The latest changes have not reached the watch yet.
                Ok(None) => {}
                Err(end) => {
                    if let Some(watch) = self.resume(&listing.watch, &end)? {
                        listing.watch = watch;
                        self.phase = Phase::List(listing);
                    }
                    return Ok(Vec::new());
                }
            }
        }
        let list = List {
            prefix: self.prefix.clone(),
            after: listing.after.take(),
            limit: Some(PAGE),
            at: At::Latest,
            rest: Rest::Peek,
        };
        let page = match self.store.list(list).await {
            Ok(page) => page,
            Err(ListError::Store(StoreError::Closed)) => return Err(Closed),
            Err(error) => {
                tracing::warn!(%error, prefix = self.prefix, "failed to list objects; retrying");
                return Ok(Vec::new());
            }
        };
        let mut observed: Vec<Observed> = page.items.iter().filter_map(put).collect();
        if page.remaining == 0 {
            self.pause = FIRST_PAUSE;
            self.phase = Phase::Watch(Box::new(listing.watch));
            observed.push(Observed::Synced);
        } else {
            listing.after = page.items.last().map(|last| last.key.to_string());
            listing.until = self.store.revision();
            self.phase = Phase::List(listing);
        }
        Ok(observed)
    }

    /// Creates a watch that continues at the end of the watch `ended`. Returns `None` if changes
    /// were missed.
    fn resume(&self, ended: &Watch, end: &WatchEnd) -> Result<Option<Watch>, Closed> {
        let resumed = match end {
            WatchEnd::Closed => return Err(Closed),
            WatchEnd::Lagged => self
                .store
                .watch_pinned(self.prefix.as_str(), ended.revision()),
            WatchEnd::Compacted { floor } => Err(WatchError::Compacted { floor: *floor }),
            WatchEnd::Store(error) => {
                tracing::warn!(%error, prefix = self.prefix, "failed to read the changes of a \
                                                              watch; listing again");
                return Ok(None);
            }
        };
        match resumed {
            Ok(watch) => Ok(Some(watch)),
            Err(WatchError::Closed) => Err(Closed),
            Err(error) => {
                tracing::warn!(%error, prefix = self.prefix, "cannot resume the watch; listing \
                                                              again");
                Ok(None)
            }
        }
    }
}

fn changes(batch: &Batch) -> Vec<Observed> {
    let changes = batch.events.iter();
    changes.filter_map(|notice| change(notice)).collect()
}

fn change(event: &Event) -> Option<Observed> {
    match event {
        Event::Put { stored, .. } => put(stored),
        Event::Delete { stored, .. } => seen(stored).map(Observed::Gone),
    }
}

fn put(stored: &Stored) -> Option<Observed> {
    seen(stored).map(Observed::Put)
}

fn seen(stored: &Stored) -> Option<ObservedObject> {
    ObservedObject::parse(path(&stored.key)?, stored.value.clone())
}

/// Parses a key such as `/core/pods/shop/web` or `/core/nodes//n1`.
fn path(key: &str) -> Option<ObjectPath> {
    let mut parts = key.strip_prefix('/')?.splitn(4, '/');
    let (group, resource) = (parts.next()?, parts.next()?);
    let (namespace, name) = (parts.next()?, parts.next()?);
    let group = if group == "core" { "" } else { group };
    Some(ObjectPath::new(group, resource, namespace, name))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::store::{Change, StoreOptions};

    fn open(options: StoreOptions) -> (tempfile::TempDir, Store) {
        let folder = tempfile::tempdir().unwrap();
        let store = Store::open(&folder.path().join("hub.db"), options).unwrap();
        (folder, store)
    }

    async fn create(store: &Store, key: &str) -> u64 {
        let value = json!({"metadata": {"uid": key}}).to_string();
        store.commit(Change::create(key, value)).await.unwrap()
    }

    async fn next(feed: &mut BoxStream<'static, Observed>) -> String {
        let observed = tokio::time::timeout(Duration::from_secs(10), feed.next());
        match observed
            .await
            .expect("the feed delivers an element within 10 seconds")
        {
            None => "end".to_owned(),
            Some(Observed::Restart) => "restart".to_owned(),
            Some(Observed::Synced) => "synced".to_owned(),
            Some(Observed::Put(seen)) => format!("put {} {}", seen.path, seen.metadata.uid),
            Some(Observed::Gone(seen)) => format!("gone {}", seen.path),
        }
    }

    #[tokio::test]
    async fn feed_delivers_existing_objects_before_changes() {
        let (_folder, store) = open(StoreOptions::default());
        create(&store, "/core/nodes//n").await;
        let mut feed = observe(store.clone(), "/");
        assert_eq!(next(&mut feed).await, "restart");
        assert_eq!(next(&mut feed).await, "put nodes. /n /core/nodes//n");
        assert_eq!(next(&mut feed).await, "synced");
        let revision = create(&store, "/apps/deployments/d/web").await;
        let put = "put deployments.apps d/web /apps/deployments/d/web";
        assert_eq!(next(&mut feed).await, put);
        let delete = Change::delete("/apps/deployments/d/web", revision);
        store.commit(delete).await.unwrap();
        assert_eq!(next(&mut feed).await, "gone deployments.apps d/web");
    }

    #[tokio::test]
    async fn initial_list_in_pages_is_complete_despite_concurrent_changes() {
        let (_folder, store) = open(StoreOptions::default());
        for number in 0..=PAGE {
            create(&store, &format!("/core/pods/d/{number:04}")).await;
        }
        let mut feed = observe(store.clone(), "/core/pods/");
        assert_eq!(next(&mut feed).await, "restart");
        assert!(next(&mut feed).await.starts_with("put pods. d/0000"));
        // The key of this object sorts before the objects that were already read.
        create(&store, "/core/pods/a/early").await;
        create(&store, "/core/secrets/d/other").await;
        let mut puts = 1;
        loop {
            match next(&mut feed).await.as_str() {
                "synced" => break,
                _ => puts += 1,
            }
        }
        assert_eq!(puts, PAGE + 1);
        assert!(next(&mut feed).await.starts_with("put pods. a/early"));
    }

    #[tokio::test]
    async fn lagging_feed_restarts_with_a_new_list() {
        let (_folder, store) = open(StoreOptions {
            watch_changes: 4,
            ..StoreOptions::default()
        });
        let mut feed = observe(store.clone(), "/");
        assert_eq!(next(&mut feed).await, "restart");
        assert_eq!(next(&mut feed).await, "synced");
        for number in 0..64 {
            create(&store, &format!("/core/pods/d/{number:02}")).await;
        }
        store.compact(store.revision()).await.unwrap();
        let mut restarted = false;
        let mut after = 0;
        while after < 64 {
            match next(&mut feed).await.as_str() {
                "restart" => (restarted, after) = (true, 0),
                "synced" => {}
                _ => after += 1,
            }
        }
        assert!(restarted);
    }

    #[tokio::test]
    async fn slow_feed_receives_all_changes_without_a_restart() {
        let (_folder, store) = open(StoreOptions {
            watch_changes: 4,
            ring_changes: 4,
            ..StoreOptions::default()
        });
        let mut feed = observe(store.clone(), "/");
        assert_eq!(next(&mut feed).await, "restart");
        assert_eq!(next(&mut feed).await, "synced");
        for number in 0..64 {
            create(&store, &format!("/core/pods/d/{number:02}")).await;
        }
        for number in 0..64 {
            let put = next(&mut feed).await;
            assert!(
                put.starts_with(&format!("put pods. d/{number:02}")),
                "{put}"
            );
        }
    }

    #[tokio::test]
    async fn initial_list_of_the_feed_completes_although_its_history_was_compacted() {
        let (_folder, store) = open(StoreOptions {
            history: Duration::from_millis(1),
            short_history: Duration::from_millis(1),
            ring_changes: 1,
            watch_changes: 4,
            ..StoreOptions::default()
        });
        for number in 0..=2 * PAGE {
            create(&store, &format!("/core/pods/d/{number:04}")).await;
        }
        let mut feed = observe(store.clone(), "/");
        assert_eq!(next(&mut feed).await, "restart");
        assert!(next(&mut feed).await.starts_with("put pods. d/0000"));
        // The loop makes enough changes to overflow the watch's queue, and takes enough time for
        // compaction of old history.
        for number in 0..16 {
            create(&store, &format!("/core/pods/a/{number:02}")).await;
        }
        tokio::time::sleep(Duration::from_millis(1100)).await;
        create(&store, "/core/pods/a/last").await;
        tokio::time::sleep(Duration::from_millis(1100)).await;
        create(&store, "/core/pods/z/other").await;
        let mut seen = std::collections::BTreeSet::new();
        let mut synced = false;
        while !(synced && seen.contains("z/other")) {
            let observed = next(&mut feed).await;
            assert_ne!(observed, "restart");
            synced |= observed == "synced";
            if let Some(put) = observed.strip_prefix("put pods. ") {
                seen.extend(put.split(' ').next().map(str::to_owned));
            }
        }
        assert_eq!(seen.len(), 2 * PAGE + 16 + 2);
    }

    #[tokio::test]
    async fn feed_reports_object_deleted_during_initial_list() {
        let (_folder, store) = open(StoreOptions::default());
        let mut last = 0;
        for number in 0..=PAGE {
            last = create(&store, &format!("/core/pods/d/{number:04}")).await;
        }
        let mut feed = observe(store.clone(), "/");
        assert_eq!(next(&mut feed).await, "restart");
        assert!(next(&mut feed).await.starts_with("put pods. d/0000"));
        let key = format!("/core/pods/d/{PAGE:04}");
        store.commit(Change::delete(&key, last)).await.unwrap();
        let again = create(&store, &key).await;
        store.commit(Change::delete(&key, again)).await.unwrap();
        let gone = format!("gone pods. d/{PAGE:04}");
        create(&store, "/core/pods/z/end").await;
        let (mut all, mut synced) = (Vec::new(), false);
        while !(synced
            && all
                .last()
                .is_some_and(|last: &String| last.contains("z/end")))
        {
            all.push(next(&mut feed).await);
            synced |= all.last().is_some_and(|last| last == "synced");
        }
        let mut of_key = all.iter().filter(|one| one.contains(&format!("{PAGE:04}")));
        assert_eq!(of_key.next_back(), Some(&gone));
    }

    #[test]
    fn feed_skips_objects_with_malformed_keys() {
        assert_eq!(
            path("/core/nodes//n"),
            Some(ObjectPath::new("", "nodes", "", "n"))
        );
        assert_eq!(
            path("/rbac.authorization.k8s.io/clusterroles//a/b"),
            Some(ObjectPath::new(
                "rbac.authorization.k8s.io",
                "clusterroles",
                "",
                "a/b"
            ))
        );
        assert_eq!(path("/core/nodes"), None);
        assert_eq!(path("core/nodes//n"), None);
    }
}
