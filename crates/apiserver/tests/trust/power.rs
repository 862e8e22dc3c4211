//! The disk loses what was not synced, fails, or is full.

use std::path::Path;
use std::sync::{Arc, Mutex};

use drover_apiserver::store::{Change, CommitError, Store, StoreOptions};
use lost_sync::{Chance, Disk};
use rusqlite::{Connection, OpenFlags};

use crate::block_on;
use crate::ledger::{End, Ledger, verify, write_all};

/// A store's file on a disk of its own.
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
            // So that compaction is under way too.
            history_changes: 20,
            ..StoreOptions::default()
        };
        Store::open(&self.path(), options)
    }

    /// Opens the store with the power on, and compares it with what was acknowledged.
    async fn verify(&self) -> Store {
        let store = self.open().expect("a store always opens");
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

/// The power fails at any moment, in the middle of whatever is under way.
pub(crate) fn power_fails(chance: &mut Chance, rounds: u64) {
    let machine = Machine::new("power-fails");
    for round in 0..rounds {
        // Often early, so that opening, recovery and migration are cut too.
        let most = if round % 3 == 0 { 30 } else { 1500 };
        let cut = chance.below(most) + 1;
        if chance.below(2) == 0 {
            machine.disk.cut_after(cut);
        }
        block_on(async {
            // Whoever cannot be opened now can be when the power is back.
            if let Ok(store) = machine.open() {
                if !machine.disk.is_off() {
                    machine.disk.cut_after(cut);
                }
                let mut watch = store.watch("/", store.revision()).unwrap();
                write_all(&store, &machine.ledger, chance, 300).await;
                while let Some(batch) = watch.progress() {
                    let mut ledger = machine.ledger.lock().unwrap();
                    ledger.told = ledger.told.max(batch.revision);
                }
                // Even a store that is closed in peace may lose its power meanwhile.
            }
        });
        machine.disk.lose(chance).unwrap();
        block_on(async { drop(machine.verify().await) });
        machine.assert_sound();
    }
    let acknowledged = machine.ledger.lock().unwrap().acknowledged;
    println!(
        "  {acknowledged} changes acknowledged, {} syncs",
        machine.disk.syncs()
    );
    assert!(acknowledged > rounds, "hardly anything was written");
}

/// Syncs fail and the power with them, later: what the failed syncs would have kept is lost.
pub(crate) fn syncs_fail(chance: &mut Chance, rounds: u64) {
    let machine = Machine::new("syncs-fail");
    let mut broken = 0;
    for _ in 0..rounds {
        block_on(async {
            let store = machine.verify().await;
            let changes = chance.below(20);
            write_all(&store, &machine.ledger, chance, changes).await;
            machine
                .disk
                .fail_syncs(1 + u32::try_from(chance.below(3)).unwrap());
            let ends = write_all(&store, &machine.ledger, chance, 5).await;
            broken += ends.iter().filter(|end| matches!(end, End::Broken)).count();
            machine.disk.fail_syncs(0);
            // It gets over it without being opened again.
            let mut tries = 0;
            while !recovers(&store).await {
                tries += 1;
                assert!(tries < 100, "the store stays broken");
                tokio::time::sleep(std::time::Duration::from_millis(50)).await;
            }
            verify(&machine.ledger, &store).await;
            write_all(&store, &machine.ledger, chance, 5).await;
            machine.disk.cut_after(chance.below(40) + 1);
            write_all(&store, &machine.ledger, chance, 20).await;
        });
        machine.disk.lose(chance).unwrap();
    }
    block_on(async { drop(machine.verify().await) });
    machine.assert_sound();
    assert!(broken > 0, "no sync failed");
}

/// Whether a change can be made; one that leaves nothing behind.
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
            // Made by a try that was not answered.
            let delete = Change::delete("/core/probes//p", there.revision);
            store.commit(delete).await.is_ok()
        }
        Err(_) => false,
    }
}

/// The disk is full at any moment, stays so for a while, and has room again.
pub(crate) fn disk_is_full(chance: &mut Chance, rounds: u64) {
    let machine = Machine::new("disk-full");
    let mut full = 0;
    for round in 0..rounds {
        block_on(async {
            let store = machine.verify().await;
            machine.disk.set_space(Some(chance.below(1 << 20)));
            let ends = write_all(&store, &machine.ledger, chance, 2000).await;
            assert!(
                ends.iter().all(|end| matches!(end, End::Full | End::Done)),
                "{ends:?}"
            );
            full += ends.iter().filter(|end| matches!(end, End::Full)).count();
            // What is there can be read, and nothing that was refused is there.
            verify(&machine.ledger, &store).await;
            machine.disk.set_space(None);
            let ends = write_all(&store, &machine.ledger, chance, 3).await;
            assert!(ends.iter().all(|end| matches!(end, End::Done)), "{ends:?}");
        });
        if round % 2 == 0 {
            machine.disk.lose(chance).unwrap();
        }
        machine.assert_sound();
    }
    assert!(full > 0, "the disk was never full");
}

/// The same disk under a database that does not sync each commit loses commits; if it did not,
/// the loops above would prove nothing.
pub(crate) fn unsynced_is_lost(chance: &mut Chance, rounds: u64) {
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
        disk.lose(chance).unwrap();
        let count: i64 = open()
            .query_row("SELECT count(*) FROM t", [], |row| row.get(0))
            .unwrap();
        lost += i64::from(count < 10);
        disk.lose(chance).unwrap();
    }
    assert!(lost > 0, "nothing was ever lost");
}
