//! Tests with power failures, failing syncs and full disks.

use std::path::Path;
use std::sync::{Arc, Mutex};

use drover_apiserver::store::{Change, CommitError, Store, StoreOptions};
use fault_vfs::{Disk, Random};
use rusqlite::{Connection, OpenFlags};

use crate::block_on;
use crate::ledger::{End, Ledger, verify, write_all};

/// A store on a simulated disk.
struct Machine {
    disk: Disk,
    folder: tempfile::TempDir,
    ledger: Arc<Mutex<Ledger>>,
}

impl Machine {
    fn new(name: &str) -> Self {
        Self {
            disk: Disk::register(name).unwrap(),
            folder: tempfile::tempdir().unwrap(),
            ledger: Arc::default(),
        }
    }

    fn path(&self) -> std::path::PathBuf {
        self.folder.path().join("store.db")
    }

    fn open(&self) -> Result<Store, drover_apiserver::store::OpenError> {
        let options = StoreOptions {
            vfs: Some(self.disk.name().to_owned()),
            // Frequent compaction.
            history_changes: 20,
            ..StoreOptions::default()
        };
        Store::open(&self.path(), options)
    }

    /// Opens the store after a power failure, and verifies the content of the store.
    async fn verify(&self) -> Store {
        let store = self.open().expect("the store opens after a power failure");
        verify(&self.ledger, &store).await;
        store
    }

    fn assert_sound(&self) {
        assert_sound(&self.path());
    }
}

fn assert_sound(path: &Path) {
    let problems = Store::check(path).unwrap().problems;
    assert!(problems.is_empty(), "{problems:?}");
}

/// Simulates power failures at random times, and verifies the store after each failure.
pub(crate) fn power_fails(random: &mut Random, rounds: u64) {
    let machine = Machine::new("power-fails");
    for round in 0..rounds {
        // The power often fails early, to interrupt opening, recovery and migration.
        let most = if round % 3 == 0 { 30 } else { 1500 };
        let cut = random.below(most) + 1;
        if random.below(2) == 0 {
            machine.disk.cut_after(cut);
        }
        block_on(async {
            // If opening fails here, it must succeed after power returns.
            if let Ok(store) = machine.open() {
                if !machine.disk.is_off() {
                    machine.disk.cut_after(cut);
                }
                let mut watch = store.watch("/", store.revision()).unwrap();
                write_all(&store, &machine.ledger, random, 300).await;
                while let Some(batch) = watch.progress() {
                    let mut ledger = machine.ledger.lock().unwrap();
                    ledger.highest_seen = ledger.highest_seen.max(batch.revision);
                }
                // The power failure may also interrupt closing.
            }
        });
        machine.disk.crash(random).unwrap();
        block_on(async { drop(machine.verify().await) });
        machine.assert_sound();
    }
    let acknowledged = machine.ledger.lock().unwrap().acknowledged;
    println!(
        "  {acknowledged} changes acknowledged, {} syncs",
        machine.disk.syncs()
    );
    assert!(acknowledged > rounds, "the writers made too few changes");
}

/// Simulates failed syncs, and then a power failure that loses the data of these syncs.
pub(crate) fn syncs_fail(random: &mut Random, rounds: u64) {
    let machine = Machine::new("syncs-fail");
    let mut broken = 0;
    for _ in 0..rounds {
        block_on(async {
            let store = machine.verify().await;
            let changes = random.below(20);
            write_all(&store, &machine.ledger, random, changes).await;
            machine
                .disk
                .fail_syncs(1 + u32::try_from(random.below(3)).unwrap());
            let ends = write_all(&store, &machine.ledger, random, 5).await;
            broken += ends.iter().filter(|end| matches!(end, End::Broken)).count();
            machine.disk.fail_syncs(0);
            // The store recovers without being reopened.
            let mut tries = 0;
            while !recovers(&store).await {
                tries += 1;
                assert!(tries < 100, "the store did not recover after failed syncs");
                tokio::time::sleep(std::time::Duration::from_millis(50)).await;
            }
            verify(&machine.ledger, &store).await;
            write_all(&store, &machine.ledger, random, 5).await;
            machine.disk.cut_after(random.below(40) + 1);
            write_all(&store, &machine.ledger, random, 20).await;
        });
        machine.disk.crash(random).unwrap();
    }
    block_on(async { drop(machine.verify().await) });
    machine.assert_sound();
    assert!(broken > 0, "no change failed because of a failed sync");
}

/// Reports whether the store accepts changes. Creates and deletes a test object.
async fn recovers(store: &Store) -> bool {
    match store.commit(Change::create("/core/probes//p", "{}")).await {
        Ok(revision) => {
            store
                .commit(Change::delete("/core/probes//p", revision))
                .await
                .unwrap();
            true
        }
        Err(CommitError::Conflict(Some(there))) => {
            // An earlier attempt without an answer created the object.
            let delete = Change::delete("/core/probes//p", there.revision);
            store.commit(delete).await.is_ok()
        }
        Err(_) => false,
    }
}

/// Fills the disk at a random time, frees space, and verifies the store.
pub(crate) fn disk_is_full(random: &mut Random, rounds: u64) {
    let machine = Machine::new("disk-full");
    let mut full = 0;
    for round in 0..rounds {
        block_on(async {
            let store = machine.verify().await;
            machine.disk.set_space(Some(random.below(1 << 20)));
            let ends = write_all(&store, &machine.ledger, random, 2000).await;
            assert!(
                ends.iter().all(|end| matches!(end, End::Full | End::Done)),
                "{ends:?}"
            );
            full += ends.iter().filter(|end| matches!(end, End::Full)).count();
            // All written objects are readable, and rejected ones are absent.
            verify(&machine.ledger, &store).await;
            machine.disk.set_space(None);
            let ends = write_all(&store, &machine.ledger, random, 3).await;
            assert!(ends.iter().all(|end| matches!(end, End::Done)), "{ends:?}");
        });
        if round % 2 == 0 {
            machine.disk.crash(random).unwrap();
        }
        machine.assert_sound();
    }
    assert!(full > 0, "the disk was never full");
}

/// Runs without a sync per commit, and checks that the simulated disk loses commits. The check
/// shows that the other loops can detect lost commits.
pub(crate) fn unsynced_is_lost(random: &mut Random, rounds: u64) {
    let disk = Disk::register("unsynced").unwrap();
    let mut lost = 0;
    for _ in 0..rounds {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("plain.db");
        let open = || {
            let conn =
                Connection::open_with_flags_and_vfs(&path, OpenFlags::default(), disk.name());
            conn.unwrap()
        };
        let conn = open();
        conn.execute_batch("PRAGMA journal_mode = WAL; PRAGMA synchronous = NORMAL;")
            .unwrap();
        conn.execute_batch("CREATE TABLE t(x); PRAGMA wal_checkpoint(TRUNCATE);")
            .unwrap();
        for number in 0..10 {
            conn.execute("INSERT INTO t VALUES (?)", [number]).unwrap();
        }
        disk.cut_after(1);
        drop(conn);
        disk.crash(random).unwrap();
        let count: i64 = open()
            .query_row("SELECT count(*) FROM t", [], |row| row.get(0))
            .unwrap();
        lost += i64::from(count < 10);
        disk.crash(random).unwrap();
    }
    assert!(lost > 0, "the simulated disk lost no commit");
}
