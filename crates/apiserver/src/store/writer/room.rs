//! The largest size that the database may grow to.

use rusqlite::{Connection, ErrorCode, ffi};

/// What a transaction may use.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::store) enum Need {
    /// It adds something.
    Grow,
    /// It makes room, so it may use what is kept back for that: a deletion first needs space for
    /// what it says in the history.
    Shrink,
}

/// A limit in bytes, an eighth of which only what makes room may use.
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

    /// The connection is another one, which knows no limit yet.
    pub(in crate::store) fn reset(&mut self) {
        self.set = None;
    }

    /// Limits the next transactions.
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

/// Whether an error says that there is no room. The log's index grows in a file of its own, for
/// which SQLite has no such word.
pub(in crate::store) fn is_full(error: &rusqlite::Error) -> bool {
    match error {
        rusqlite::Error::SqliteFailure(cause, _) => {
            cause.code == ErrorCode::DiskFull || cause.extended_code == ffi::SQLITE_IOERR_SHMSIZE
        }
        _ => false,
    }
}
