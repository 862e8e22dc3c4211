//! Tests of watches through the store's public API: order, history, and slow watchers.

use super::*;

#[tokio::test]
async fn watch_returns_all_changes_of_its_prefix_in_order() {
    let fixture = fixture();
    let mut all = fixture
        .store
        .watch("/core/things/", fixture.store.revision())
        .unwrap();
    let mut one = fixture
        .store
        .watch(key("a"), fixture.store.revision())
        .unwrap();
    let mut other = fixture
        .store
        .watch("/core/others/", fixture.store.revision())
        .unwrap();
    let first = fixture.create("a", "one").await;
    let second = fixture.create("b", "one").await;
    let third = fixture.update("a", first, "two").await;
    let fourth = fixture.delete("a", third).await;
    let a = |revision, kind| (revision, key("a"), kind);
    assert_eq!(
        events(&mut all, 4).await,
        [
            a(first, "added"),
            (second, key("b"), "added"),
            a(third, "modified"),
            a(fourth, "deleted")
        ]
    );
    assert_eq!(
        events(&mut one, 3).await,
        [
            a(first, "added"),
            a(third, "modified"),
            a(fourth, "deleted")
        ]
    );
    assert_eq!(all.revision(), fourth);
    // The other watch returns progress only.
    while other.revision() < fourth {
        let batch = other.progress();
        assert!(batch.is_none_or(|batch| batch.events.is_empty()));
        tokio::task::yield_now().await;
    }
}

#[tokio::test]
async fn watch_events_contain_the_previous_value() {
    let fixture = fixture();
    let first = fixture.create("a", "one").await;
    let mut watch = fixture.store.watch("/core/things/", first).unwrap();
    let second = fixture.update("a", first, "two").await;
    let batch = next(&mut watch).await.unwrap();
    match &**batch.events[0] {
        Event::Put {
            stored,
            previous: Some(previous),
        } => {
            assert_eq!((stored.revision, previous.revision), (second, first));
            assert_eq!(spec_of(&previous.object().unwrap()).1, "one");
        }
        other => panic!("unexpected result: {other:?}"),
    }
    let third = fixture.delete("a", second).await;
    let batch = next(&mut watch).await.unwrap();
    match &**batch.events[0] {
        Event::Delete { stored, revision } => {
            assert_eq!((stored.revision, *revision), (second, third));
            assert_eq!(spec_of(&stored.object().unwrap()).1, "two");
        }
        other @ Event::Put { .. } => panic!("unexpected result: {other:?}"),
    }
}

/// Checks that a watch returns equal events from memory and from the log.
#[tokio::test]
async fn watch_from_old_revision_returns_all_later_changes() {
    for ring_changes in [0, 3, 10_000] {
        let fixture = fixture_with(StoreOptions {
            ring_changes,
            ..StoreOptions::default()
        });
        let start = fixture.store.revision();
        let mut live = fixture.store.watch("/core/things/", start).unwrap();
        let mut expected = Vec::new();
        for number in 0..40 {
            let name = format!("n{}", number % 7);
            let there = fixture.store.get(&key(&name)).await.unwrap();
            let (revision, kind) = match there {
                None => (fixture.create(&name, "x").await, "added"),
                Some(stored) if number % 5 == 0 => {
                    (fixture.delete(&name, stored.revision).await, "deleted")
                }
                Some(stored) => {
                    let text = number.to_string();
                    (
                        fixture.update(&name, stored.revision, &text).await,
                        "modified",
                    )
                }
            };
            expected.push((revision, key(&name), kind));
        }
        assert_eq!(events(&mut live, 40).await, expected);
        for skipped in [0, 1, 17, 39] {
            let from = start + skipped as u64;
            let mut watch = fixture.store.watch("/core/things/", from).unwrap();
            assert_eq!(events(&mut watch, 40 - skipped).await, expected[skipped..]);
        }
        // The events also have equal content.
        let mut again = fixture.store.watch("/core/things/", start).unwrap();
        let mut frames = Vec::new();
        while frames.len() < 40 {
            let batch = next(&mut again).await.unwrap();
            frames.extend(batch.events.iter().map(|event| event.frame()));
        }
        let last: Value = serde_json::from_slice(frames.last().unwrap()).unwrap();
        let revision = expected.last().unwrap().0.to_string();
        assert_eq!(last["object"]["metadata"]["resourceVersion"], revision);
    }
}

#[tokio::test]
async fn unread_watch_is_closed_without_blocking_writes() {
    let fixture = fixture_with(StoreOptions {
        watch_changes: 10,
        ..StoreOptions::default()
    });
    let mut slow = fixture
        .store
        .watch("/core/things/", fixture.store.revision())
        .unwrap();
    for number in 0..50 {
        fixture.create(&format!("n{number}"), "x").await;
    }
    let mut reported = 0;
    let end = loop {
        match next(&mut slow).await {
            Ok(batch) => reported += batch.events.len(),
            Err(end) => break end,
        }
    };
    assert!(matches!(end, WatchEnd::Lagged), "{end:?}");
    // The store drops the queued events of the watch. The client can start again from its last
    // revision.
    assert_eq!(reported, 0);
    let mut resumed = fixture
        .store
        .watch("/core/things/", slow.revision())
        .unwrap();
    assert_eq!(
        events(&mut resumed, 50 - reported).await.len(),
        50 - reported
    );
}

#[tokio::test]
async fn idle_watch_returns_progress_without_events() {
    let fixture = fixture_with(StoreOptions {
        progress_every: Duration::from_millis(5),
        ..StoreOptions::default()
    });
    let mut watch = fixture
        .store
        .watch("/core/others/", fixture.store.revision())
        .unwrap();
    let mut last = 0;
    for number in 0..3 {
        let revision = fixture.create(&format!("n{number}"), "x").await;
        while last < revision {
            let batch = next(&mut watch).await.unwrap();
            assert!(batch.events.is_empty() && batch.revision > last);
            last = batch.revision;
        }
    }
}

#[tokio::test]
async fn watch_from_a_revision_outside_the_history_is_rejected() {
    let fixture = fixture();
    let current = fixture.create("a", "one").await;
    match fixture.store.watch("/core/things/", current + 1) {
        Err(WatchError::Future { current: told }) => assert_eq!(told, current),
        other => panic!("unexpected result: {other:?}"),
    }
    fixture.store.compact(current).await.unwrap();
    match fixture.store.watch("/core/things/", current - 1) {
        Err(WatchError::Compacted { floor }) => assert_eq!(floor, current),
        other => panic!("unexpected result: {other:?}"),
    }
    fixture.store.watch("/core/things/", current).unwrap();
}

#[tokio::test]
async fn watches_end_when_the_store_closes() {
    let fixture = fixture();
    let mut watch = fixture.store.watch("/", fixture.store.revision()).unwrap();
    fixture.create("a", "one").await;
    let folder = fixture.folder;
    drop(fixture.store);
    assert_eq!(next(&mut watch).await.unwrap().events.len(), 1);
    let end = next(&mut watch).await.unwrap_err();
    assert!(matches!(end, WatchEnd::Closed), "{end:?}");
    // The store can be opened again while the watch object exists.
    open(folder.path(), StoreOptions::default());
}
