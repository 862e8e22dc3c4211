//! A file system for SQLite, for tests: it knows what was synced, and when its power is cut,
//! everything else may be gone.
//!
//! Killing a process proves little: the kernel keeps what the process wrote. Here every write,
//! truncation, deletion and new name is noted until a sync makes it durable. [`Disk::lose`] then
//! rewrites the real files as a disk might have them after the power failed: what was synced, and
//! of the rest nothing, everything, or an arbitrary part in whatever order, down to single
//! sectors of a write.
//!
//! It also runs out of space, and fails syncs the way Linux does: the pages of a failed sync count
//! as written from then on, though they are not.

mod vfs;
mod world;

use std::ffi::CString;
use std::fs;
use std::io;
use std::path::PathBuf;
use std::sync::Arc;

use parking_lot::Mutex;
use world::World;

pub use world::Chance;

/// One simulated disk, registered with SQLite under a name. It stays registered until the process
/// ends.
#[derive(Debug, Clone)]
pub struct Disk {
    name: Arc<str>,
    world: Arc<Mutex<World>>,
}

impl Disk {
    /// Registers a disk.
    ///
    /// # Errors
    /// If the name has a NUL in it, or SQLite refuses.
    pub fn register(name: &str) -> io::Result<Self> {
        let world = Arc::new(Mutex::new(World::default()));
        vfs::register(CString::new(name)?, Arc::clone(&world))?;
        Ok(Self {
            name: name.into(),
            world,
        })
    }

    /// What SQLite knows it by.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Cuts the power in the middle of the so many'th write, truncation, sync or deletion from now.
    pub fn cut_after(&self, operations: u64) {
        self.world.lock().cut_after(operations);
    }

    /// Whether the power is cut: everything fails then.
    pub fn is_off(&self) -> bool {
        self.world.lock().is_off()
    }

    /// From now on files may grow by so many bytes in all, or without limit.
    pub fn set_space(&self, bytes: Option<u64>) {
        self.world.lock().set_space(bytes);
    }

    /// Fails the next syncs, and forgets what they would have made durable.
    pub fn fail_syncs(&self, count: u32) {
        self.world.lock().fail_syncs(count);
    }

    /// How many syncs there were.
    pub fn syncs(&self) -> u64 {
        self.world.lock().syncs()
    }

    /// Makes the real files what the disk may have after a power failure, and switches the power
    /// on again. No file may be open.
    ///
    /// # Errors
    /// If a file is open, or cannot be written.
    pub fn lose(&self, chance: &mut Chance) -> io::Result<()> {
        let mut world = self.world.lock();
        if world.open_files() > 0 {
            return Err(io::Error::other("a file is still open"));
        }
        for (path, content) in world.lose(chance) {
            match content {
                Some(content) => fs::write(&path, content)?,
                None => remove(&path)?,
            }
            // Shared memory is no file: it goes with the machine.
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
