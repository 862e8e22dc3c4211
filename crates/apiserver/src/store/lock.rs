//! One process, one open store.

use std::fs::{File, OpenOptions, TryLockError};
use std::io::{Read, Seek, Write};
use std::path::{Path, PathBuf};

use super::error::OpenError;

/// Held as long as the store is open. The lock is a file beside the database: SQLite's own locks
/// on the database would be dropped if anybody else closed a handle of it in this process.
#[derive(Debug)]
pub(super) struct Lock {
    file: File,
}

impl Drop for Lock {
    fn drop(&mut self) {
        // Closing alone would leave the lock with a child of this process that is just being
        // started: until it becomes its program it has a copy of every open file.
        if let Err(error) = self.file.unlock() {
            tracing::debug!(%error, "the store's lock ends with its file");
        }
    }
}

impl Lock {
    /// Takes the lock of the store at `path`.
    pub(super) fn take(path: &Path) -> Result<Self, OpenError> {
        let lock_path = beside(path, "lock");
        let failed = |source| OpenError::File {
            path: lock_path.clone(),
            source,
        };
        let mut file = private().open(&lock_path).map_err(failed)?;
        match file.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => {
                let mut text = String::new();
                // Only for the message.
                file.read_to_string(&mut text).ok();
                return Err(OpenError::Locked {
                    path: path.to_owned(),
                    pid: text.trim().parse().ok(),
                });
            }
            Err(TryLockError::Error(source)) => return Err(failed(source)),
        }
        file.set_len(0).map_err(failed)?;
        file.rewind().map_err(failed)?;
        writeln!(file, "{}", std::process::id()).map_err(failed)?;
        Ok(Self { file })
    }
}

/// `store.db` → `store.db-lock`, as SQLite names its own companions.
pub(super) fn beside(path: &Path, suffix: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push("-");
    name.push(suffix);
    name.into()
}

/// Makes the database's file before SQLite does, so that nobody else can read it: it holds
/// Secrets. SQLite gives its companions the same rights.
pub(super) fn create_private(path: &Path) -> Result<(), OpenError> {
    private()
        .open(path)
        .map(drop)
        .map_err(|source| OpenError::File {
            path: path.to_owned(),
            source,
        })
}

fn private() -> OpenOptions {
    let mut options = OpenOptions::new();
    options.read(true).write(true).create(true).truncate(false);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    options
}

/// Makes the names in the folder of `path` durable.
pub(super) fn sync_folder(path: &Path) -> std::io::Result<()> {
    let folder = match path.parent() {
        Some(folder) if !folder.as_os_str().is_empty() => folder,
        _ => Path::new("."),
    };
    File::open(folder)?.sync_all()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_closed_store_is_free_although_a_child_being_started_has_its_files() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("store.db");
        let lock = Lock::take(&path).unwrap();
        let _of_the_child = lock.file.try_clone().unwrap();
        assert!(matches!(Lock::take(&path), Err(OpenError::Locked { .. })));
        drop(lock);
        Lock::take(&path).unwrap();
    }
}
