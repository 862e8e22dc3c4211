//! The feed, read from the store: first what there is, then what changes.

use std::time::Duration;

use futures::stream::{self, BoxStream, StreamExt};

use super::ObjectPath;
use super::feed::{Observed, Seen};
use crate::store::{At, Batch, Event, List, ListError, Store, Stored, Watch, WatchEnd, WatchError};

/// Objects read at a time.
const PAGE: usize = 500;
const FIRST_PAUSE: Duration = Duration::from_millis(50);
const LONGEST_PAUSE: Duration = Duration::from_secs(10);

/// All objects whose keys begin with `prefix`, and their changes, until the store is closed.
///
/// An object that changes while the list is read may be shown in an older state after a newer
/// one; its newest state always comes last. When changes were missed, everything is shown again
/// after [`Observed::Restart`].
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
    /// Before the next restart.
    pause: Duration,
}

enum Phase {
    Begin,
    /// Everything after `from` is still to be watched.
    List {
        from: u64,
        after: Option<String>,
    },
    Watch(Box<Watch>),
    /// What went wrong needs time.
    Pause,
}

/// The store is closed.
struct Closed;

impl Reader {
    async fn step(&mut self) -> Result<Vec<Observed>, Closed> {
        match &mut self.phase {
            Phase::Begin => {
                let from = self.store.revision();
                self.phase = Phase::List { from, after: None };
                Ok(vec![Observed::Restart])
            }
            Phase::Pause => {
                tokio::time::sleep(self.pause).await;
                self.pause = (self.pause * 2).min(LONGEST_PAUSE);
                self.phase = Phase::Begin;
                Ok(Vec::new())
            }
            Phase::List { from, after } => {
                let (from, after) = (*from, after.take());
                self.list(from, after).await
            }
            Phase::Watch(watch) => {
                let outcome = watch.next().await;
                self.watched(outcome)
            }
        }
    }

    async fn list(&mut self, from: u64, after: Option<String>) -> Result<Vec<Observed>, Closed> {
        let list = List {
            prefix: self.prefix.clone(),
            after,
            limit: Some(PAGE),
            // The watch goes on from before the first page, so pages need not be of one moment.
            at: At::Latest,
        };
        let page = match self.store.list(list).await {
            Ok(page) => page,
            Err(ListError::Compacted { .. } | ListError::Future { .. }) => {
                return Ok(self.restart());
            }
            Err(ListError::Store(error)) => {
                tracing::warn!(%error, prefix = self.prefix, "objects cannot be listed; trying again");
                return Ok(self.restart());
            }
        };
        let mut observed: Vec<Observed> = page.items.iter().filter_map(put).collect();
        if page.remaining == 0 {
            match self.store.watch(self.prefix.as_str(), from) {
                Ok(watch) => self.phase = Phase::Watch(Box::new(watch)),
                Err(WatchError::Closed) => return Err(Closed),
                Err(WatchError::Compacted { .. } | WatchError::Future { .. }) => {
                    return Ok(self.restart());
                }
            }
            self.pause = FIRST_PAUSE;
            observed.push(Observed::Synced);
        } else {
            let after = page.items.last().map(|last| last.key.to_string());
            self.phase = Phase::List { from, after };
        }
        Ok(observed)
    }

    fn watched(&mut self, outcome: Result<Batch, WatchEnd>) -> Result<Vec<Observed>, Closed> {
        match outcome {
            Ok(batch) => {
                let changes = batch.events.iter();
                Ok(changes.filter_map(|notice| change(notice)).collect())
            }
            Err(WatchEnd::Closed) => Err(Closed),
            Err(end) => {
                tracing::warn!(%end, prefix = self.prefix, "changes were missed; reading all again");
                Ok(self.restart())
            }
        }
    }

    fn restart(&mut self) -> Vec<Observed> {
        self.phase = Phase::Pause;
        Vec::new()
    }
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

fn seen(stored: &Stored) -> Option<Seen> {
    Seen::parse(path(&stored.key)?, stored.value.clone())
}

/// The path of a key such as `/core/pods/shop/web` or `/core/nodes//n1`.
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
        match observed.await.expect("something happens") {
            None => "end".to_owned(),
            Some(Observed::Restart) => "restart".to_owned(),
            Some(Observed::Synced) => "synced".to_owned(),
            Some(Observed::Put(seen)) => format!("put {} {}", seen.path, seen.metadata.uid),
            Some(Observed::Gone(seen)) => format!("gone {}", seen.path),
        }
    }

    #[tokio::test]
    async fn what_there_is_comes_first_then_what_changes() {
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
    async fn a_long_list_comes_whole_and_changes_made_while_it_is_read_are_not_missed() {
        let (_folder, store) = open(StoreOptions::default());
        for number in 0..=PAGE {
            create(&store, &format!("/core/pods/d/{number:04}")).await;
        }
        let mut feed = observe(store.clone(), "/core/pods/");
        assert_eq!(next(&mut feed).await, "restart");
        assert!(next(&mut feed).await.starts_with("put pods. d/0000"));
        // Sorted before what was read already.
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
    async fn a_feed_that_was_left_behind_starts_again() {
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

    #[test]
    fn keys_are_paths_and_what_is_no_key_is_left_out() {
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
