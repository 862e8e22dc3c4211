//! Backup and restore of stores.

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::time::Duration;

use rusqlite::backup::{Backup, StepResult};
use rusqlite::{Connection, ffi};

use super::check::check;
use super::error::{CopyError, OpenError};
use super::layout::{self, Role};
use super::lock::{self, Lock, companion_path};

/// The distance between the revision of a restored store and its last known revision. The number of
/// revisions after the backup is unknown. The distance is sufficient for a day with ten thousand
/// changes per second.
const GAP: u64 = 1_000_000_000;

/// The behaviour if the target of a restore exists.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Overwrite {
    /// The restore fails, and the existing store stays unchanged.
    Deny,
    /// The restore replaces the existing store. The replaced store gets a new name with the suffix
    /// `-replaced`. The suffix also contains a number if this name exists.
    Replace,
}

/// Copies a store to a new file, and returns the revision of the copy. The store at `from` may be
/// open.
pub(super) fn backup(from: &Path, vfs: Option<&str>, to: &Path) -> Result<u64, CopyError> {
    if to.exists() {
        return Err(CopyError::Exists(to.to_owned()));
    }
    let partial = Partial::new(to, "partial")?;
    partial.fill(from, vfs)?;
    let revision = partial.settle(|conn| {
        // A backup is a single file without a log.
        conn.pragma_update(None, "journal_mode", "DELETE")?;
        layout::meta(conn, "revision")
    })?;
    partial.publish(to)?;
    Ok(revision)
}

/// Restores a backup to `to`. Returns the revision.
pub(super) fn restore(from: &Path, to: &Path, overwrite: Overwrite) -> Result<u64, CopyError> {
    let _lock = Lock::take(to)?;
    let exists = to.exists();
    if exists && overwrite == Overwrite::Deny {
        return Err(CopyError::Exists(to.to_owned()));
    }
    let report = check(from)?;
    if !report.problems.is_empty() {
        return Err(CopyError::Unsound {
            path: from.to_owned(),
            problems: report.problems,
        });
    }
    let partial = Partial::new(to, "restoring")?;
    partial.fill(from, None)?;
    let old = if exists { link_replaced(to)? } else { (0, 0) };
    let revision = report.revision.max(old.0) + GAP;
    let epoch = report.epoch.max(old.1) + 1;
    layout::migrate(&mut partial.open()?, &partial.path)?;
    partial.settle(|conn| clear_history(conn, revision, epoch))?;
    partial.publish(to)?;
    Ok(revision)
}

/// Clears the history of the backup, because the changes after the backup are unknown.
fn clear_history(conn: &Connection, revision: u64, epoch: u64) -> rusqlite::Result<()> {
    let change = conn.unchecked_transaction()?;
    layout::set_meta(&change, "revision", revision)?;
    layout::set_meta(&change, "epoch", epoch)?;
    change.execute("UPDATE floors SET rev = ?", [revision.cast_signed()])?;
    change.execute("DELETE FROM log", [])?;
    change.commit()
}

/// Creates a link to the replaced store. The link has an unused name. Returns the revision and
/// epoch of the replaced store, if they are readable. The original name remains until the new file
/// replaces it atomically.
fn link_replaced(path: &Path) -> Result<(u64, u64), CopyError> {
    let known = settle(path).unwrap_or_else(|error| {
        tracing::warn!(%error, "failed to read the store that the copy replaces");
        (0, 0)
    });
    let replaced = unused_name(path, "replaced");
    let failed = |source| CopyError::File {
        path: replaced.clone(),
        source,
    };
    fs::hard_link(path, &replaced).map_err(failed)?;
    // A log exists only if it could not be read. With the new file, the log would cause corruption.
    let mut log = replaced.clone().into_os_string();
    log.push("-wal");
    match fs::rename(companion_path(path, "wal"), &log) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => return Err(failed(error)),
        _ => {}
    }
    remove(&companion_path(path, "shm")).map_err(failed)?;
    Ok(known)
}

