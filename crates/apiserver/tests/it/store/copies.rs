//! Tests of backup, restore and check.

use drover_apiserver::store::{CopyError, Overwrite};

use super::*;

#[tokio::test]
async fn backup_is_a_consistent_snapshot_during_writes() {
    let fixture = fixture();
    // Both objects always have the same text, or one of them is one update ahead.
    let (mut a, mut b) = (
        fixture.create("a", "0").await,
        fixture.create("b", "0").await,
    );
    let backups = async {
        for number in 0..5 {
            let to = fixture.folder.path().join(format!("backup-{number}"));
            let revision = fixture.store.backup(&to).await.unwrap();
            let report = Store::check(&to).unwrap();
            assert_eq!((report.revision, report.objects), (revision, 2));
            assert_eq!(report.problems, Vec::<String>::new());
        }
    };
    let writes = async {
        for number in 1..200 {
            a = fixture.update("a", a, &number.to_string()).await;
            b = fixture.update("b", b, &number.to_string()).await;
        }
    };
    futures::future::join(backups, writes).await;
    for number in 0..5 {
        let from = fixture.folder.path().join(format!("backup-{number}"));
        let to = fixture.folder.path().join(format!("restored-{number}"));
        Store::restore(&from, &to, Overwrite::Deny).unwrap();
        let store = Store::open(&to, StoreOptions::default()).unwrap();
        // The read and write versions of the file format are those of WAL mode (SQLite file format,
        // section 1.3): long reads do not block writes.
        assert_eq!(std::fs::read(&to).unwrap()[18..20], [2, 2]);
        let page = store.list(List::all("/")).await.unwrap();
        let text = |at: usize| -> u64 {
            spec_of(&page.items[at].object().unwrap())
                .1
                .parse()
                .unwrap()
        };
        assert!(text(0) == text(1) || text(0) == text(1) + 1);
    }
}

#[tokio::test]
async fn restored_store_does_not_reuse_revisions() {
    let fixture = fixture();
    let kept = fixture.create("a", "kept").await;
    let path = fixture.store.path().to_owned();
    let backup = fixture.folder.path().join("backup");
    assert_eq!(fixture.store.backup(&backup).await.unwrap(), kept);
    let unseen = fixture.update("a", kept, "lost").await;
    // Restore fails while the store is open.
    let error = Store::restore(&backup, &path, Overwrite::Replace).unwrap_err();
    assert!(
        matches!(error, CopyError::Open(OpenError::Locked { .. })),
        "{error:?}"
    );
    let folder = fixture.folder;
    drop(fixture.store);
    // Restore fails without permission to overwrite.
    let error = Store::restore(&backup, &path, Overwrite::Deny).unwrap_err();
    assert!(matches!(error, CopyError::Exists(_)), "{error:?}");
    let revision = Store::restore(&backup, &path, Overwrite::Replace).unwrap();
    let store = open(folder.path(), StoreOptions::default());
    assert_eq!((store.revision(), store.epoch()), (revision, 2));
    assert!(revision > unseen + 1_000_000);
    for old in [kept, unseen, revision - 1] {
        assert!(matches!(
            store.watch("/", old),
            Err(WatchError::Compacted { .. })
        ));
        let list = List {
            at: At::Exact(old),
            ..List::all("/")
        };
        assert!(matches!(
            store.list(list).await,
            Err(ListError::Compacted { .. })
        ));
    }
    let fixture = Fixture { store, folder };
    assert_eq!(
        fixture.specs(At::Latest).await,
        [("a".to_owned(), "kept".to_owned())]
    );
    // A client with a revision of the lost future cannot replace the restored object.
    let stale = Change::update(key("a"), unseen, object("a", "stale"));
    assert!(matches!(
        fixture.store.commit(stale).await,
        Err(CommitError::Conflict(Some(_)))
    ));
    let mut watch = fixture.store.watch("/", revision).unwrap();
    assert_eq!(fixture.update("a", kept, "on").await, revision + 1);
    assert_eq!(
        events(&mut watch, 1).await,
        [(revision + 1, key("a"), "modified")]
    );
    // The replaced file still exists.
    let replaced = Store::check(&fixture.folder.path().join("store.db-replaced")).unwrap();
    assert_eq!((replaced.revision, replaced.problems), (unseen, vec![]));
}

#[tokio::test]
async fn damaged_store_can_be_replaced_and_damaged_backup_is_rejected() {
    let fixture = fixture();
    for number in 0..300 {
        fixture
            .create(&format!("n{number}"), &"x".repeat(200))
            .await;
    }
    let backup = fixture.folder.path().join("backup");
    fixture.store.backup(&backup).await.unwrap();
    let error = fixture.store.backup(&backup).await.unwrap_err();
    assert!(matches!(error, CopyError::Exists(_)), "{error:?}");
    let (folder, path) = (fixture.folder, fixture.store.path().to_owned());
    drop(fixture.store);
    let sound = std::fs::read(&path).unwrap();
    let mut damaged = sound.clone();
    // The damaged pages are in the middle, because the first page contains the schema.
    let middle = damaged.len() / 2;
    damaged[middle..middle + 8192].fill(0x5a);
    std::fs::write(&path, &damaged).unwrap();
    let unsound = Store::check(&path).map(|report| report.problems);
    assert!(
        !matches!(&unsound, Ok(problems) if problems.is_empty()),
        "{unsound:?}"
    );
    let elsewhere = folder.path().join("elsewhere.db");
    assert!(Store::restore(&path, &elsewhere, Overwrite::Deny).is_err());
    assert!(!elsewhere.exists());
    Store::restore(&backup, &path, Overwrite::Replace).unwrap();
    let store = open(folder.path(), StoreOptions::default());
    assert_eq!(store.list(List::all("/")).await.unwrap().items.len(), 300);
    assert_eq!(Store::check(&path).unwrap().problems, Vec::<String>::new());
}

#[tokio::test]
async fn store_check_detects_inconsistent_data() {
    let fixture = fixture();
    let a = fixture.create("a", "one").await;
    let a = fixture.update("a", a, "two").await;
    fixture.update("a", a, "three").await;
    let b = fixture.create("b", "one").await;
    fixture.delete("b", b).await;
    let (folder, path) = (fixture.folder, fixture.store.path().to_owned());
    drop(fixture.store);
    let pristine = std::fs::read(&path).unwrap();
    assert_eq!(Store::check(&path).unwrap().problems, Vec::<String>::new());
    for (sql, expected) in [
        ("UPDATE cur SET rev = 99", "newer than the last revision"),
        (
            "UPDATE log SET rev = 99 WHERE rev = 6",
            "in the history after the last",
        ),
        ("UPDATE cur SET rev = 3", "differs from the last change"),
        ("DELETE FROM cur", "does not exist"),
        ("DELETE FROM log WHERE rev = 3", "gap in its history"),
        ("UPDATE log SET deleted = 0 WHERE rev = 6", "does not exist"),
        (
            "UPDATE cur SET splice = 7",
            "value of /core/things/ns/a is damaged",
        ),
        (
            "UPDATE cur SET value = CAST('{' AS BLOB)",
            "value of /core/things/ns/a is damaged",
        ),
        ("UPDATE floors SET rev = 99", "is after the last revision"),
    ] {
        std::fs::write(&path, &pristine).unwrap();
        rusqlite::Connection::open(&path)
            .unwrap()
            .execute(sql, [])
            .unwrap();
        let problems = Store::check(&path).unwrap().problems;
        assert!(
            problems.iter().any(|problem| problem.contains(expected)),
            "{sql}: {problems:?}"
        );
    }
    drop(folder);
}
