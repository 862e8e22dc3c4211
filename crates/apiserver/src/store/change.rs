//! Conditional changes, and their execution within a transaction.

use std::sync::Arc;

use bytes::Bytes;
use rusqlite::{Connection, OptionalExtension, params};

use super::event::Event;
use super::read::{self, stored};
use super::stored::{Malformed, Splice, Stored};

/// A conditional change.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Change {
    /// The key of the object.
    pub key: String,
    /// The expected state of the object.
    pub expect: Expect,
    /// The new state of the object.
    pub write: Write,
}

/// A requirement of a change: an object that must still have this revision.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Require {
    /// The key of the object.
    pub key: String,
    /// The expected revision of the object.
    pub revision: u64,
}

/// The expected state of an object.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Expect {
    /// The object does not exist.
    Absent,
    /// The object has this revision.
    Revision(u64),
}

/// The new state of an object.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Write {
    /// Store this value, which is JSON without `metadata.resourceVersion`. A value that equals the
    /// stored value is not written, and the existing revision is returned.
    Put(Bytes),
    /// Delete the object.
    Delete,
}

impl Change {
    /// Creates a change that creates an object.
    pub fn create(key: impl Into<String>, value: impl Into<Bytes>) -> Self {
        Self {
            key: key.into(),
            expect: Expect::Absent,
            write: Write::Put(value.into()),
        }
    }

    /// Creates a change that replaces the value of this revision.
    pub fn update(key: impl Into<String>, revision: u64, value: impl Into<Bytes>) -> Self {
        Self {
            key: key.into(),
            expect: Expect::Revision(revision),
            write: Write::Put(value.into()),
        }
    }

    /// Creates a change that deletes the value of this revision.
    pub fn delete(key: impl Into<String>, revision: u64) -> Self {
        Self {
            key: key.into(),
            expect: Expect::Revision(revision),
            write: Write::Delete,
        }
    }
}

/// A validated change.
#[derive(Debug)]
pub(super) struct Checked {
    key: Arc<str>,
    action: Action,
    requires: Vec<Require>,
}

#[derive(Debug)]
enum Action {
    Put {
        expect: Expect,
        value: Bytes,
        splice: Splice,
    },
    Delete {
        revision: u64,
    },
}

impl TryFrom<Change> for Checked {
    type Error = Malformed;

    fn try_from(change: Change) -> Result<Self, Malformed> {
        let action = match (change.write, change.expect) {
            (Write::Put(value), expect) => Action::Put {
                expect,
                splice: Splice::find(&value)?,
                value,
            },
            (Write::Delete, Expect::Revision(revision)) => Action::Delete { revision },
            (Write::Delete, Expect::Absent) => return Err(Malformed::NothingToDelete),
        };
        Ok(Self {
            key: change.key.into(),
            action,
            requires: Vec::new(),
        })
    }
}

/// The outcome of a change within its transaction.
#[derive(Debug)]
pub(super) enum Outcome {
    /// The transaction contains the change.
    Made(Event),
    /// The new value equals the stored value at this revision.
    Same(u64),
    /// The object does not have the expected state. Contains the current object, or `None` if the
    /// object does not exist.
    Conflict(Option<Stored>),
    /// A required object has changed or does not exist.
    Unmet,
}

impl Checked {
    /// Adds objects that must still have the required revisions.
    pub(super) fn requiring(self, requires: Vec<Require>) -> Self {
        Self { requires, ..self }
    }

    /// Returns the approximate number of bytes to store.
    pub(super) fn weight(&self) -> usize {
        self.key.len()
            + match &self.action {
                Action::Put { value, .. } => value.len(),
                Action::Delete { .. } => 0,
            }
    }

    /// Reports whether the change is a deletion.
    pub(super) fn deletes(&self) -> bool {
        matches!(self.action, Action::Delete { .. })
    }

    /// Executes the change at `revision` if its expectation is met.
    pub(super) fn make(
        &self,
        conn: &Connection,
        revision: u64,
        now_ms: i64,
    ) -> rusqlite::Result<Outcome> {
        for require in &self.requires {
            if read::revision(conn, &require.key)? != Some(require.revision) {
                return Ok(Outcome::Unmet);
            }
        }
        let found = self.find(conn)?;
        match (&self.action, found) {
            (Action::Delete { revision: expected }, Some((id, stored)))
                if stored.revision == *expected =>
            {
                conn.prepare_cached("DELETE FROM cur WHERE id = ?")?
                    .execute([id])?;
                self.log(conn, Some(&stored), revision, now_ms)?;
                Ok(Outcome::Made(Event::Delete { stored, revision }))
            }
            (Action::Put { expect, value, .. }, Some((_, there)))
                if *expect == Expect::Revision(there.revision) && there.value == *value =>
            {
                Ok(Outcome::Same(there.revision))
            }
            (
                Action::Put {
                    expect,
                    value,
                    splice,
                },
                found,
            ) if *expect
                == found.as_ref().map_or(Expect::Absent, |(_, there)| {
                    Expect::Revision(there.revision)
                }) =>
            {
                let stored =
                    Stored::from_row(Arc::clone(&self.key), revision, value.clone(), *splice);
                let (id, previous) = found.unzip();
                write(conn, id, &stored)?;
                self.log(conn, previous.as_ref(), revision, now_ms)?;
                Ok(Outcome::Made(Event::Put { stored, previous }))
            }
            (_, found) => Ok(Outcome::Conflict(found.map(|(_, there)| there))),
        }
    }

    fn find(&self, conn: &Connection) -> rusqlite::Result<Option<(i64, Stored)>> {
        conn.prepare_cached("SELECT id, rev, splice, value FROM cur WHERE key = ?")?
            .query_row([&self.key], |row| {
                Ok((row.get(0)?, stored(Arc::clone(&self.key), row, 1)?))
            })
            .optional()
    }

    fn log(
        &self,
        conn: &Connection,
        previous: Option<&Stored>,
        revision: u64,
        now_ms: i64,
    ) -> rusqlite::Result<()> {
        conn.prepare_cached(
            "INSERT INTO log(rev, key, at, deleted, previous_rev, previous_splice, previous)
             VALUES (?, ?, ?, ?, ?, ?, ?)",
        )?
        .execute(params![
            revision.cast_signed(),
            &self.key,
            now_ms,
            self.deletes(),
            previous.map(|stored| stored.revision.cast_signed()),
            previous.and_then(Stored::splice_column),
            previous.map(|stored| &*stored.value),
        ])
        .map(drop)
    }
}

fn write(conn: &Connection, id: Option<i64>, stored: &Stored) -> rusqlite::Result<()> {
    let (revision, splice) = (stored.revision.cast_signed(), stored.splice_column());
    match id {
        Some(id) => conn
            .prepare_cached("UPDATE cur SET rev = ?, splice = ?, value = ? WHERE id = ?")?
            .execute(params![revision, splice, &*stored.value, id]),
        None => conn
            .prepare_cached("INSERT INTO cur(key, rev, splice, value) VALUES (?, ?, ?, ?)")?
            .execute(params![&stored.key, revision, splice, &*stored.value]),
    }
    .map(drop)
}
