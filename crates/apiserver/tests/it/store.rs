//! Tests of the store through its public API.

use std::path::Path;
use std::time::Duration;

use drover_apiserver::store::{
    At, Batch, Change, CommitError, Event, List, ListError, OpenError, Rest, Store, StoreOptions,
    Watch, WatchEnd, WatchError,
};
use serde_json::{Value, json};
use tempfile::TempDir;
use tokio::time::timeout;

mod copies;
mod full;
mod history;
mod model;
mod open;

mod watch;

/// Timeout for store operations, long enough for slow machines.
const TIMEOUT: Duration = Duration::from_secs(20);

/// A store in a temporary folder.
struct Fixture {
    store: Store,
    folder: TempDir,
}

fn fixture() -> Fixture {
    fixture_with(StoreOptions::default())
}

fn fixture_with(options: StoreOptions) -> Fixture {
    let folder = tempfile::tempdir().unwrap();
    let store = open(folder.path(), options);
    Fixture { store, folder }
}

fn open(folder: &Path, options: StoreOptions) -> Store {
    Store::open(&folder.join("store.db"), options).unwrap()
}

/// Returns an object whose spec is `text`.
fn object(name: &str, text: &str) -> Vec<u8> {
    serde_json::to_vec(&json!({"kind": "Thing", "metadata": {"name": name}, "spec": text})).unwrap()
}

fn key(name: &str) -> String {
    format!("/core/things/ns/{name}")
}

impl Fixture {
    async fn create(&self, name: &str, text: &str) -> u64 {
        let change = Change::create(key(name), object(name, text));
        self.store.commit(change).await.unwrap()
    }

    async fn update(&self, name: &str, revision: u64, text: &str) -> u64 {
        let change = Change::update(key(name), revision, object(name, text));
        self.store.commit(change).await.unwrap()
    }

    async fn delete(&self, name: &str, revision: u64) -> u64 {
        let change = Change::delete(key(name), revision);
        self.store.commit(change).await.unwrap()
    }

    /// Returns the specs of all objects by name, at a revision.
    async fn specs(&self, at: At) -> Vec<(String, String)> {
        let list = List {
            at,
            ..List::all("/core/things/")
        };
        let page = self.store.list(list).await.unwrap();
        page.items
            .iter()
            .map(|stored| spec_of(&stored.object().unwrap()))
            .collect()
    }
}

fn spec_of(object: &Value) -> (String, String) {
    let text = |value: &Value| value.as_str().unwrap().to_owned();
    (text(&object["metadata"]["name"]), text(&object["spec"]))
}

/// Returns the next batch; panics after the timeout.
async fn next(watch: &mut Watch) -> Result<Batch, WatchEnd> {
    timeout(TIMEOUT, watch.next()).await.unwrap()
}

/// Returns the next `count` events as (revision, key, type).
async fn events(watch: &mut Watch, count: usize) -> Vec<(u64, String, &'static str)> {
    let mut seen = Vec::new();
    while seen.len() < count {
        for event in next(watch).await.unwrap().events.iter() {
            let kind = match &***event {
                Event::Put { previous: None, .. } => "added",
                Event::Put { .. } => "modified",
                Event::Delete { .. } => "deleted",
            };
            seen.push((event.revision(), event.key().to_string(), kind));
        }
    }
    seen
}

#[tokio::test]
async fn written_value_is_read_with_its_revision() {
    let fixture = fixture();
    let first = fixture.create("a", "one").await;
    let stored = fixture.store.get(&key("a")).await.unwrap().unwrap();
    assert_eq!(stored.revision, first);
    let object = stored.object().unwrap();
    assert_eq!(object["metadata"]["resourceVersion"], first.to_string());
    let second = fixture.update("a", first, "two").await;
    assert!(second > first);
    let stored = fixture.store.get(&key("a")).await.unwrap().unwrap();
    assert_eq!(
        (stored.revision, &stored.object().unwrap()["spec"]),
        (second, &json!("two"))
    );
    fixture.delete("a", second).await;
    assert_eq!(fixture.store.get(&key("a")).await.unwrap(), None);
}

