//! Tests of lists at old revisions, and of compaction.

use super::*;

#[tokio::test]
async fn store_list_at_earlier_revision_returns_the_state_of_that_revision() {
    let fixture = fixture();
    let a = fixture.create("a", "a1").await;
    let b = fixture.create("b", "b1").await;
    let a2 = fixture.update("a", a, "a2").await;
    let gone = fixture.delete("b", b).await;
    let back = fixture.create("b", "b2").await;
    let pair = |name: &str, text: &str| (name.to_owned(), text.to_owned());
    assert_eq!(fixture.specs(At::Exact(a - 1)).await, []);
    assert_eq!(fixture.specs(At::Exact(a)).await, [pair("a", "a1")]);
    assert_eq!(
        fixture.specs(At::Exact(b)).await,
        [pair("a", "a1"), pair("b", "b1")]
    );
    assert_eq!(
        fixture.specs(At::Exact(a2)).await,
        [pair("a", "a2"), pair("b", "b1")]
    );
    assert_eq!(fixture.specs(At::Exact(gone)).await, [pair("a", "a2")]);
    assert_eq!(
        fixture.specs(At::Exact(back)).await,
        fixture.specs(At::Latest).await
    );
    // Objects have their old content and revisions.
    let list = List {
        at: At::Exact(b),
        ..List::all("/core/things/")
    };
    let page = fixture.store.list(list).await.unwrap();
    let revisions: Vec<u64> = page.items.iter().map(|stored| stored.revision).collect();
    assert_eq!((page.revision, revisions), (b, vec![a, b]));
}

#[tokio::test]
async fn paged_list_ignores_concurrent_changes() {
    let fixture = fixture();
    let mut revisions = Vec::new();
    for number in 0..9 {
        revisions.push(fixture.create(&format!("n{number}"), "old").await);
    }
    let mut list = List {
        limit: Some(4),
        ..List::all("/core/things/")
    };
    let first = fixture.store.list(list.clone()).await.unwrap();
    for (number, revision) in revisions.into_iter().enumerate().skip(2) {
        let name = format!("n{number}");
        if number % 2 == 0 {
            fixture.update(&name, revision, "new").await;
        } else {
            fixture.delete(&name, revision).await;
        }
        fixture.create(&format!("m{number}"), "new").await;
        fixture.create(&format!("o{number}"), "new").await;
    }
    list.at = At::Exact(first.revision);
    let mut seen = first.items.len();
    assert_eq!((seen, first.remaining), (4, 5));
    for remaining in [1, 0] {
        list.after = Some(key(&format!("n{}", seen - 1)));
        let page = fixture.store.list(list.clone()).await.unwrap();
        assert_eq!((page.remaining, page.revision), (remaining, first.revision));
        for stored in page.items {
            let expected = (format!("n{seen}"), "old".to_owned());
            assert_eq!(spec_of(&stored.object().unwrap()), expected);
            seen += 1;
        }
    }
    assert_eq!(seen, 9);
}

#[tokio::test]
async fn compaction_deletes_history_and_retains_objects() {
    let fixture = fixture();
    let a = fixture.create("a", "a1").await;
    let a2 = fixture.update("a", a, "a2").await;
    let a3 = fixture.update("a", a2, "a3").await;
    assert_eq!(fixture.store.compact(a2).await.unwrap(), a2);
    let list = |revision| List {
        at: At::Exact(revision),
        ..List::all("/core/things/")
    };
    match fixture.store.list(list(a)).await {
        Err(ListError::Compacted { floor }) => assert_eq!(floor, a2),
        other => panic!("unexpected result: {other:?}"),
    }
    match fixture.store.list(list(a3 + 1)).await {
        Err(ListError::Future { current }) => assert_eq!(current, a3),
        other => panic!("unexpected result: {other:?}"),
    }
    assert_eq!(
        fixture.specs(At::Exact(a2)).await,
        [("a".to_owned(), "a2".to_owned())]
    );
    assert_eq!(
        fixture.specs(At::Latest).await,
        [("a".to_owned(), "a3".to_owned())]
    );
    // The compaction covers more than the whole history; the next revision continues.
    assert_eq!(fixture.store.compact(u64::MAX).await.unwrap(), a3);
    let folder = fixture.folder;
    drop(fixture.store);
    let store = open(folder.path(), StoreOptions::default());
    assert_eq!(store.revision(), a3);
    assert!(
        matches!(store.list(list(a2)).await, Err(ListError::Compacted { floor }) if floor == a3)
    );
    let next = store
        .commit(Change::create(key("b"), object("b", "x")))
        .await
        .unwrap();
    assert_eq!(next, a3 + 1);
}

