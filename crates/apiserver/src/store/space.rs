//! Returns free pages of the file to the disk.
//!
//! The file uses `auto_vacuum = INCREMENTAL`: pages that compaction frees are removed from the end
//! of the file in small steps. A file of an earlier version is converted when it is opened.

use std::fs;
use std::path::Path;
use std::time::Instant;

use rusqlite::backup::{Backup, StepResult};
use rusqlite::{Connection, params};

use super::error::OpenError;
use super::layout::{self, Role};
use super::lock::{self, companion_path};

/// The value of `PRAGMA auto_vacuum` for incremental vacuum.
const INCREMENTAL: i64 = 2;

/// Maximum size in bytes of a file that is converted on open. A slow disk copies such a file in a
/// minute.
const MAX_CONVERTED_BYTES: u64 = 1 << 30;

/// Minimum number of free pages that stay for later writes, in addition to an eighth of the file.
const MIN_FREE_PAGES: i64 = 256;

/// The file name suffix of the copy during a conversion.
const COPY: &str = "converting";

/// Errors of the conversion to incremental vacuum.
#[derive(Debug, thiserror::Error)]
enum ConvertError {
    #[error(
        "cannot convert the store file to incremental vacuum when the server starts: the file has \
         {bytes} bytes, and the maximum is {MAX_CONVERTED_BYTES}", bytes = .0
    )]
    TooLarge(u64),
    #[error("cannot create the copy")]
    Copy(#[from] OpenError),
    #[error("cannot copy the file")]
    Database(#[from] rusqlite::Error),
    #[error("cannot convert the file: another program uses the file")]
    Busy,
}

/// Enables incremental vacuum for a new file. Other files stay unchanged.
pub(super) fn prepare(conn: &Connection) -> rusqlite::Result<()> {
    // The mode is not set again, because that would be a write.
    if pragma(conn, "auto_vacuum")? == INCREMENTAL {
        return Ok(());
    }
    conn.pragma_update(None, "auto_vacuum", "INCREMENTAL")
}

/// Converts the file to incremental vacuum if necessary. Returns true if the connection must be
/// reopened. After a failed conversion, the store works but does not shrink.
pub(super) fn convert(conn: &mut Connection, path: &Path, vfs: Option<&str>) -> bool {
    let copy = companion_path(path, COPY);
    let result = try_convert(conn, &copy, vfs);
    // This also removes the copy of an interrupted start.
    remove(&copy);
    match result {
        Ok(converted) => converted,
        Err(error) => {
            let cause = std::error::Error::source(&error).map(ToString::to_string);
            tracing::warn!(
                path = %path.display(), %error, cause,
                "cannot convert the store for incremental vacuum; the file of the store does not \
                 shrink"
            );
            false
        }
    }
}

fn remove(copy: &Path) {
    for path in [copy.to_owned(), companion_path(copy, "journal")] {
        match fs::remove_file(&path) {
            Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
                tracing::warn!(path = %path.display(), %error, "failed to remove the temporary copy of the store");
            }
            _ => {}
        }
    }
}

/// Copies the live pages into a new file with incremental vacuum, and then copies the new file over
/// the store in one transaction. A crash leaves either the old or the new pages. `VACUUM` is
/// unsuitable, because `VACUUM` creates its copy in memory or in the temporary folder, which may be
/// small.
fn try_convert(
    conn: &mut Connection,
    copy: &Path,
    vfs: Option<&str>,
) -> Result<bool, ConvertError> {
    if pragma(conn, "auto_vacuum")? == INCREMENTAL {
        return Ok(false);
    }
    let bytes = pragma(conn, "page_size")? * pragma(conn, "page_count")?;
    if bytes.cast_unsigned() > MAX_CONVERTED_BYTES {
        return Err(ConvertError::TooLarge(bytes.cast_unsigned()));
    }
    tracing::info!(bytes, "converting the store for incremental vacuum");
    remove(copy);
    lock::create_private(copy)?;
    conn.pragma_update(None, "auto_vacuum", "INCREMENTAL")?;
    conn.execute("VACUUM INTO ?", params![copy.to_string_lossy()])?;
    let source = layout::connect(copy, vfs, Role::Read)?;
    let copied = Backup::new(&source, conn)?.step(-1)?;
    if copied != StepResult::Done {
        return Err(ConvertError::Busy);
    }
    conn.query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |_| Ok(()))?;
    Ok(true)
}

fn pragma(conn: &Connection, name: &str) -> rusqlite::Result<i64> {
    conn.pragma_query_value(None, name, |row| row.get(0))
}

/// The result of a step that returns pages to the disk.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Shrunk {
    pub(super) pages: usize,
    /// True if the file has further free pages that can be returned to the disk.
    pub(super) more: bool,
}

/// Returns free pages to the disk until the deadline, in the current transaction. `continues` is
/// true if the deadline interrupted the previous call.
pub(super) fn shrink(
    conn: &Connection,
    deadline: Instant,
    continues: bool,
) -> rusqlite::Result<Shrunk> {
    let free = pragma(conn, "freelist_count")?;
    let kept = MIN_FREE_PAGES + pragma(conn, "page_count")? / 8;
    // A transaction for a few pages costs more than the space is worth.
    let minimum = if continues { kept } else { 2 * kept };
    if free <= minimum {
        return Ok(Shrunk {
            pages: 0,
            more: false,
        });
    }
    let mut statement = conn.prepare(&format!("PRAGMA incremental_vacuum({})", free - kept))?;
    let mut rows = statement.query([])?;
    let mut pages = 0;
    // Each row is a returned page.
    while rows.next()?.is_some() {
        pages += 1;
        if Instant::now() > deadline {
            break;
        }
    }
    // A file without incremental vacuum returns no pages.
    let more = pages > 0 && i64::try_from(pages).is_ok_and(|pages| pages < free - kept);
    Ok(Shrunk { pages, more })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn interrupted_database_shrink_continues_until_free_pages_reach_the_minimum() {
        let folder = tempfile::tempdir().unwrap();
        let conn = Connection::open(folder.path().join("hub.db")).unwrap();
        let rows = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 1500)
            INSERT INTO t SELECT zeroblob(3000) FROM n";
        conn.execute_batch("PRAGMA auto_vacuum = INCREMENTAL; CREATE TABLE t(value BLOB)")
            .unwrap();
        conn.execute_batch(rows).unwrap();
        conn.execute_batch("DELETE FROM t").unwrap();

        // The deadline interrupts each step after one page.
        let past = Instant::now();
        let mut continues = false;
        loop {
            let shrunk = shrink(&conn, past, continues).unwrap();
            if !shrunk.more {
                break;
            }
            assert_eq!(shrunk.pages, 1);
            continues = true;
        }
        let free = pragma(&conn, "freelist_count").unwrap();
        let pages = pragma(&conn, "page_count").unwrap();
        assert!(free <= MIN_FREE_PAGES + pages / 8, "{free} of {pages}");
        assert!(!shrink(&conn, past, false).unwrap().more);
    }
}
