//! No space is left.

use super::*;

/// Writes objects with such names until there is no space; answers with what was written.
async fn fill(fixture: &Fixture, names: &str) -> Vec<(String, u64)> {
    let mut made = Vec::new();
    for number in 0..10_000 {
        let name = format!("{names}{number}");
        let value = object(&name, &"x".repeat(3000));
        match fixture
            .store
            .commit(Change::create(key(&name), value))
            .await
        {
            Ok(revision) => made.push((name, revision)),
            Err(CommitError::Full) => return made,
            Err(other) => panic!("{other:?}"),
        }
    }
    panic!("there is no limit");
}

#[tokio::test]
async fn a_full_store_says_so_and_has_room_again_when_objects_go() {
    let fixture = fixture_with(StoreOptions {
        max_bytes: Some(2 << 20),
        ..StoreOptions::default()
    });
    let made = fill(&fixture, "n").await;
    assert!((100..600).contains(&made.len()), "{}", made.len());
    let revision = fixture.store.revision();
    assert_eq!(revision, made.last().unwrap().1);
    // Everything can be read, and what was refused is not there.
    assert_eq!(fixture.specs(At::Latest).await.len(), made.len());
    for (name, revision) in &made {
        fixture.delete(name, *revision).await;
    }
    // What history held is given back bit by bit, in slices between the writes.
    let mut again = 0;
    for round in 0..300 {
        again += fill(&fixture, &format!("again-{round}-")).await.len();
        if again > made.len() / 2 {
            break;
        }
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
    assert!(again > made.len() / 2, "{again} of {}", made.len());
    let report = Store::check(fixture.store.path()).unwrap();
    assert_eq!(report.problems, Vec::<String>::new());
    let figures = fixture.store.figures().await.unwrap();
    assert!(figures.bytes <= 2 << 20, "{figures:?}");
}

#[tokio::test]
async fn history_makes_room_for_what_is_there_now() {
    let fixture = fixture_with(StoreOptions {
        max_bytes: Some(2 << 20),
        ..StoreOptions::default()
    });
    let mut last = fixture.create("a", "0").await;
    // Many times what there is space for.
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
async fn history_is_kept_to_its_number_of_bytes() {
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
    // About 21 values fit.
    for _ in 0..100 {
        if Store::check(fixture.store.path()).unwrap().changes < 30 {
            return;
        }
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    panic!("{:?}", Store::check(fixture.store.path()));
}

#[tokio::test]
async fn file_shrinks_when_objects_and_their_history_are_gone() {
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
    for _ in 0..200 {
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
