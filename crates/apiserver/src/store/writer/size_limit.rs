//! The limit on the size of the database.

use rusqlite::{Connection, ErrorCode, ffi};

/// Determines whether a transaction may use the reserved space.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::store) enum SpaceUse {
    /// The transaction adds data.
    Grow,
    /// The transaction deletes data, so it may use the reserve. A deletion adds to the history
    /// before compaction can free space.
    Shrink,
}

/// A limit in bytes. An eighth of the limit is reserved for deletions and compaction.
#[derive(Debug)]
pub(in crate::store) struct SizeLimit {
    max_bytes: Option<u64>,
    set: Option<SpaceUse>,
}

impl SizeLimit {
    pub(in crate::store) fn new(max_bytes: Option<u64>) -> Self {
        Self {
            max_bytes,
            set: None,
        }
    }

    /// Clears the stored limit after a reconnect, because a new connection has no limit.
    pub(in crate::store) fn reset(&mut self) {
        self.set = None;
    }

    /// Sets the limit for the next transactions of the connection.
    pub(in crate::store) fn limit(
        &mut self,
        conn: &Connection,
        need: SpaceUse,
    ) -> rusqlite::Result<()> {
        let Some(max_bytes) = self.max_bytes.filter(|_| self.set != Some(need)) else {
            return Ok(());
        };
        let bytes = match need {
            SpaceUse::Grow => max_bytes - max_bytes / 8,
            SpaceUse::Shrink => max_bytes,
        };
        let page: i64 = conn.pragma_query_value(None, "page_size", |row| row.get(0))?;
        let pages = bytes / page.cast_unsigned().max(1);
        conn.query_row(&format!("PRAGMA max_page_count = {pages}"), [], |_| Ok(()))?;
        self.set = Some(need);
        Ok(())
    }
}

/// Reports whether an error means that no space is left. SQLite returns a different error code if
/// the log's index, which is a separate file, has no space.
pub(in crate::store) fn is_full(error: &rusqlite::Error) -> bool {
    match error {
        rusqlite::Error::SqliteFailure(cause, _) => {
            cause.code == ErrorCode::DiskFull || cause.extended_code == ffi::SQLITE_IOERR_SHMSIZE
        }
        _ => false,
    }
}
