//! The cache: one folder of packs for each repository.
//!
//! A store has no configuration, references and hooks. libgit2 opens only the folder of packs, so
//! that no file of a user, the system or a repository changes how libgit2 works.

use std::fs::{self, File, TryLockError};
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use git2::{Indexer, Odb, Oid, Repository};

use crate::error::GitError;
use crate::limits::Limits;
use crate::protocol::ProtocolError;
use crate::protocol::pack::PackStream;
use crate::transport::Deadline;

/// A store with more packs is fetched again as one pack.
const MAX_PACKS: usize = 32;
/// The time between two attempts to lock a store.
const LOCK_INTERVAL: Duration = Duration::from_millis(20);

/// The exclusively locked store of one repository.
pub(crate) struct Store {
    folder: PathBuf,
    _lock: File,
}

impl Store {
    /// Opens and locks the store of a repository. Other workers wait for the lock.
    pub(crate) fn open(
        cache: &Path,
        repository: &str,
        deadline: Deadline,
    ) -> Result<Self, GitError> {
        let name = name(repository);
        let folder = cache.join(&name);
        fs::create_dir_all(cache).map_err(|error| GitError::cache("create the folder", error))?;
        let lock = File::options()
            .create(true)
            .truncate(false)
            .write(true)
            .open(cache.join(format!("{name}.lock")))
            .map_err(|error| GitError::cache("open a lock", error))?;
        while let Err(error) = lock.try_lock() {
            match error {
                TryLockError::WouldBlock => {
                    let left = deadline.remaining()?;
                    std::thread::sleep(left.min(LOCK_INTERVAL));
                }
                TryLockError::Error(error) => return Err(GitError::cache("lock a store", error)),
            }
        }
        // The garbage collection removes the stores with the oldest times first.
        lock.set_modified(SystemTime::now())
            .map_err(|error| GitError::cache("set the time of a store", error))?;
        let store = Self {
            folder,
            _lock: lock,
        };
        fs::create_dir_all(store.packs())
            .map_err(|error| GitError::cache("create a store", error))?;
        store.remove_incomplete()?;
        Ok(store)
    }

    fn packs(&self) -> PathBuf {
        self.folder.join("objects/pack")
    }

    /// Removes the files of workers that ended early, and a store with too many packs.
    fn remove_incomplete(&self) -> Result<(), GitError> {
        let failed = |error| GitError::cache("read a store", error);
        let mut packs = 0;
        for entry in fs::read_dir(self.packs()).map_err(failed)? {
            let path = entry.map_err(failed)?.path();
            let extension = path.extension().and_then(|text| text.to_str());
            match extension {
                Some("idx") => packs += 1,
                Some("pack") if path.with_extension("idx").exists() => {}
                _ => fs::remove_file(&path).map_err(failed)?,
            }
        }
        if packs > MAX_PACKS {
            self.reset()?;
        }
        Ok(())
    }

    /// Removes all content.
    pub(crate) fn reset(&self) -> Result<(), GitError> {
        let failed = |error| GitError::cache("empty a store", error);
        fs::remove_dir_all(&self.folder).map_err(failed)?;
        fs::create_dir_all(self.packs()).map_err(failed)
    }

    /// Opens the objects.
    pub(crate) fn repository(&self) -> Result<Repository, GitError> {
        let failed = |error| GitError::cache("open a store", error);
        let objects = self.folder.join("objects");
        let objects = objects
            .to_str()
            .ok_or_else(|| GitError::cache("open a store", "the path is not UTF-8"))?;
        let odb = Odb::new().map_err(failed)?;
        odb.add_disk_alternate(objects).map_err(failed)?;
        Repository::from_odb(odb).map_err(failed)
    }

    /// Reports whether the store contains a commit.
    pub(crate) fn contains(&self, commit: &str) -> Result<bool, GitError> {
        let id = Oid::from_str(commit).map_err(|error| GitError::cache("parse an ID", error))?;
        Ok(self.repository()?.find_commit(id).is_ok())
    }

