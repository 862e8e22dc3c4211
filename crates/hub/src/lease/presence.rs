//! Detects that the holder's process on the same machine has ended, so that a waiting server can
//! take the Lease early.
//!
//! Each server holds a lock on its own file in tmpfs. The kernel releases the lock when the process
//! ends. If the file exists and is unlocked, the process has therefore ended. Different machines
//! never share a tmpfs.
//!
//! The waiting server waits until the Lease expires if the file does not exist, has a different
//! owner, or is not in a tmpfs.

use std::fs::{File, OpenOptions, TryLockError};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};

use uuid::Uuid;

/// The folder of the lock files, if it is a tmpfs mount.
const FOLDER: &str = "/dev/shm";

/// This process's name in the election, and the lock that proves that the process runs. Drop the
/// value only after all tasks of the server have ended.
#[derive(Debug)]
pub struct LeaseIdentity {
    name: String,
    held: Option<(PathBuf, File)>,
}

impl LeaseIdentity {
    /// Creates a unique name that starts with the host name.
    pub fn new(host: &str) -> Self {
        let id = Uuid::new_v4();
        let in_memory_folder = in_memory(Path::new(FOLDER), &mounts())
            .then(|| lock(&file(&id)))
            .transpose()
            .unwrap_or_else(|error| {
                // Without a lock, other servers wait for the Lease to expire, as on other machines.
                tracing::debug!(%error, "cannot create the lock file of the Lease");
                None
            });
        Self {
            name: format!("{host}-{id}"),
            held: in_memory_folder,
        }
    }

    /// Returns the holder identity for the Lease.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Releases the lock without removing the file, to simulate a killed process.
    #[cfg(test)]
    pub(super) fn release_lock(mut self) {
        if let Some((_, file)) = self.held.take() {
            // An explicit unlock, because a child process that is just starting may still have the
            // file open.
            file.unlock().expect("the lock is held");
        }
    }
}

impl Drop for LeaseIdentity {
    fn drop(&mut self) {
        if let Some((path, _)) = &self.held {
            // A failure leaves only an empty file.
            let _ = std::fs::remove_file(path);
        }
    }
}

/// Reports whether the process with this name has ended. Returns false if the state of the process
/// is unknown.
pub(super) fn is_gone(name: &str) -> bool {
    let Some(id) = id_of(name) else { return false };
    if !in_memory(Path::new(FOLDER), &mounts()) {
        return false;
    }
    let Ok(file) = File::open(file(&id)) else {
        return false;
    };
    // Dropping the file releases the lock.
    file.try_lock().is_ok()
}

/// Removes the lock file of an ended process.
pub(super) fn remove_file(name: &str) {
    if let Some(id) = id_of(name) {
        let _ = std::fs::remove_file(file(&id));
    }
}

/// Returns the UUID at the end of a name. The check ensures that the name in a Lease cannot select
/// a path outside the folder.
fn id_of(name: &str) -> Option<Uuid> {
    let start = name.len().checked_sub(uuid::fmt::Hyphenated::LENGTH)?;
    Uuid::try_parse(name.get(start..)?).ok()
}

fn file(id: &Uuid) -> PathBuf {
    Path::new(FOLDER).join(format!("drover-server-{id}"))
}

fn lock(path: &Path) -> std::io::Result<(PathBuf, File)> {
    let file = OpenOptions::new()
        .read(true)
        .write(true)
        .create_new(true)
        .mode(0o600)
        .open(path)?;
    file.try_lock().map_err(|error| match error {
        TryLockError::Error(error) => error,
        TryLockError::WouldBlock => std::io::ErrorKind::WouldBlock.into(),
    })?;
    Ok((path.to_owned(), file))
}

fn mounts() -> String {
    std::fs::read_to_string("/proc/self/mounts").unwrap_or_default()
}

/// Reports whether the folder is a tmpfs mount. If the mount table has several lines for the
/// folder, the last line applies.
fn in_memory(folder: &Path, mounts: &str) -> bool {
    let mut kinds = mounts.lines().rev().filter_map(|line| {
        let mut fields = line.split(' ').skip(1);
        (Path::new(fields.next()?) == folder).then(|| fields.next())?
    });
    kinds.next() == Some("tmpfs")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn process_is_detected_as_ended_when_its_file_is_unlocked() {
        let running = LeaseIdentity::new("host");
        let Some((path, _)) = &running.held else {
            // Without tmpfs the end of a process is never certain.
            assert!(!in_memory(Path::new(FOLDER), &mounts()));
            assert!(!is_gone(running.name()));
            return;
        };
        assert!(!is_gone(running.name()), "the process runs");
        let ended = Uuid::new_v4();
        std::fs::write(file(&ended), "").unwrap();
        let name = format!("host-{ended}");
        assert!(is_gone(&name), "the lock is free");
        remove_file(&name);
        assert!(!is_gone(&name), "the file is removed");
        let path = path.clone();
        drop(running);
        assert!(!path.exists());
    }

    #[test]
    fn lease_holder_name_without_process_id_is_ignored() {
        for name in [
            "",
            "host",
            "host-/../../etc/passwd-aaaaaaaaaaaaaaaaaaaaaaa",
            "ü",
        ] {
            assert_eq!(id_of(name), None, "{name}");
            assert!(!is_gone(name));
        }
        assert!(!is_gone(&format!("host-{}", Uuid::new_v4())));
    }

    #[test]
    fn process_detection_requires_a_tmpfs_mount() {
        let folder = Path::new("/dev/shm");
        for (mounts, expected) in [
            ("tmpfs /dev/shm tmpfs rw 0 0\n", true),
            ("server:/x /dev/shm nfs4 rw 0 0\n", false),
            (
                "tmpfs /dev/shm tmpfs rw 0 0\nserver:/x /dev/shm nfs4 rw 0 0\n",
                false,
            ),
            ("tmpfs /dev tmpfs rw 0 0\n", false),
            ("", false),
        ] {
            assert_eq!(in_memory(folder, mounts), expected, "{mounts}");
        }
    }
}
