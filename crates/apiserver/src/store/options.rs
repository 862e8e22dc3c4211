//! Options for opening a store: limits of history, memory and disk, and durability.

use std::path::Path;
use std::time::Duration;

use rusqlite::Connection;

use super::feed::WatchMemoryLimits;
use super::layout::{self, Role};
use super::pins::Pins;
use super::writer::compact::Retention;

/// Options for opening a store.
#[derive(Debug, Clone)]
pub struct StoreOptions {
    /// Maximum age of history. Watches from old revisions and lists at old revisions read the
    /// history.
    pub history: Duration,
    /// Maximum number of changes in the history.
    pub history_changes: u64,
    /// Maximum size of the history (keys and previous values), in bytes.
    pub history_bytes: u64,
    /// Maximum age of the history of keys whose prefix is in `short_lived`.
    pub short_history: Duration,
    /// Prefixes of keys that change often and whose history clients rarely read, such as Events.
    pub short_lived: Vec<String>,
    /// Maximum number of recent changes that the store keeps in memory for watches.
    pub ring_changes: usize,
    /// Maximum size in bytes of the recent changes that the store keeps in memory for watches.
    pub ring_bytes: usize,
    /// Maximum number of queued changes of one watch. Above this number, the watch ends.
    pub watch_changes: usize,
    /// Maximum size of the queued changes of one watch, in bytes. Above this size, the watch ends.
    pub watch_bytes: usize,
    /// Maximum size in bytes of queued changes of all watches, with each change counted once. Above
    /// this size, the watches with the largest queues end.
    pub waiting_bytes: usize,
    /// Maximum size in bytes of the encoded lists that the store keeps in memory for a few seconds,
    /// so that many clients can list the same objects.
    pub list_bytes: usize,
    /// Interval between two progress batches on an idle watch.
    pub progress_every: Duration,
    /// Maximum size of the database file in bytes. An eighth is reserved for deletions and
    /// compaction. Above the maximum, changes fail with
    /// [`CommitError::Full`](super::CommitError::Full) until objects are deleted. `None` for no
    /// limit except the disk.
    pub max_bytes: Option<u64>,
    /// The name of a SQLite VFS to use instead of the default.
    pub vfs: Option<String>,
    /// Number of threads for reads of single objects; at least 1. Lists have the same number of
    /// separate threads, so that lists do not delay reads of single objects. With the value 1, one
    /// thread serves both types of reads.
    pub readers: usize,
    /// Maximum size of the page cache of each connection, in KiB.
    pub cache_kib: u32,
    /// The durability of acknowledged changes.
    pub durability: Durability,
}

/// The durability of acknowledged changes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Durability {
    /// A change is on disk when it is acknowledged, and survives power failures.
    #[default]
    Synced,
    /// An acknowledged change survives the end of the process, but a power failure may lose the
    /// latest changes. The store always stays consistent. Use this level only for data that can be
    /// created again.
    Written,
}

impl Default for StoreOptions {
    /// Returns options that retain five minutes of history, as kube-apiserver does in etcd. Events
    /// and Leases have one minute of history.
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
            ring_bytes: 2 << 20,
            watch_changes: 4096,
            watch_bytes: 16 << 20,
            waiting_bytes: 256 << 20,
            list_bytes: 16 << 20,
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
    pub(super) fn bounds(&self) -> WatchMemoryLimits {
        WatchMemoryLimits {
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

    /// Opens a database connection with these options.
    pub(super) fn connect(&self, path: &Path, role: Role) -> rusqlite::Result<Connection> {
        let conn = layout::connect(path, self.vfs.as_deref(), role)?;
        // Negative values are KiB instead of pages.
        conn.pragma_update(None, "cache_size", -i64::from(self.cache_kib))?;
        if self.durability == Durability::Written {
            conn.pragma_update(None, "synchronous", "NORMAL")?;
        }
        Ok(conn)
    }
}
