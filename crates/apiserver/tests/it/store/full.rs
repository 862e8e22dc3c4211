//! Tests of a full disk or store.

use super::*;

/// Creates objects until the store is full; returns the created objects.
async fn fill(fixture: &Fixture, names: &str) -> Vec<(String, u64)> {
    let mut created = Vec::new();
    for number in 0..10_000 {
        let name = format!("{names}{number}");
        let value = object(&name, &"x".repeat(3000));
        match fixture
            .store
            .commit(Change::create(key(&name), value))
            .await
        {
            Ok(revision) => created.push((name, revision)),
            Err(CommitError::Full) => return created,
            Err(other) => panic!("unexpected result: {other:?}"),
        }
    }
    panic!("the store accepted all changes despite its limit");
}

#[tokio::test]
async fn full_store_rejects_writes_until_objects_are_deleted() {
    let fixture = fixture_with(StoreOptions {
        max_bytes: Some(2 << 20),
        ..StoreOptions::default()
    });
    let created = fill(&fixture, "n").await;
    assert!((100..600).contains(&created.len()), "{}", created.len());
    let revision = fixture.store.revision();
    assert_eq!(revision, created.last().unwrap().1);
    // All written objects are readable, and rejected ones are absent.
    assert_eq!(fixture.specs(At::Latest).await.len(), created.len());
    for (name, revision) in &created {
        fixture.delete(name, *revision).await;
    }
    // Writes free the space of the history in slices.
    let mut again = 0;
    for round in 0..300 {
        again += fill(&fixture, &format!("again-{round}-")).await.len();
        if again > created.len() / 2 {
            break;
        }
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
    assert!(again > created.len() / 2, "{again} of {}", created.len());
    let report = Store::check(fixture.store.path()).unwrap();
    assert_eq!(report.problems, Vec::<String>::new());
    let figures = fixture.store.figures().await.unwrap();
    assert!(figures.bytes <= 2 << 20, "{figures:?}");
}

#[tokio::test]
async fn full_store_deletes_history_to_free_space_for_objects() {
    let fixture = fixture_with(StoreOptions {
        max_bytes: Some(2 << 20),
        ..StoreOptions::default()
    });
    let mut last = fixture.create("a", "0").await;
    // The loop writes many times the available space.
    for number in 0..2000 {
        last = fixture
            .update("a", last, &format!("{number}{}", "x".repeat(3000)))
            .await;
    }
    let watch = fixture.store.watch("/", 2);
    assert!(
        matches!(watch, Err(WatchError::Compacted { .. })),
        "{watch:?}"
    );
}

#[tokio::test]
async fn history_size_stays_below_its_limit() {
    let fixture = fixture_with(StoreOptions {
        history_bytes: 64 << 10,
        ..StoreOptions::default()
    });
    let first = fixture.create("a", "0").await;
    let mut last = first;
    for number in 0..500 {
        last = fixture
            .update("a", last, &format!("{number}{}", "x".repeat(3000)))
            .await;
    }
    let watch = fixture.store.watch("/", first);
    assert!(
        matches!(watch, Err(WatchError::Compacted { .. })),
        "{watch:?}"
    );
    fixture.store.watch("/", last - 5).unwrap();
    // About 21 values of this size fit into the store.
    for _ in 0..100 {
        if Store::check(fixture.store.path()).unwrap().changes < 30 {
            return;
        }
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    panic!("{:?}", Store::check(fixture.store.path()));
}

#[tokio::test]
async fn database_file_shrinks_after_deletion_and_compaction() {
    let fixture = fixture();
    let mut all = Vec::new();
    for number in 0..1000 {
        let name = format!("n{number}");
        all.push((fixture.create(&name, &"x".repeat(3000)).await, name));
    }
    let before = fixture.store.figures().await.unwrap().bytes;
    assert!(before > 3 << 20, "{before}");
    for (revision, name) in all {
        fixture.delete(&name, revision).await;
    }
    fixture.store.compact(u64::MAX).await.unwrap();
    // The loop takes up to a minute: the file shrinks in steps of some milliseconds, which a busy
    // disk delays.
    for _ in 0..1200 {
        if fixture.store.figures().await.unwrap().bytes < before / 2 {
            break;
        }
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    let path = fixture.store.path().to_owned();
    let closed = fixture.store.closed();
    drop(fixture.store);
    closed.await;
    let after = std::fs::metadata(&path).unwrap().len();
    assert!(after < before / 2, "{after} of {before} bytes");
    assert_eq!(Store::check(&path).unwrap().problems, Vec::<String>::new());
}
