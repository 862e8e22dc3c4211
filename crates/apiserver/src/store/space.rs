//! Free pages of the file, and how they go back to the disk.
//!
//! The file is kept with `auto_vacuum = INCREMENTAL`: what compaction frees is cut off the end of
//! the file, page by page, in the same short steps. A file of an older program is converted once,
//! when it is opened.

use std::fs;
use std::path::Path;
use std::time::Instant;

use rusqlite::backup::{Backup, StepResult};
use rusqlite::{Connection, params};

use super::error::OpenError;
use super::layout::{self, Role};
use super::lock::{self, beside};

/// `PRAGMA auto_vacuum`.
const INCREMENTAL: i64 = 2;

/// The largest file that is converted when it is opened: what a slow disk copies in a minute.
const CONVERTED: u64 = 1 << 30;

/// Free pages that are kept for what is written next, beside an eighth of the file.
const KEPT: i64 = 256;

/// Suffix of the copy that a conversion makes.
const COPY: &str = "converting";

/// Why a file is not converted.
#[derive(Debug, thiserror::Error)]
enum ConvertError {
    #[error("it has {0} bytes, at most {CONVERTED} are copied at the start")]
    TooLarge(u64),
    #[error("the copy cannot be created")]
    Copy(#[from] OpenError),
    #[error("the copy failed")]
    Database(#[from] rusqlite::Error),
    #[error("another program reads the file")]
    Busy,
}

/// Makes a new file one that can shrink; others are left alone.
pub(super) fn prepare(conn: &Connection) -> rusqlite::Result<()> {
    // Where it is so already, to say it again would be a write.
    if pragma(conn, "auto_vacuum")? == INCREMENTAL {
        return Ok(());
    }
    conn.pragma_update(None, "auto_vacuum", "INCREMENTAL")
}

/// Makes the file one that can shrink, if it is not; true if the connection has to be opened anew.
/// A store that cannot be converted works on and does not shrink.
pub(super) fn convert(conn: &mut Connection, path: &Path, vfs: Option<&str>) -> bool {
    let copy = beside(path, COPY);
    let result = try_convert(conn, &copy, vfs);
    // Also what a start left behind that was ended.
    remove(&copy);
    match result {
        Ok(converted) => converted,
        Err(error) => {
            let cause = std::error::Error::source(&error).map(ToString::to_string);
            tracing::warn!(
                path = %path.display(), %error, cause,
                "cannot convert the store: its file keeps its largest size"
            );
            false
        }
    }
}

fn remove(copy: &Path) {
    for path in [copy.to_owned(), beside(copy, "journal")] {
        match fs::remove_file(&path) {
            Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
                tracing::warn!(path = %path.display(), %error, "cannot remove a copy");
            }
            _ => {}
        }
    }
}

/// Copies the live pages into a file of the right form, then that over the store in one
/// transaction: a crash leaves either the old pages or the new ones. (`VACUUM` does the same with
/// a copy in memory or in the folder for temporary files, which may be small.)
fn try_convert(
    conn: &mut Connection,
    copy: &Path,
    vfs: Option<&str>,
) -> Result<bool, ConvertError> {
    if pragma(conn, "auto_vacuum")? == INCREMENTAL {
        return Ok(false);
    }
    let bytes = pragma(conn, "page_size")? * pragma(conn, "page_count")?;
    if bytes.cast_unsigned() > CONVERTED {
        return Err(ConvertError::TooLarge(bytes.cast_unsigned()));
    }
    tracing::info!(bytes, "converting the store so that its file can shrink");
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

/// Pages that a step gave back.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Shrunk {
    pub(super) pages: usize,
    /// Whether there are more to give back.
    pub(super) more: bool,
}

/// Gives free pages back until the deadline, within the transaction there is.
pub(super) fn shrink(conn: &Connection, deadline: Instant) -> rusqlite::Result<Shrunk> {
    let free = pragma(conn, "freelist_count")?;
    let kept = KEPT + pragma(conn, "page_count")? / 8;
    // Not for a few pages: each one that goes moves another one.
    if free <= 2 * kept {
        return Ok(Shrunk {
            pages: 0,
            more: false,
        });
    }
    let mut statement = conn.prepare(&format!("PRAGMA incremental_vacuum({})", free - kept))?;
    let mut rows = statement.query([])?;
    let mut pages = 0;
    // Each row is a page that was given back.
    while rows.next()?.is_some() {
        pages += 1;
        if Instant::now() > deadline {
            break;
        }
    }
    // A file that was not converted gives nothing back.
    let more = pages > 0 && i64::try_from(pages).is_ok_and(|pages| pages < free - kept);
    Ok(Shrunk { pages, more })
}
