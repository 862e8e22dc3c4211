//! The maximum size of the database.

use rusqlite::{Connection, ErrorCode, ffi};

/// The space that a transaction may use.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::store) enum Need {
    /// It adds data.
    Grow,
    /// It deletes data, so it may use the reserve: a deletion first needs space for its history.
    Shrink,
}

/// A limit in bytes; an eighth is reserved for deletions and compaction.
#[derive(Debug)]
pub(in crate::store) struct Room {
    max_bytes: Option<u64>,
    set: Option<Need>,
}

impl Room {
    pub(in crate::store) fn new(max_bytes: Option<u64>) -> Self {
        Self {
            max_bytes,
            set: None,
        }
    }

    /// The connection has changed, and has no limit yet.
    pub(in crate::store) fn reset(&mut self) {
        self.set = None;
    }

    /// Sets the limit for the next transactions.
    pub(in crate::store) fn limit(
        &mut self,
        conn: &Connection,
        need: Need,
    ) -> rusqlite::Result<()> {
        let Some(max_bytes) = self.max_bytes.filter(|_| self.set != Some(need)) else {
            return Ok(());
        };
        let bytes = match need {
            Need::Grow => max_bytes - max_bytes / 8,
            Need::Shrink => max_bytes,
        };
        let page: i64 = conn.pragma_query_value(None, "page_size", |row| row.get(0))?;
        let pages = bytes / page.cast_unsigned().max(1);
        conn.query_row(&format!("PRAGMA max_page_count = {pages}"), [], |_| Ok(()))?;
        self.set = Some(need);
        Ok(())
    }
}

/// Whether an error means that no space is left. The log's index grows in a separate file, for
/// which SQLite returns another code.
pub(in crate::store) fn is_full(error: &rusqlite::Error) -> bool {
    match error {
        rusqlite::Error::SqliteFailure(cause, _) => {
            cause.code == ErrorCode::DiskFull || cause.extended_code == ffi::SQLITE_IOERR_SHMSIZE
        }
        _ => false,
    }
}