#[tokio::test]
async fn failed_precondition_returns_the_current_value() {
    let fixture = fixture();
    let first = fixture.create("a", "one").await;
    let there = fixture.store.get(&key("a")).await.unwrap();
    for change in [
        Change::create(key("a"), object("a", "two")),
        Change::update(key("a"), first + 1, object("a", "two")),
        Change::delete(key("a"), first - 1),
    ] {
        match fixture.store.commit(change).await {
            Err(CommitError::Conflict(found)) => assert_eq!(found, there),
            other => panic!("unexpected result: {other:?}"),
        }
    }
    for change in [
        Change::update(key("b"), first, object("b", "two")),
        Change::delete(key("b"), first),
    ] {
        match fixture.store.commit(change).await {
            Err(CommitError::Conflict(None)) => {}
            other => panic!("unexpected result: {other:?}"),
        }
    }
    assert_eq!(fixture.store.revision(), first);
}

#[tokio::test]
async fn put_of_equal_value_retains_the_revision() {
    let fixture = fixture();
    let first = fixture.create("a", "one").await;
    assert_eq!(fixture.update("a", first, "one").await, first);
    assert_eq!(fixture.store.revision(), first);
}

#[tokio::test]
async fn concurrent_writes_have_distinct_revisions() {
    let fixture = fixture();
    let before = fixture.store.revision();
    let writers = (0..200).map(|number| {
        let store = fixture.store.clone();
        async move {
            let name = format!("n{number}");
            let change = Change::create(key(&name), object(&name, "x"));
            let revision = store.commit(change).await.unwrap();
            // The write is readable as soon as it is acknowledged.
            let stored = store.get(&key(&name)).await.unwrap().unwrap();
            assert_eq!(stored.revision, revision);
            revision
        }
    });
    let mut revisions = futures::future::join_all(writers).await;
    revisions.sort_unstable();
    assert_eq!(revisions, (before + 1..=before + 200).collect::<Vec<_>>());
}

#[tokio::test]
async fn exactly_one_concurrent_change_of_the_same_revision_succeeds() {
    let fixture = fixture();
    let first = fixture.create("a", "0").await;
    let writers = (1..=50).map(|number| {
        let change = Change::update(key("a"), first, object("a", &number.to_string()));
        fixture.store.commit(change)
    });
    let results = futures::future::join_all(writers).await;
    let created: Vec<u64> = results
        .iter()
        .filter_map(|result| result.as_ref().ok().copied())
        .collect();
    assert_eq!(created, [first + 1]);
    for result in results {
        match result {
            Ok(_) => {}
            Err(CommitError::Conflict(Some(found))) => assert_eq!(found.revision, first + 1),
            Err(other) => panic!("unexpected result: {other:?}"),
        }
    }
}

#[tokio::test]
async fn malformed_values_are_not_stored() {
    let fixture = fixture();
    for value in [&b"{"[..], br#"{"metadata":{"resourceVersion":"1"}}"#] {
        let refused = fixture.store.commit(Change::create(key("a"), value)).await;
        assert!(
            matches!(refused, Err(CommitError::Malformed(_))),
            "{refused:?}"
        );
    }
    let nothing = Change {
        expect: drover_apiserver::store::Expect::Absent,
        ..Change::delete(key("a"), 1)
    };
    let refused = fixture.store.commit(nothing).await;
    assert!(
        matches!(refused, Err(CommitError::Malformed(_))),
        "{refused:?}"
    );
}

#[tokio::test]
async fn concatenated_pages_equal_the_complete_list() {
    let fixture = fixture();
    for name in ["d", "a", "c", "b", "e"] {
        fixture.create(name, name).await;
    }
    // The keys are adjacent to the prefix, but do not start with it.
    for key in ["/core/things", "/core/things0", "/core/thing/ns/x"] {
        fixture
            .store
            .commit(Change::create(key, "1"))
            .await
            .unwrap();
    }
    let mut list = List {
        limit: Some(2),
        ..List::all("/core/things/")
    };
    let mut seen = Vec::new();
    for remaining in [3, 1, 0] {
        let page = fixture.store.list(list.clone()).await.unwrap();
        assert_eq!(
            (page.remaining, page.revision),
            (remaining, fixture.store.revision())
        );
        list.after = page.items.last().map(|stored| stored.key.to_string());
        seen.extend(page.items.into_iter().map(|stored| stored.key.to_string()));
    }
    assert_eq!(seen, ["a", "b", "c", "d", "e"].map(key));
    let page = fixture.store.list(list).await.unwrap();
    assert_eq!((page.items.len(), page.remaining), (0, 0));
}
