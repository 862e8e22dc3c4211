//! Error types of the store, one per operation.

use std::io;
use std::path::PathBuf;
use std::sync::Arc;

use super::stored::{Malformed, Stored};

/// The reason why a store cannot be opened.
#[derive(Debug, thiserror::Error)]
pub enum OpenError {
    /// The store is already open in this process or in a different process.
    #[error(
        "cannot open {path}: another process uses the file{process_id}",
        path = path.display(), process_id = holder(*pid)
    )]
    Locked {
        /// The path of the store.
        path: PathBuf,
        /// The ID of the process that has the store open. `None` if unknown.
        pid: Option<u32>,
    },
    /// The store has a newer schema.
    #[error(
        "cannot open {path}: the schema version {found} of the file is newer than the supported \
         version {known}; upgrade this program, or restore a backup of this program's version"
    )]
    Newer {
        /// The path of the store.
        path: PathBuf,
        /// The schema version of the file.
        found: u32,
        /// The latest supported schema version.
        known: u32,
    },
    /// The file is a SQLite database of another program.
    #[error("cannot open {path}: not a store of this program", path = .0.display())]
    Foreign(PathBuf),
    /// The file or its folder is not accessible.
    #[error("cannot access {path}")]
    File {
        /// The path of the file.
        path: PathBuf,
        /// The I/O error.
        source: io::Error,
    },
    /// SQLite cannot open, read or migrate the file.
    #[error("cannot open {path}")]
    Database {
        /// The path of the store.
        path: PathBuf,
        /// The SQLite error.
        source: rusqlite::Error,
    },
    /// The file's metadata is inconsistent.
    #[error("cannot open {path}: the file is damaged: {problem}; restore a backup")]
    Damaged {
        /// The path of the store.
        path: PathBuf,
        /// A description of the inconsistency.
        problem: String,
    },
}

fn holder(pid: Option<u32>) -> String {
    pid.map_or_else(String::new, |pid| format!(" by process {pid}"))
}

/// The reason why an object cannot be read.
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    /// Too many reads are waiting.
    #[error("cannot read the store: too many reads are waiting; try again")]
    Busy,
    /// The store is closing.
    #[error("cannot read the store: the store is closed")]
    Closed,
    /// SQLite returned an error.
    #[error("cannot read the store")]
    Database(#[from] rusqlite::Error),
    /// A stored value is corrupt.
    #[error("cannot parse the stored value of {key}")]
    Damaged {
        /// The key of the object.
        key: Arc<str>,
        /// The error of the JSON parser.
        source: serde_json::Error,
    },
    /// The history is inconsistent.
    #[error("cannot read the history of {key} at revision {revision}: the history is inconsistent")]
    History {
        /// The key of the object.
        key: Arc<str>,
        /// The revision of the change.
        revision: u64,
    },
}

/// The reason why objects cannot be listed.
#[derive(Debug, thiserror::Error)]
pub enum ListError {
    /// The revision is older than the history.
    #[error("cannot list objects: the revision is compacted; the oldest revision is {floor}")]
    Compacted {
        /// The oldest revision that can be listed.
        floor: u64,
    },
    /// The revision does not exist yet.
    #[error("cannot list objects: the revision is in the future; the latest revision is {current}")]
    Future {
        /// The latest revision.
        current: u64,
    },
    /// The store cannot read the objects.
    #[error(transparent)]
    Store(#[from] StoreError),
}

impl From<rusqlite::Error> for ListError {
    fn from(error: rusqlite::Error) -> Self {
        Self::Store(error.into())
    }
}

/// The reason why the store cannot confirm a change.
#[derive(Debug, Clone, thiserror::Error)]
pub enum CommitError {
    /// The object does not have the expected state. Contains the current object, or `None` if the
    /// object does not exist.
    #[error(
        "cannot change the object: the current revision is not the expected revision; read the \
         object and try again"
    )]
    Conflict(Option<Stored>),
    /// A required object has changed or does not exist. The change was not committed.
    #[error(
        "cannot change the object: an object that this change depends on has changed; try again"
    )]
    Unmet,
    /// The disk or the configured space is full. The change was not committed. Later changes
    /// succeed when space is available.
    #[error("cannot write the store: no space is left")]
    Full,
    /// Too many changes are waiting. The change was not committed.
    #[error("cannot write the store: too many changes are waiting; try again")]
    Busy,
    /// The new value of the object is malformed.
    #[error(transparent)]
    Malformed(#[from] Malformed),
    /// The disk failed. The outcome is unknown: the change may have been committed.
    #[error("cannot write the store")]
    Broken(#[source] Arc<rusqlite::Error>),
    /// The store is closing. The outcome is unknown: the change may have been committed.
    #[error("cannot write the store: the store is closed")]
    Closed,
}

/// The reason why a watch cannot start.
#[derive(Debug, thiserror::Error)]
pub enum WatchError {
    /// The revision is older than the history.
    #[error("cannot start a watch: the revision is compacted; the oldest revision is {floor}")]
    Compacted {
        /// The oldest revision that a watch can start at.
        floor: u64,
    },
    /// The revision does not exist yet.
    #[error(
        "cannot start a watch: the revision is in the future; the latest revision is {current}"
    )]
    Future {
        /// The latest revision.
        current: u64,
    },
    /// The store is closing.
    #[error("cannot start a watch: the store is closed")]
    Closed,
}

/// The reason why a watch ended. The client lists again and starts a new watch.
#[derive(Debug, thiserror::Error)]
pub enum WatchEnd {
    /// The client read events too slowly.
    #[error("the watch ended: the client read events too slowly")]
    Lagged,
    /// The store compacted a part of the history that the watch had not read yet.
    #[error("the watch ended: the history was compacted; the oldest revision is {floor}")]
    Compacted {
        /// The oldest revision that a watch can start at.
        floor: u64,
    },
    /// The store is closing.
    #[error("the watch ended: the store is closed")]
    Closed,
    /// The store cannot read the history for the watch.
    #[error(transparent)]
    Store(StoreError),
}

impl From<StoreError> for WatchEnd {
    fn from(error: StoreError) -> Self {
        match error {
            StoreError::Closed => Self::Closed,
            other => Self::Store(other),
        }
    }
}

/// The reason why a backup or a restore failed.
#[derive(Debug, thiserror::Error)]
pub enum CopyError {
    /// A file already exists at the target path.
    #[error("cannot create {path}: the file already exists", path = .0.display())]
    Exists(PathBuf),
    /// The replaced store or the copy cannot be opened.
    #[error(transparent)]
    Open(#[from] OpenError),
    /// The consistency check of the copy found problems.
    #[error("cannot copy {path}: the file is damaged: {details}", details = problems.join("; "))]
    Unsound {
        /// The path of the file.
        path: PathBuf,
        /// The descriptions of the problems.
        problems: Vec<String>,
    },
    /// A file cannot be written or renamed.
    #[error("cannot write {path}")]
    File {
        /// The path of the file.
        path: PathBuf,
        /// The I/O error.
        source: io::Error,
    },
    /// SQLite failed.
    #[error("cannot copy {path}")]
    Database {
        /// The path of the file.
        path: PathBuf,
        /// The SQLite error.
        source: rusqlite::Error,
    },
}
