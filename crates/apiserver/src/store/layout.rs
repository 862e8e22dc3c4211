//! The database schema, its migrations, and connection settings.
//!
//! The table `cur` contains the current state. The table `log` is an undo log with the state
//! *before* each change. A create therefore stores the object once. A list at an old revision is
//! `cur` with later changes undone. Compaction only deletes the start of the log.

use std::path::Path;
use std::time::Duration;

use rusqlite::{Connection, OpenFlags, OptionalExtension, Transaction, TransactionBehavior};

use super::error::OpenError;
use super::space;

/// The ID of the program in `PRAGMA application_id`: the letters "KAPI".
const APPLICATION: i32 = 0x4b41_5049;

/// Timeout for SQLite locks. SQLite holds these locks for microseconds.
pub(super) const BUSY: Duration = Duration::from_secs(5);

/// The migrations. The step at index `i` migrates from version `i` to version `i + 1`. A new store
/// runs all steps.
const MIGRATIONS: [&str; KNOWN as usize] = [
    // Revisions start at 1, because "0" has a special meaning for clients.
    "CREATE TABLE meta(name TEXT PRIMARY KEY, value INTEGER NOT NULL) STRICT, WITHOUT ROWID;
     INSERT INTO meta VALUES ('revision', 1), ('floor', 1), ('epoch', 1);
     CREATE TABLE cur(
        id INTEGER PRIMARY KEY, key TEXT NOT NULL UNIQUE, rev INTEGER NOT NULL,
        splice INTEGER, value BLOB NOT NULL) STRICT;
     CREATE TABLE log(
        rev INTEGER PRIMARY KEY, key TEXT NOT NULL, at INTEGER NOT NULL, deleted INTEGER NOT NULL,
        previous_rev INTEGER, previous_splice INTEGER, previous BLOB) STRICT;
     CREATE INDEX log_by_key ON log(key, rev);",
    // Kinds with a shorter history have their own floor.
    "CREATE TABLE floors(prefix TEXT PRIMARY KEY, rev INTEGER NOT NULL) STRICT, WITHOUT ROWID;
     INSERT INTO floors SELECT '', value FROM meta WHERE name = 'floor';
     DELETE FROM meta WHERE name = 'floor';",
];

/// The current version of the database schema.
pub(super) const KNOWN: u32 = 2;

/// The contents of the tables `meta` and `floors`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Header {
    /// The revision of the latest change.
    pub(super) revision: u64,
    /// The number of restores from a backup, plus one.
    pub(super) epoch: u64,
    /// Maps each key prefix to the oldest revision of its history. The map always contains the
    /// empty prefix.
    pub(super) floors: Floors,
}

/// Maps a key prefix to the oldest revision of the history of its keys.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Floors(Vec<(String, u64)>);

impl Floors {
    /// Returns the oldest revision from which the history of every key below `prefix` is complete.
    pub(super) fn of(&self, prefix: &str) -> u64 {
        self.0
            .iter()
            .filter(|(other, _)| other.starts_with(prefix) || prefix.starts_with(other.as_str()))
            .map(|(_, floor)| *floor)
            .max()
            .unwrap_or(0)
    }

    /// Returns the oldest revision of the history in the entry for exactly this prefix. Returns 0
    /// if the map has no such entry.
    pub(super) fn exactly(&self, prefix: &str) -> u64 {
        let found = self.0.iter().find(|(other, _)| other == prefix);
        found.map_or(0, |(_, floor)| *floor)
    }

    /// Sets the entry for exactly this prefix to the revision `to`, unless the entry already has a
    /// higher revision. Adds a missing entry.
    pub(super) fn raise(&mut self, prefix: &str, to: u64) {
        match self.0.iter_mut().find(|(other, _)| other == prefix) {
            Some((_, floor)) => *floor = to.max(*floor),
            None => self.0.push((prefix.to_owned(), to)),
        }
    }

    /// Returns the highest revision of all entries. Returns 0 if the map is empty.
    pub(super) fn highest(&self) -> u64 {
        self.0.iter().map(|(_, floor)| *floor).max().unwrap_or(0)
    }

    pub(super) fn read(conn: &Connection) -> rusqlite::Result<Self> {
        let mut statement = conn.prepare_cached("SELECT prefix, rev FROM floors")?;
        let rows = statement.query_map([], |row| {
            Ok((row.get(0)?, row.get::<_, i64>(1)?.cast_unsigned()))
        })?;
        rows.collect::<Result<_, _>>().map(Self)
    }
}

impl Header {
    /// Reads the tables `meta` and `floors` in the current transaction.
    pub(super) fn read(conn: &Connection) -> rusqlite::Result<Self> {
        Ok(Self {
            revision: meta(conn, "revision")?,
            epoch: meta(conn, "epoch")?,
            floors: Floors::read(conn)?,
        })
    }
}

/// Reads a number of the table `meta`.
pub(super) fn meta(conn: &Connection, name: &str) -> rusqlite::Result<u64> {
    conn.prepare_cached("SELECT value FROM meta WHERE name = ?")?
        .query_row([name], |row| row.get::<_, i64>(0))
        .map(i64::cast_unsigned)
}

