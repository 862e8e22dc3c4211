//! Tests of opening a store: persistence, migration and errors.

use super::*;

fn path(folder: &TempDir) -> std::path::PathBuf {
    folder.path().join("store.db")
}

fn refused(folder: &TempDir) -> OpenError {
    Store::open(&path(folder), StoreOptions::default()).unwrap_err()
}

#[tokio::test]
async fn stored_objects_are_readable_after_a_restart() {
    let fixture = fixture();
    let first = fixture.create("a", "one").await;
    let second = fixture.update("a", first, "two").await;
    let gone = fixture.create("b", "one").await;
    let last = fixture.delete("b", gone).await;
    let folder = fixture.folder;
    drop(fixture.store);
    // A closed store is a single file.
    assert!(!folder.path().join("store.db-wal").exists());
    let store = open(folder.path(), StoreOptions::default());
    assert_eq!((store.revision(), store.epoch()), (last, 1));
    let fixture = Fixture { store, folder };
    let pair = |name: &str, text: &str| (name.to_owned(), text.to_owned());
    assert_eq!(fixture.specs(At::Latest).await, [pair("a", "two")]);
    assert_eq!(
        fixture.specs(At::Exact(gone)).await,
        [pair("a", "two"), pair("b", "one")]
    );
    assert_eq!(fixture.specs(At::Exact(first)).await, [pair("a", "one")]);
    let mut watch = fixture.store.watch("/core/things/", first).unwrap();
    assert_eq!(
        events(&mut watch, 3).await,
        [
            (second, key("a"), "modified"),
            (gone, key("b"), "added"),
            (last, key("b"), "deleted")
        ]
    );
    assert_eq!(fixture.create("c", "one").await, last + 1);
}

#[tokio::test]
async fn database_with_schema_version_1_is_migrated() {
    let folder = tempfile::tempdir().unwrap();
    rusqlite::Connection::open(path(&folder))
        .unwrap()
        .execute_batch(include_str!("v1.sql"))
        .unwrap();
    assert_eq!(Store::check(&path(&folder)).unwrap().schema, 1);
    let store = open(folder.path(), StoreOptions::default());
    assert_eq!((store.revision(), store.epoch()), (6, 3));
    let fixture = Fixture { store, folder };
    let pair = |name: &str, text: &str| (name.to_owned(), text.to_owned());
    assert_eq!(
        fixture.specs(At::Latest).await,
        [pair("a", "two"), pair("c", "one")]
    );
    assert_eq!(
        fixture.specs(At::Exact(3)).await,
        [pair("a", "one"), pair("b", "one")]
    );
    assert!(matches!(
        fixture.store.watch("/", 1),
        Err(WatchError::Compacted { floor: 2 })
    ));
    let mut watch = fixture.store.watch("/", 2).unwrap();
    assert_eq!(events(&mut watch, 4).await.len(), 4);
    assert_eq!(fixture.update("a", 4, "three").await, 7);
    let report = Store::check(fixture.store.path()).unwrap();
    assert_eq!((report.schema, report.problems), (2, vec![]));
}

#[tokio::test]
async fn database_with_newer_schema_is_rejected_and_unchanged() {
    let fixture = fixture();
    fixture.create("a", "one").await;
    let folder = fixture.folder;
    drop(fixture.store);
    let conn = rusqlite::Connection::open(path(&folder)).unwrap();
    conn.pragma_update(None, "user_version", 99).unwrap();
    drop(conn);
    let before = std::fs::read(path(&folder)).unwrap();
    let error = refused(&folder);
    assert!(
        matches!(
            error,
            OpenError::Newer {
                found: 99,
                known: 2,
                ..
            }
        ),
        "{error:?}"
    );
    assert!(
        error.to_string().contains("upgrade this program"),
        "{error}"
    );
    assert_eq!(std::fs::read(path(&folder)).unwrap(), before);
}

#[tokio::test]
async fn database_file_of_a_different_program_is_rejected() {
    let folder = tempfile::tempdir().unwrap();
    let conn = rusqlite::Connection::open(path(&folder)).unwrap();
    conn.execute_batch("CREATE TABLE theirs(x)").unwrap();
    assert!(matches!(refused(&folder), OpenError::Foreign(_)));
    drop(conn);
    std::fs::write(
        path(&folder),
        b"this is no database, only text of some length\n".repeat(99),
    )
    .unwrap();
    assert!(matches!(refused(&folder), OpenError::Database { .. }));
}

#[tokio::test]
async fn second_open_of_a_store_is_rejected() {
    let fixture = fixture();
    match refused(&fixture.folder) {
        OpenError::Locked { pid, .. } => assert_eq!(pid, Some(std::process::id())),
        other => panic!("unexpected result: {other:?}"),
    }
    // The rejection does not affect the open store.
    fixture.create("a", "one").await;
    let folder = fixture.folder;
    drop(fixture.store);
    open(folder.path(), StoreOptions::default());
}

#[cfg(unix)]
#[tokio::test]
async fn database_files_are_readable_only_by_the_owner() {
    use std::os::unix::fs::PermissionsExt as _;
    let fixture = fixture();
    fixture.create("a", "one").await;
    let files: Vec<_> = std::fs::read_dir(fixture.folder.path()).unwrap().collect();
    assert!(files.len() >= 3);
    for file in files {
        let file = file.unwrap();
        let mode = file.metadata().unwrap().permissions().mode();
        assert_eq!(mode & 0o077, 0, "{}", file.path().display());
    }
}

#[tokio::test]
async fn database_file_without_incremental_vacuum_is_converted() {
    let folder = tempfile::tempdir().unwrap();
    let mode = || {
        let conn = rusqlite::Connection::open(path(&folder)).unwrap();
        conn.pragma_query_value(None, "auto_vacuum", |row| row.get::<_, i64>(0))
            .unwrap()
    };
    rusqlite::Connection::open(path(&folder))
        .unwrap()
        .execute_batch(include_str!("v1.sql"))
        .unwrap();
    assert_eq!(mode(), 0);
    // This file is the copy that an interrupted conversion left.
    let copy = folder.path().join("store.db-converting");
    std::fs::write(&copy, "half a copy").unwrap();
    let store = open(folder.path(), StoreOptions::default());
    assert!(!copy.exists());
    let fixture = Fixture {
        store,
        folder: tempfile::tempdir().unwrap(),
    };
    let pair = |name: &str, text: &str| (name.to_owned(), text.to_owned());
    assert_eq!(
        fixture.specs(At::Latest).await,
        [pair("a", "two"), pair("c", "one")]
    );
    fixture.update("a", 4, "three").await;
    let backup = folder.path().join("backup.db");
    fixture.store.backup(&backup).await.unwrap();
    let closed = fixture.store.closed();
    drop(fixture.store);
    closed.await;
    assert_eq!(mode(), 2);
    for file in [path(&folder), backup] {
        assert_eq!(Store::check(&file).unwrap().problems, Vec::<String>::new());
    }
    // The complete copy of an interrupted start contains Secrets, and must be deleted.
    std::fs::write(&copy, "a whole copy").unwrap();
    open(folder.path(), StoreOptions::default());
    assert!(!copy.exists());
}
