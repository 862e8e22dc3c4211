//! What can go wrong, one type for each operation.

use std::io;
use std::path::PathBuf;
use std::sync::Arc;

use super::stored::{Malformed, Stored};

/// Why a store cannot be opened.
#[derive(Debug, thiserror::Error)]
pub enum OpenError {
    /// Another process, or another part of this one, has it open.
    #[error("{} is in use{}", path.display(), holder(*pid))]
    Locked {
        /// The store.
        path: PathBuf,
        /// Who has it, if known.
        pid: Option<u32>,
    },
    /// It was written by a later program.
    #[error(
        "{} has schema {found}, this program knows up to {known}: \
         use the newer program, or restore a backup made by this one", path.display()
    )]
    Newer {
        /// The store.
        path: PathBuf,
        /// The file's schema version.
        found: u32,
        /// The latest that this program knows.
        known: u32,
    },
    /// A SQLite database, but of some other program.
    #[error("{} is not a store of this program", .0.display())]
    Foreign(PathBuf),
    /// The file or its folder cannot be used.
    #[error("cannot use {}", path.display())]
    File {
        /// Which.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// SQLite cannot open, read or migrate it.
    #[error("cannot open {}", path.display())]
    Database {
        /// The store.
        path: PathBuf,
        /// Why.
        source: rusqlite::Error,
    },
    /// What the file says of itself contradicts itself.
    #[error("{} is damaged: {what}", path.display())]
    Damaged {
        /// The store.
        path: PathBuf,
        /// In which way.
        what: String,
    },
}

fn holder(pid: Option<u32>) -> String {
    pid.map_or_else(String::new, |pid| format!(" by process {pid}"))
}

/// Why a read failed.
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    /// Too many reads wait already.
    #[error("the store is busy")]
    Busy,
    /// The store is closing.
    #[error("the store is closed")]
    Closed,
    /// SQLite failed.
    #[error("the store cannot be read")]
    Database(#[from] rusqlite::Error),
    /// A value is not what was written.
    #[error("the stored value of {key} is damaged")]
    Damaged {
        /// Whose.
        key: Arc<str>,
        /// Why it cannot be read.
        source: serde_json::Error,
    },
    /// The history contradicts itself.
    #[error("the history of {key} is damaged at revision {revision}")]
    History {
        /// Whose.
        key: Arc<str>,
        /// Where.
        revision: u64,
    },
}

/// Why a list failed.
#[derive(Debug, thiserror::Error)]
pub enum ListError {
    /// The revision is older than the history that is kept.
    #[error("revision is compacted, the oldest is {floor}")]
    Compacted {
        /// The oldest revision that can still be listed.
        floor: u64,
    },
    /// The revision was not handed out yet.
    #[error("revision is in the future, the latest is {current}")]
    Future {
        /// The latest revision.
        current: u64,
    },
    /// The read failed.
    #[error(transparent)]
    Store(#[from] StoreError),
}

impl From<rusqlite::Error> for ListError {
    fn from(error: rusqlite::Error) -> Self {
        Self::Store(error.into())
    }
}

/// Why a change was not made.
#[derive(Debug, Clone, thiserror::Error)]
pub enum CommitError {
    /// What is stored is not what was expected; this is what there is.
    #[error("the stored revision is another one")]
    Conflict(Option<Stored>),
    /// An object that the change requires has changed or is gone. Nothing was changed.
    #[error("a required object has changed")]
    Unmet,
    /// The disk or the space given to the store is full. Nothing was changed; later changes
    /// succeed by themselves once there is room.
    #[error("no space is left for the store")]
    Full,
    /// Too many changes wait already. Nothing was changed.
    #[error("the store is busy")]
    Busy,
    /// The value cannot be stored.
    #[error(transparent)]
    Malformed(#[from] Malformed),
    /// The disk failed. The change may or may not be found made later.
    #[error("the store cannot be written")]
    Broken(#[source] Arc<rusqlite::Error>),
    /// The store is closing. The change may or may not be found made later.
    #[error("the store is closed")]
    Closed,
}

/// Why a watch cannot begin.
#[derive(Debug, thiserror::Error)]
pub enum WatchError {
    /// Changes after this revision are no longer all known.
    #[error("revision is compacted, the oldest is {floor}")]
    Compacted {
        /// The oldest revision that a watch can begin at.
        floor: u64,
    },
    /// The revision was not handed out yet.
    #[error("revision is in the future, the latest is {current}")]
    Future {
        /// The latest revision.
        current: u64,
    },
    /// The store is closing.
    #[error("the store is closed")]
    Closed,
}

/// Why a watch ended. The watcher lists again and begins anew.
#[derive(Debug, thiserror::Error)]
pub enum WatchEnd {
    /// It took its events too slowly.
    #[error("the watcher was too slow")]
    Lagged,
    /// It read old history, which was compacted meanwhile.
    #[error("the history was compacted, the oldest is {floor}")]
    Compacted {
        /// The oldest revision that a watch can begin at.
        floor: u64,
    },
    /// The store is closing.
    #[error("the store is closed")]
    Closed,
    /// Old history could not be read.
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

/// Why a copy was not made or not put in place.
#[derive(Debug, thiserror::Error)]
pub enum CopyError {
    /// There is something already where the copy would go.
    #[error("{} exists", .0.display())]
    Exists(PathBuf),
    /// The store to replace, or the copy, cannot be opened.
    #[error(transparent)]
    Open(#[from] OpenError),
    /// The copy is not sound.
    #[error("{} is damaged: {}", path.display(), problems.join("; "))]
    Unsound {
        /// Which file.
        path: PathBuf,
        /// What is wrong with it.
        problems: Vec<String>,
    },
    /// A file cannot be written or moved.
    #[error("cannot write {}", path.display())]
    File {
        /// Which.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// SQLite failed to copy.
    #[error("cannot copy {}", path.display())]
    Database {
        /// Which.
        path: PathBuf,
        /// Why.
        source: rusqlite::Error,
    },
}