#[tokio::test]
async fn history_above_its_maximum_age_is_compacted_automatically() {
    let fixture = fixture_with(StoreOptions {
        history: Duration::ZERO,
        ..StoreOptions::default()
    });
    let last = fixture.create("a", "one").await;
    let deadline = tokio::time::Instant::now() + TIMEOUT;
    while fixture.store.figures().await.unwrap().floor < last {
        assert!(
            tokio::time::Instant::now() < deadline,
            "the store did not compact the history"
        );
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}

#[tokio::test]
async fn number_of_history_changes_is_limited() {
    let fixture = fixture_with(StoreOptions {
        history_changes: 10,
        ..StoreOptions::default()
    });
    let mut last = fixture.create("a", "0").await;
    for number in 1..100 {
        last = fixture.update("a", last, &number.to_string()).await;
    }
    let deadline = tokio::time::Instant::now() + TIMEOUT;
    while fixture.store.figures().await.unwrap().floor < last - 10 {
        assert!(
            tokio::time::Instant::now() < deadline,
            "the store did not compact the history"
        );
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    assert_eq!(
        fixture.specs(At::Exact(last - 5)).await,
        [("a".to_owned(), "94".to_owned())]
    );
}

#[tokio::test]
async fn history_of_kinds_with_short_lived_objects_is_shorter() {
    let fixture = fixture_with(StoreOptions {
        short_history: Duration::ZERO,
        ring_changes: 0,
        ..StoreOptions::default()
    });
    let thing = fixture.create("a", "one").await;
    let lease = "/coordination.k8s.io/leases/ns/l";
    let owned = fixture
        .store
        .commit(Change::create(lease, object("l", "1")))
        .await
        .unwrap();
    let renewed = fixture
        .store
        .commit(Change::update(lease, owned, object("l", "2")))
        .await
        .unwrap();
    let leases = "/coordination.k8s.io/leases/";
    let deadline = tokio::time::Instant::now() + TIMEOUT;
    while fixture.store.watch(leases, owned).is_ok() {
        assert!(
            tokio::time::Instant::now() < deadline,
            "the store did not compact the history"
        );
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    // A watch of all kinds would also miss these changes; a watch of other kinds does not.
    assert!(matches!(
        fixture.store.watch("/", owned),
        Err(WatchError::Compacted { .. })
    ));
    fixture.store.watch(leases, renewed).unwrap();
    let mut watch = fixture.store.watch("/core/things/", thing - 1).unwrap();
    assert_eq!(events(&mut watch, 1).await, [(thing, key("a"), "added")]);
    let list = |prefix: &str| List {
        at: At::Exact(thing),
        ..List::all(prefix)
    };
    assert!(matches!(
        fixture.store.list(list(leases)).await,
        Err(ListError::Compacted { .. })
    ));
    assert_eq!(
        fixture
            .store
            .list(list("/core/things/"))
            .await
            .unwrap()
            .items
            .len(),
        1
    );
}

/// Returns the longest latency of consecutive changes while `busy` is true.
async fn slowest(
    fixture: &Fixture,
    last: &mut u64,
    mut busy: impl FnMut(usize) -> bool,
) -> Duration {
    let mut slowest = Duration::ZERO;
    let mut number = 0;
    while busy(number) {
        number += 1;
        let start = std::time::Instant::now();
        *last = fixture.update("a", *last, &number.to_string()).await;
        slowest = slowest.max(start.elapsed());
    }
    slowest
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn compaction_does_not_stall_writes() {
    let fixture = fixture();
    let mut last = fixture.create("a", "0").await;
    let mut seen = Vec::new();
    // Other programs on the machine cause single delays. A stall by the store itself would occur in
    // every round.
    for round in 0..5 {
        let others = (0..40).map(|number| {
            let (store, name) = (fixture.store.clone(), format!("r{round}-{number}"));
            async move {
                let text = "x".repeat(if number == 0 { 1 << 20 } else { 2000 });
                let change = Change::create(key(&name), object(&name, &text));
                let mut there = store.commit(change).await.unwrap();
                for number in 0..if number == 0 { 8 } else { 60 } {
                    let value = object(&name, &format!("{text}{number}"));
                    let change = Change::update(key(&name), there, value);
                    there = store.commit(change).await.unwrap();
                }
            }
        });
        futures::future::join_all(others).await;
        let alone = slowest(&fixture, &mut last, |number| number < 60).await;
        let to = fixture.store.revision();
        let store = fixture.store.clone();
        let compacting = tokio::spawn(async move { store.compact(to).await });
        let during = slowest(&fixture, &mut last, |_| !compacting.is_finished()).await;
        assert!(compacting.await.unwrap().unwrap() >= to);
        assert!(
            during > Duration::ZERO,
            "no change was committed during the compaction"
        );
        seen.push((alone, during));
        if during.saturating_sub(alone) <= Duration::from_millis(50) {
            return;
        }
    }
    panic!("compaction delays changes; slowest change without and with compaction: {seen:?}");
}