/// Writes a number of the table `meta`.
pub(super) fn set_meta(conn: &Connection, name: &str, value: u64) -> rusqlite::Result<()> {
    conn.prepare_cached("UPDATE meta SET value = ? WHERE name = ?")?
        .execute((value.cast_signed(), name))
        .map(drop)
}

/// The purpose of a database connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Role {
    /// The connection writes, and creates a missing file.
    Write,
    /// The connection only reads.
    Read,
}

/// Opens a connection, and applies the settings that do not depend on the content of the file.
pub(super) fn connect(path: &Path, vfs: Option<&str>, role: Role) -> rusqlite::Result<Connection> {
    let flags = OpenFlags::SQLITE_OPEN_NO_MUTEX
        | match role {
            Role::Write => OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_CREATE,
            Role::Read => OpenFlags::SQLITE_OPEN_READ_ONLY,
        };
    let conn = match vfs {
        None => Connection::open_with_flags(path, flags)?,
        Some(vfs) => Connection::open_with_flags_and_vfs(path, flags, vfs)?,
    };
    conn.busy_timeout(BUSY)?;
    // A separate thread runs checkpoints, which would delay commits here. Deleted Secrets must not
    // stay in free pages.
    conn.execute_batch(
        "PRAGMA trusted_schema = OFF; PRAGMA cell_size_check = ON; PRAGMA temp_store = MEMORY;
         PRAGMA wal_autocheckpoint = 0; PRAGMA synchronous = FULL;",
    )?;
    match role {
        Role::Write => {
            // The log file is reused; it is large only after a long backup.
            conn.execute_batch(
                "PRAGMA secure_delete = FAST; PRAGMA cache_size = -4096;
                 PRAGMA journal_size_limit = 67108864;",
            )?;
        }
        Role::Read => {
            conn.execute_batch("PRAGMA query_only = ON; PRAGMA cache_size = -4096;")?;
        }
    }
    Ok(conn)
}

/// Migrates the database to the current schema in one transaction.
pub(super) fn migrate(conn: &mut Connection, path: &Path) -> Result<Header, OpenError> {
    let failed = |source| OpenError::Database {
        path: path.to_owned(),
        source,
    };
    space::prepare(conn).map_err(failed)?;
    // The journal mode is stored in the file, and backups have another one.
    let mode: String = conn
        .query_row("PRAGMA journal_mode = WAL", [], |row| row.get(0))
        .map_err(failed)?;
    if mode != "wal" {
        return Err(OpenError::Damaged {
            path: path.to_owned(),
            problem: format!("its journal mode is {mode}"),
        });
    }
    if version(conn, path)? < KNOWN {
        let step = conn
            .transaction_with_behavior(TransactionBehavior::Immediate)
            .map_err(failed)?;
        let from = version(&step, path)?;
        take_steps(&step, from).map_err(failed)?;
        step.commit().map_err(failed)?;
    }
    let header = Header::read(conn).map_err(failed)?;
    sound(conn, &header)
        .map_err(failed)?
        .map_or(Ok(header), |problem| {
            Err(OpenError::Damaged {
                path: path.to_owned(),
                problem,
            })
        })
}

fn take_steps(step: &Transaction<'_>, from: u32) -> rusqlite::Result<()> {
    for sql in MIGRATIONS.iter().skip(from as usize) {
        step.execute_batch(sql)?;
    }
    step.pragma_update(None, "application_id", APPLICATION)?;
    step.pragma_update(None, "user_version", KNOWN)
}

/// Returns the schema version of a file; 0 for a new file. Rejects newer schemas and databases of
/// other programs.
pub(super) fn version(conn: &Connection, path: &Path) -> Result<u32, OpenError> {
    let read = || -> rusqlite::Result<(i32, i64, bool)> {
        Ok((
            conn.pragma_query_value(None, "application_id", |row| row.get(0))?,
            conn.pragma_query_value(None, "user_version", |row| row.get(0))?,
            conn.query_row("SELECT 1 FROM sqlite_schema LIMIT 1", [], |_| Ok(()))
                .optional()?
                .is_none(),
        ))
    };
    let (application, found, empty) = read().map_err(|source| OpenError::Database {
        path: path.to_owned(),
        source,
    })?;
    match u32::try_from(found) {
        Ok(0) if empty && application == 0 => Ok(0),
        Ok(known @ 1..=KNOWN) if application == APPLICATION => Ok(known),
        Ok(newer) if application == APPLICATION && newer > KNOWN => Err(OpenError::Newer {
            path: path.to_owned(),
            found: newer,
            known: KNOWN,
        }),
        _ => Err(OpenError::Foreign(path.to_owned())),
    }
}

/// Checks the database for obvious inconsistencies. The check is fast enough to run at every start.
fn sound(conn: &Connection, header: &Header) -> rusqlite::Result<Option<String>> {
    let last: Option<i64> = conn.query_row("SELECT max(rev) FROM log", [], |row| row.get(0))?;
    let last = last.unwrap_or(0).cast_unsigned();
    Ok(if last > header.revision {
        Some(format!(
            "its history goes to revision {last}, its revision is {}",
            header.revision
        ))
    } else if header.floors.highest() > header.revision {
        Some("its history begins after its revision".to_owned())
    } else {
        None
    })
}
