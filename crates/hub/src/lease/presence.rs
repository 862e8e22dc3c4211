//! By which a waiting server on the same machine knows that the holder's process is gone.
//!
//! A server keeps a lock on a file of its own in the machine's memory. Whoever finds that file
//! unlocked knows that its process has ended: the kernel keeps the lock for exactly as long as the
//! process has the file open, and a file in memory is on no other machine. No file, a file of
//! somebody else, or a folder that is not in memory proves nothing: then the Lease has to die.

use std::fs::{File, OpenOptions, TryLockError};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};

use uuid::Uuid;

/// Where the files lie, if it is a file system in memory.
const FOLDER: &str = "/dev/shm";

/// This process's name in the election, and the lock that shows others that it lives; drop it
/// when nothing of the server is under way any more.
#[derive(Debug)]
pub struct Presence {
    name: String,
    held: Option<(PathBuf, File)>,
}

impl Presence {
    /// A name that nobody else has; starts with the host's, for people.
    pub fn new(host: &str) -> Self {
        let id = Uuid::new_v4();
        let held = in_memory(Path::new(FOLDER), &mounts())
            .then(|| hold(&file(&id)))
            .transpose()
            .unwrap_or_else(|error| {
                // Others wait for the Lease to die then, as they do on other machines.
                tracing::debug!(%error, "no lock beside the Lease");
                None
            });
        Self {
            name: format!("{host}-{id}"),
            held,
        }
    }

    /// What stands in the Lease.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Loses the lock and leaves the file, as a process that is killed does.
    #[cfg(test)]
    pub(super) fn let_go(mut self) {
        if let Some((_, file)) = self.held.take() {
            // A child of this process that is being started would keep a lock that is only closed.
            file.unlock().expect("the lock is held");
        }
    }
}

impl Drop for Presence {
    fn drop(&mut self) {
        if let Some((path, _)) = &self.held {
            // What is left of a failure here is an empty file.
            let _ = std::fs::remove_file(path);
        }
    }
}

/// Whether it is certain that the process of this name has ended.
pub(super) fn is_gone(name: &str) -> bool {
    let Some(id) = id_of(name) else { return false };
    if !in_memory(Path::new(FOLDER), &mounts()) {
        return false;
    }
    let Ok(file) = File::open(file(&id)) else {
        return false;
    };
    // Dropping the file gives the lock back.
    file.try_lock().is_ok()
}

/// Removes what a process that is gone has left.
pub(super) fn forget(name: &str) {
    if let Some(id) = id_of(name) {
        let _ = std::fs::remove_file(file(&id));
    }
}

/// The end of a name, if it is such an id: a Lease's text never becomes another path.
fn id_of(name: &str) -> Option<Uuid> {
    let start = name.len().checked_sub(uuid::fmt::Hyphenated::LENGTH)?;
    Uuid::try_parse(name.get(start..)?).ok()
}

fn file(id: &Uuid) -> PathBuf {
    Path::new(FOLDER).join(format!("drover-server-{id}"))
}

fn hold(path: &Path) -> std::io::Result<(PathBuf, File)> {
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

/// Whether a folder is a mount of tmpfs; the last line of a folder is the one that counts.
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
    fn a_process_is_gone_exactly_when_its_lock_is() {
        let living = Presence::new("host");
        let Some((path, _)) = &living.held else {
            // Without a file system in memory nothing is ever certain.
            assert!(!in_memory(Path::new(FOLDER), &mounts()));
            assert!(!is_gone(living.name()));
            return;
        };
        assert!(!is_gone(living.name()), "it lives");
        let dead = Uuid::new_v4();
        std::fs::write(file(&dead), "").unwrap();
        let name = format!("host-{dead}");
        assert!(is_gone(&name), "nobody holds its lock");
        forget(&name);
        assert!(!is_gone(&name), "nothing is known of it");
        let path = path.clone();
        drop(living);
        assert!(!path.exists());
    }

    #[test]
    fn a_name_from_elsewhere_proves_nothing_and_leads_nowhere() {
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
    fn only_a_folder_in_memory_is_this_machines_alone() {
        let folder = Path::new("/dev/shm");
        for (mounts, wanted) in [
            ("tmpfs /dev/shm tmpfs rw 0 0\n", true),
            ("server:/x /dev/shm nfs4 rw 0 0\n", false),
            (
                "tmpfs /dev/shm tmpfs rw 0 0\nserver:/x /dev/shm nfs4 rw 0 0\n",
                false,
            ),
            ("tmpfs /dev tmpfs rw 0 0\n", false),
            ("", false),
        ] {
            assert_eq!(in_memory(folder, mounts), wanted, "{mounts}");
        }
    }
}
