//! The file lock that ensures that a store is open only once at a time.

use std::fs::{File, OpenOptions, TryLockError};
use std::io::{Read, Seek, Write};
use std::path::{Path, PathBuf};

use super::error::OpenError;

/// The lock of an open store. The lock is a separate file, because SQLite's locks on the database
/// are dropped when any other handle in this process is closed.
#[derive(Debug)]
pub(super) struct Lock {
    file: File,
}

impl Drop for Lock {
    fn drop(&mut self) {
        // Closing the file is not enough: a child process between fork and exec has copies of all
        // open files, and would hold the lock.
        if let Err(error) = self.file.unlock() {
            tracing::debug!(%error, "failed to unlock the store; closing the file releases the lock");
        }
    }
}

impl Lock {
    /// Locks the store at `path`. Fails if the store is already open.
    pub(super) fn take(path: &Path) -> Result<Self, OpenError> {
        let lock_path = companion_path(path, "lock");
        let failed = |source| OpenError::File {
            path: lock_path.clone(),
            source,
        };
        let mut file = private().open(&lock_path).map_err(failed)?;
        match file.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => {
                let mut text = String::new();
                // The text is for the error message only.
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

/// Returns the path of a companion file, as SQLite names it: `store.db` → `store.db-lock`.
pub(super) fn companion_path(path: &Path, suffix: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push("-");
    name.push(suffix);
    name.into()
}

/// Creates the database file with access only for the owner, because the file contains Secrets.
/// SQLite copies the mode to its companion files.
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

/// Syncs the folder of `path`, so that new directory entries survive a power failure.
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
    fn closed_store_is_unlocked_while_a_forked_child_holds_the_file() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("store.db");
        let lock = Lock::take(&path).unwrap();
        let _of_the_child = lock.file.try_clone().unwrap();
        assert!(matches!(Lock::take(&path), Err(OpenError::Locked { .. })));
        drop(lock);
        Lock::take(&path).unwrap();
    }
}
