//! A fault-injecting SQLite VFS for tests: the VFS tracks synced data, and can lose all unsynced
//! data in a simulated power failure.
//!
//! A killed process loses no writes, because the kernel completes the writes. This VFS therefore
//! records each write, truncation, deletion and creation until a sync makes it durable.
//! [`Disk::crash`] then rewrites the real files to a state that a disk can have after a power
//! failure. Synced data is complete. An arbitrary subset of the other writes survives in arbitrary
//! order, down to single sectors of a write.
//!
//! The simulated disk can also run out of space and fail syncs. As in Linux, pages are clean after
//! a failed sync, although they were not written.

mod state;
mod vfs;

use std::ffi::CString;
use std::fs;
use std::io;
use std::path::PathBuf;
use std::sync::Arc;

use parking_lot::Mutex;
use state::DiskState;

pub use state::Random;

/// A simulated disk, registered with SQLite under a name until the process ends.
#[derive(Debug, Clone)]
pub struct Disk {
    name: Arc<str>,
    state: Arc<Mutex<DiskState>>,
}

impl Disk {
    /// Registers a disk under this name.
    ///
    /// # Errors
    ///
    /// Fails if the name contains NUL, or if SQLite rejects it.
    pub fn register(name: &str) -> io::Result<Self> {
        let state = Arc::new(Mutex::new(DiskState::default()));
        vfs::register(CString::new(name)?, Arc::clone(&state))?;
        Ok(Self {
            name: name.into(),
            state,
        })
    }

    /// Returns the name under which the VFS is registered with SQLite.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Schedules a power failure during a write, truncation, sync or deletion. `operations` is the
    /// number of these operations from this call to the power failure.
    pub fn cut_after(&self, operations: u64) {
        self.state.lock().cut_after(operations);
    }

    /// Reports whether the simulated power is off. While the power is off, all operations fail.
    pub fn is_off(&self) -> bool {
        self.state.lock().is_off()
    }

    /// Limits the total growth of files to a number of bytes. `None` removes the limit.
    pub fn set_space(&self, bytes: Option<u64>) {
        self.state.lock().set_space(bytes);
    }

    /// Fails the next `count` syncs, and discards the data of these syncs.
    pub fn fail_syncs(&self, count: u32) {
        self.state.lock().fail_syncs(count);
    }

    /// Returns the number of syncs since the registration of the disk.
    pub fn syncs(&self) -> u64 {
        self.state.lock().syncs()
    }

    /// Rewrites the real files to a possible state after a power failure, and switches the power
    /// on. All files must be closed.
    ///
    /// # Errors
    ///
    /// Fails if a file is open or cannot be written.
    pub fn crash(&self, random: &mut Random) -> io::Result<()> {
        let mut state = self.state.lock();
        if state.open_files() > 0 {
            return Err(io::Error::other("a file is still open"));
        }
        for (path, content) in state.crash(random) {
            match content {
                Some(content) => fs::write(&path, content)?,
                None => remove(&path)?,
            }
            // Shared memory is not on disk and is lost in a power failure.
            let mut shared = path.into_os_string();
            shared.push("-shm");
            remove(&PathBuf::from(shared))?;
        }
        Ok(())
    }
}

fn remove(path: &PathBuf) -> io::Result<()> {
    match fs::remove_file(path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
        _ => Ok(()),
    }
}
