//! How a store is kept.

use std::path::Path;
use std::time::Duration;

use rusqlite::Connection;

use super::feed::Bounds;
use super::layout::{self, Role};
use super::pins::Pins;
use super::writer::compact::Retention;

/// How a store is kept.
#[derive(Debug, Clone)]
pub struct StoreOptions {
    /// How long the history of changes is kept: for watches that begin in the past, and for lists
    /// at an older revision.
    pub history: Duration,
    /// At most so many changes are kept.
    pub history_changes: u64,
    /// At most so many bytes of changes are kept: keys, and what was there before each change.
    pub history_bytes: u64,
    /// How long the history of `short_lived` is kept.
    pub short_history: Duration,
    /// Prefixes of keys that change much and whose history nobody needs for long.
    pub short_lived: Vec<String>,
    /// Changes kept in memory.
    pub ring_changes: usize,
    /// Bytes of changes kept in memory.
    pub ring_bytes: usize,
    /// Changes that may wait for one watcher; with more it is ended.
    pub watch_changes: usize,
    /// Bytes of changes that may wait for one watcher; with more it is ended.
    pub watch_bytes: usize,
    /// Bytes of changes that may wait for all watchers together, each change counted once; with more
    /// the watchers are ended that have most to take.
    pub waiting_bytes: usize,
    /// How often a watch with no events tells its progress.
    pub progress_every: Duration,
    /// The largest size of the database's file, in bytes; an eighth of it is kept for deletions
    /// and compaction. Past it changes fail with
    /// [`CommitError::Full`](super::CommitError::Full) until objects are deleted. None for no
    /// limit but the disk's.
    pub max_bytes: Option<u64>,
    /// The name of a SQLite VFS to use in place of the system's own.
    pub vfs: Option<String>,
    /// Threads that read single objects, and as many that read lists: a greedy lister cannot keep
    /// others from their objects. With one, the same thread reads both. At least one.
    pub readers: usize,
    /// What each connection remembers of the file, in KiB at most.
    pub cache_kib: u32,
    /// What an acknowledgement promises.
    pub durability: Durability,
}

/// What an acknowledgement promises.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Durability {
    /// The change is on disk, whatever happens to the machine.
    #[default]
    Synced,
    /// The change outlives the process, but not a power failure: that takes the latest changes
    /// away, and never leaves a store that does not open. For what can be made again.
    Written,
}

impl Default for StoreOptions {
    /// Five minutes of history, as kube-apiserver keeps etcd's; one for Events and Leases.
    fn default() -> Self {
        Self {
            history: Duration::from_mins(5),
            history_changes: 200_000,
            history_bytes: 256 << 20,
            short_history: Duration::from_mins(1),
            short_lived: [
                "/core/events/",
                "/events.k8s.io/events/",
                "/coordination.k8s.io/leases/",
            ]
            .map(str::to_owned)
            .to_vec(),
            ring_changes: 16_384,
            ring_bytes: 8 << 20,
            watch_changes: 4096,
            watch_bytes: 16 << 20,
            waiting_bytes: 256 << 20,
            progress_every: Duration::from_secs(5),
            max_bytes: None,
            vfs: None,
            readers: 2,
            cache_kib: 4096,
            durability: Durability::Synced,
        }
    }
}

impl StoreOptions {
    pub(super) fn bounds(&self) -> Bounds {
        Bounds {
            ring_events: self.ring_changes,
            ring_bytes: self.ring_bytes,
            queue_events: self.watch_changes,
            queue_bytes: self.watch_bytes,
            waiting_bytes: self.waiting_bytes,
        }
    }

    pub(super) fn retention(&self) -> Retention {
        Retention {
            history: self.history,
            history_changes: self.history_changes,
            history_bytes: self.history_bytes,
            short_history: self.short_history.min(self.history),
            short_lived: self.short_lived.clone(),
            pins: Pins::default(),
        }
    }

    /// A connection.
    pub(super) fn connect(&self, path: &Path, role: Role) -> rusqlite::Result<Connection> {
        let conn = layout::connect(path, self.vfs.as_deref(), role)?;
        // Negative: KiB and not pages.
        conn.pragma_update(None, "cache_size", -i64::from(self.cache_kib))?;
        if self.durability == Durability::Written {
            conn.pragma_update(None, "synchronous", "NORMAL")?;
        }
        Ok(conn)
    }
}