/// Returns an unused name in the folder of the file, so that a restore keeps all replaced stores.
fn unused_name(path: &Path, suffix: &str) -> PathBuf {
    let first = companion_path(path, suffix);
    let more = (2..).map(|number: u32| companion_path(path, &format!("{suffix}-{number}")));
    let mut names = std::iter::once(first.clone()).chain(more);
    names.find(|name| !name.exists()).unwrap_or(first)
}

/// Moves the write-ahead log of a closed store into its database file.
fn settle(path: &Path) -> rusqlite::Result<(u64, u64)> {
    let conn = layout::connect(path, None, Role::Write)?;
    let known = (
        layout::meta(&conn, "revision")?,
        layout::meta(&conn, "epoch")?,
    );
    conn.query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |_| Ok(()))?;
    conn.close().map_err(|(_, error)| error)?;
    Ok(known)
}

/// A temporary file that is renamed when its content is complete.
struct Partial {
    path: PathBuf,
}

impl Partial {
    fn new(to: &Path, suffix: &str) -> Result<Self, CopyError> {
        let partial = Self {
            path: companion_path(to, suffix),
        };
        partial.remove_all()?;
        lock::create_private(&partial.path)?;
        Ok(partial)
    }

    fn remove_all(&self) -> Result<(), CopyError> {
        for path in [
            self.path.clone(),
            companion_path(&self.path, "wal"),
            companion_path(&self.path, "shm"),
            companion_path(&self.path, "journal"),
        ] {
            remove(&path).map_err(|source| CopyError::File { path, source })?;
        }
        Ok(())
    }

    fn database(&self, source: rusqlite::Error) -> CopyError {
        CopyError::Database {
            path: self.path.clone(),
            source,
        }
    }

    fn open(&self) -> Result<Connection, CopyError> {
        layout::connect(&self.path, None, Role::Write).map_err(|error| self.database(error))
    }

    /// Copies all pages in one step from a single snapshot, while writers continue.
    fn fill(&self, from: &Path, vfs: Option<&str>) -> Result<(), CopyError> {
        let source = layout::connect(from, vfs, Role::Read).map_err(|source| {
            CopyError::Open(OpenError::Database {
                path: from.to_owned(),
                source,
            })
        })?;
        layout::version(&source, from)?;
        let mut conn = self.open()?;
        let copied = Backup::new(&source, &mut conn)
            .and_then(|backup| backup.step(-1))
            .map_err(|error| self.database(error))?;
        if copied == StepResult::Done {
            Ok(())
        } else {
            let busy = ffi::Error::new(ffi::SQLITE_BUSY);
            Err(self.database(rusqlite::Error::SqliteFailure(busy, None)))
        }
    }

    /// Runs `change` on the copy, and moves the write-ahead log into the database file.
    fn settle<T>(
        &self,
        change: impl FnOnce(&Connection) -> rusqlite::Result<T>,
    ) -> Result<T, CopyError> {
        let conn = self.open()?;
        conn.busy_timeout(Duration::ZERO)
            .and_then(|()| change(&conn))
            .and_then(|answer| conn.close().map_err(|(_, error)| error).map(|()| answer))
            .map_err(|error| self.database(error))
    }

    /// Renames the temporary file atomically and durably.
    fn publish(self, to: &Path) -> Result<(), CopyError> {
        let failed = |source| CopyError::File {
            path: to.to_owned(),
            source,
        };
        File::open(&self.path)
            .and_then(|file| file.sync_all())
            .map_err(failed)?;
        fs::rename(&self.path, to).map_err(failed)?;
        lock::sync_folder(to).map_err(failed)
    }
}

impl Drop for Partial {
    fn drop(&mut self) {
        // The next attempt also removes remaining files.
        self.remove_all().ok();
    }
}

fn remove(path: &Path) -> std::io::Result<()> {
    match fs::remove_file(path) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => Err(error),
        _ => Ok(()),
    }
}
