//! Backup, restore and check.

use drover_apiserver::store::{CopyError, Over};

use super::*;

#[tokio::test]
async fn a_backup_is_one_moment_of_a_store_that_is_written() {
    let fixture = fixture();
    // Both objects always have the same text, one before the other.
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
        Store::restore(&from, &to, Over::Nothing).unwrap();
        let store = Store::open(&to, StoreOptions::default()).unwrap();
        // The file's versions for writing and reading are those with a log beside it
        // (SQLite's file format, section 1.3): long reads do not hold writes up.
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
async fn revisions_from_before_a_restore_are_never_given_again() {
    let fixture = fixture();
    let kept = fixture.create("a", "kept").await;
    let path = fixture.store.path().to_owned();
    let backup = fixture.folder.path().join("backup");
    assert_eq!(fixture.store.backup(&backup).await.unwrap(), kept);
    let unseen = fixture.update("a", kept, "lost").await;
    // Not while it is open.
    let error = Store::restore(&backup, &path, Over::Existing).unwrap_err();
    assert!(
        matches!(error, CopyError::Open(OpenError::Locked { .. })),
        "{error:?}"
    );
    let folder = fixture.folder;
    drop(fixture.store);
    // Not without being told.
    let error = Store::restore(&backup, &path, Over::Nothing).unwrap_err();
    assert!(matches!(error, CopyError::Exists(_)), "{error:?}");
    let revision = Store::restore(&backup, &path, Over::Existing).unwrap();
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
    // Whoever saw the lost future does not overwrite unseen.
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
    // What was replaced is kept.
    let replaced = Store::check(&fixture.folder.path().join("store.db-replaced")).unwrap();
    assert_eq!((replaced.revision, replaced.problems), (unseen, vec![]));
}

#[tokio::test]
async fn a_damaged_store_can_be_replaced_but_not_restored_from() {
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
    // Pages in the middle, but not the first, which holds the schema.
    let middle = damaged.len() / 2;
    damaged[middle..middle + 8192].fill(0x5a);
    std::fs::write(&path, &damaged).unwrap();
    let unsound = Store::check(&path).map(|report| report.problems);
    assert!(
        !matches!(&unsound, Ok(problems) if problems.is_empty()),
        "{unsound:?}"
    );
    let elsewhere = folder.path().join("elsewhere.db");
    assert!(Store::restore(&path, &elsewhere, Over::Nothing).is_err());
    assert!(!elsewhere.exists());
    Store::restore(&backup, &path, Over::Existing).unwrap();
    let store = open(folder.path(), StoreOptions::default());
    assert_eq!(store.list(List::all("/")).await.unwrap().items.len(), 300);
    assert_eq!(Store::check(&path).unwrap().problems, Vec::<String>::new());
}

#[tokio::test]
async fn a_check_sees_what_contradicts_itself() {
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
        ("UPDATE cur SET rev = 3", "not what the history says"),
        ("DELETE FROM cur", "is gone"),
        ("DELETE FROM log WHERE rev = 3", "gap in its history"),
        ("UPDATE log SET deleted = 0 WHERE rev = 6", "is gone"),
        (
            "UPDATE cur SET splice = 7",
            "value of /core/things/ns/a is damaged",
        ),
        (
            "UPDATE cur SET value = CAST('{' AS BLOB)",
            "value of /core/things/ns/a is damaged",
        ),
        ("UPDATE floors SET rev = 99", "begins after"),
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
