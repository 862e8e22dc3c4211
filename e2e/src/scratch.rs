//! Temporary folders. A later test run removes the folders of a killed test run.

use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use tempfile::TempDir;

const PREFIX: &str = "drover-e2e-";
const LOCK: &str = ".in-use";
/// Minimum age of a folder that this process may remove. The process that created a younger folder
/// may not have locked the folder yet.
const YOUNG: Duration = Duration::from_mins(5);

/// A temporary folder cannot be created.
#[derive(Debug, thiserror::Error)]
#[error("cannot create a temporary folder in {parent}")]
pub struct ScratchError {
    /// Path of the parent folder of the temporary folder.
    pub parent: PathBuf,
    /// The error of the operating system.
    pub source: io::Error,
}

/// A temporary folder. Dropping the value removes the folder. If this process is killed, the next
/// process that creates a temporary folder also removes this folder.
#[derive(Debug)]
pub(crate) struct Scratch {
    folder: TempDir,
    // The lock of the folder until this process ends.
    _lock: File,
}

impl Scratch {
    /// Creates a temporary folder. Also removes the temporary folders of processes that have ended.
    pub(crate) fn make(subject: &str) -> Result<Self, ScratchError> {
        let parent = std::env::temp_dir();
        sweep(&parent, YOUNG);
        let make = || {
            let folder = tempfile::Builder::new()
                .prefix(&format!("{PREFIX}{subject}-"))
                .tempdir_in(&parent)?;
            let lock = File::create(folder.path().join(LOCK))?;
            lock.lock()?;
            Ok(Self {
                folder,
                _lock: lock,
            })
        };
        make().map_err(|source| ScratchError {
            parent: parent.clone(),
            source,
        })
    }

    pub(crate) fn path(&self) -> &Path {
        self.folder.path()
    }
}

/// Removes temporary folders in `parent` that no process uses. Ignores errors.
fn sweep(parent: &Path, young: Duration) {
    for entry in fs::read_dir(parent).into_iter().flatten().flatten() {
        let path = entry.path();
        if entry.file_name().to_string_lossy().starts_with(PREFIX) && is_abandoned(&path, young) {
            let _ = fs::remove_dir_all(&path);
        }
    }
}

fn is_abandoned(folder: &Path, young: Duration) -> bool {
    let age = |metadata: fs::Metadata| metadata.modified().ok()?.elapsed().ok();
    let old = fs::symlink_metadata(folder)
        .ok()
        .filter(fs::Metadata::is_dir)
        .and_then(age)
        .is_some_and(|age| age >= young);
    old && File::open(folder.join(LOCK)).is_ok_and(|lock| lock.try_lock().is_ok())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn folder_with_lock(parent: &Path, name: &str) -> (PathBuf, File) {
        let folder = parent.join(name);
        fs::create_dir(&folder).unwrap();
        let lock = File::create(folder.join(LOCK)).unwrap();
        (folder, lock)
    }

    #[test]
    fn only_old_folders_of_ended_processes_are_removed() {
        let parent = tempfile::tempdir().unwrap();
        let (abandoned, _) = folder_with_lock(parent.path(), "drover-e2e-abandoned");
        let (used, lock) = folder_with_lock(parent.path(), "drover-e2e-used");
        lock.lock().unwrap();
        let (foreign, _) = folder_with_lock(parent.path(), "somebody-elses");

        sweep(parent.path(), YOUNG);
        assert!(abandoned.exists(), "a young folder must not be removed");

        sweep(parent.path(), Duration::ZERO);
        assert!(!abandoned.exists());
        assert!(used.exists());
        assert!(foreign.exists());
    }
}