    /// Returns the commit that was received last, with all its objects.
    pub(crate) fn tip(&self) -> Option<String> {
        let tip = fs::read_to_string(self.folder.join("tip")).ok()?;
        let tip = tip.trim();
        let present = crate::request::is_commit(tip) && self.contains(tip).unwrap_or(false);
        present.then(|| tip.to_owned())
    }

    /// Records the commit that was received last.
    pub(crate) fn set_tip(&self, commit: &str) -> Result<(), GitError> {
        fs::write(self.folder.join("tip"), commit)
            .map_err(|error| GitError::cache("write the tip of a store", error))
    }

    /// Writes a pack into the store, and returns its size.
    pub(crate) fn receive<R: std::io::Read>(
        &self,
        pack: &mut PackStream<R>,
        limits: &Limits,
        deadline: Deadline,
        progress: &mut dyn FnMut(u64) -> Result<(), GitError>,
        describe: &dyn Fn(ProtocolError) -> GitError,
    ) -> Result<u64, GitError> {
        let failed = |error: git2::Error| pack_error(&error, describe);
        let repository = self.repository()?;
        let objects = repository.odb().map_err(failed)?;
        // The indexer completes thin packs with these objects. Without the check for connected
        // objects, which a pack without history does not pass.
        let mut indexer =
            Indexer::new(Some(&objects), &self.packs(), 0o444, false).map_err(failed)?;
        let mut header = Vec::with_capacity(12);
        let mut received: u64 = 0;
        loop {
            deadline.remaining()?;
            let Some(bytes) = pack.next_bytes().map_err(describe)? else {
                break;
            };
            received += bytes.len() as u64;
            if received > limits.pack_bytes {
                return Err(GitError::limit("bytes of a pack", limits.pack_bytes));
            }
            if header.len() < 12 {
                header.extend(bytes.iter().take(12 - header.len()));
                check_objects(&header, limits)?;
            }
            std::io::Write::write_all(&mut indexer, bytes).map_err(|error| {
                match error.get_ref().and_then(|inner| inner.downcast_ref()) {
                    Some(inner) => pack_error(inner, describe),
                    None => GitError::cache("write a pack", error),
                }
            })?;
            progress(received)?;
        }
        if header.len() < 12 {
            return Err(describe(ProtocolError::invalid("the pack is empty")));
        }
        indexer.commit().map_err(failed)?;
        Ok(received)
    }
}

/// Returns the error for a pack that libgit2 cannot store: the disk, or the pack.
fn pack_error(error: &git2::Error, describe: &dyn Fn(ProtocolError) -> GitError) -> GitError {
    if error.class() == git2::ErrorClass::Os {
        return GitError::cache("write a pack", error.message());
    }
    let reason = format!("the pack is damaged: {}", error.message());
    describe(ProtocolError::invalid(reason))
}

/// Checks the number of objects in the header of a pack.
fn check_objects(header: &[u8], limits: &Limits) -> Result<(), GitError> {
    // libgit2 reports a pack with another start.
    let Some(count) = header
        .strip_prefix(b"PACK")
        .and_then(|rest| rest.get(4..8)?.try_into().ok())
    else {
        return Ok(());
    };
    if u32::from_be_bytes(count) > limits.pack_objects {
        return Err(GitError::limit("objects in a pack", limits.pack_objects));
    }
    Ok(())
}

/// Returns the name of a repository's store.
fn name(repository: &str) -> String {
    let digest = aws_lc_rs::digest::digest(&aws_lc_rs::digest::SHA256, repository.as_bytes());
    let mut name = String::with_capacity(40);
    for byte in &digest.as_ref()[..20] {
        // Writing to a String cannot fail.
        let _ = std::fmt::Write::write_fmt(&mut name, format_args!("{byte:02x}"));
    }
    name
}
