//! Garbage collection of the cache.

use std::fs::{self, File};
use std::io;
use std::path::Path;
use std::time::SystemTime;

use crate::error::GitError;

/// The result of a garbage collection.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct GarbageReport {
    /// Repositories that were removed.
    pub removed: usize,
    /// Bytes of the remaining repositories.
    pub bytes: u64,
}

/// A repository in the cache.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Stored {
    name: String,
    bytes: u64,
    last_use: SystemTime,
}

/// Removes the least recently used repositories until the cache has at most `max_bytes`.
pub(crate) fn collect(folder: &Path, max_bytes: u64) -> Result<GarbageReport, GitError> {
    let failed = |error: io::Error| GitError::cache("collect garbage", error);
    let mut report = GarbageReport::default();
    let stored = list(folder).map_err(failed)?;
    report.bytes = stored.iter().map(|one| one.bytes).sum();
    for victim in victims(stored, max_bytes) {
        // A locked repository is in use. The lock file remains, because a worker can wait for it.
        let lock = File::open(folder.join(format!("{}.lock", victim.name))).map_err(failed)?;
        if lock.try_lock().is_ok() {
            fs::remove_dir_all(folder.join(&victim.name)).map_err(failed)?;
            report.removed += 1;
            report.bytes = report.bytes.saturating_sub(victim.bytes);
        }
    }
    Ok(report)
}

/// Returns the repositories to remove, the least recently used first.
fn victims(mut stored: Vec<Stored>, max_bytes: u64) -> Vec<Stored> {
    stored.sort_by(|one, two| (one.last_use, &one.name).cmp(&(two.last_use, &two.name)));
    let mut bytes: u64 = stored.iter().map(|one| one.bytes).sum();
    let mut victims = Vec::new();
    for one in stored {
        if bytes <= max_bytes {
            break;
        }
        bytes -= one.bytes;
        victims.push(one);
    }
    victims
}

fn list(folder: &Path) -> io::Result<Vec<Stored>> {
    let mut stored = Vec::new();
    let entries = match fs::read_dir(folder) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(stored),
        entries => entries?,
    };
    for entry in entries {
        let entry = entry?;
        let name = entry.file_name().to_string_lossy().into_owned();
        let lock = folder.join(format!("{name}.lock"));
        if entry.file_type()?.is_dir() && lock.exists() {
            stored.push(Stored {
                bytes: size(&entry.path())?,
                last_use: fs::metadata(lock)?.modified()?,
                name,
            });
        }
    }
    Ok(stored)
}

/// Returns the bytes of a store's packs. A worker can remove files at the same time.
fn size(store: &Path) -> io::Result<u64> {
    let mut bytes = 0;
    let Ok(entries) = fs::read_dir(store.join("objects/pack")) else {
        return Ok(0);
    };
    for entry in entries {
        bytes += entry?.metadata().map_or(0, |metadata| metadata.len());
    }
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use proptest::prelude::*;

    use super::*;

    fn stored(name: usize, bytes: u64, age: u64) -> Stored {
        Stored {
            name: name.to_string(),
            bytes,
            last_use: SystemTime::UNIX_EPOCH + Duration::from_secs(age),
        }
    }

    proptest! {
        #[test]
        fn garbage_collection_keeps_the_most_recently_used_repositories(
            sizes in proptest::collection::vec((0_u64..100, 0_u64..1000), 0..20),
            max in 0_u64..1000,
        ) {
            let all: Vec<Stored> = sizes
                .iter()
                .enumerate()
                .map(|(name, (bytes, age))| stored(name, *bytes, *age))
                .collect();
            let removed = victims(all.clone(), max);
            let kept: Vec<&Stored> = all.iter().filter(|one| !removed.contains(one)).collect();
            prop_assert!(kept.iter().map(|one| one.bytes).sum::<u64>() <= max);
            let newest_removed = removed.iter().map(|one| one.last_use).max();
            prop_assert!(kept.iter().all(|one| Some(one.last_use) >= newest_removed));
        }
    }
}
