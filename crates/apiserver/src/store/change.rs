//! One change, and how it is made within a transaction.

use std::sync::Arc;

use bytes::Bytes;
use rusqlite::{Connection, OptionalExtension, params};

use super::event::Event;
use super::read::{self, stored};
use super::stored::{Malformed, Splice, Stored};

/// A change that is made if what is there is what is expected.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Change {
    /// Whose.
    pub key: String,
    /// What must be there.
    pub expect: Expect,
    /// What is to be there.
    pub write: Write,
}

/// Another object that must be as it was seen, or the change is not made.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Require {
    /// Whose.
    pub key: String,
    /// Written at this revision.
    pub revision: u64,
}

/// What a change expects to find.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Expect {
    /// Nothing.
    Absent,
    /// A value written at this revision.
    Revision(u64),
}

/// What a change writes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Write {
    /// This value: JSON without `metadata.resourceVersion`. Putting what is there already is no
    /// change, and is answered with the revision there is.
    Put(Bytes),
    /// Nothing any more.
    Delete,
}

impl Change {
    /// Makes an object.
    pub fn create(key: impl Into<String>, value: impl Into<Bytes>) -> Self {
        Self {
            key: key.into(),
            expect: Expect::Absent,
            write: Write::Put(value.into()),
        }
    }

    /// Writes over the value of this revision.
    pub fn update(key: impl Into<String>, revision: u64, value: impl Into<Bytes>) -> Self {
        Self {
            key: key.into(),
            expect: Expect::Revision(revision),
            write: Write::Put(value.into()),
        }
    }

    /// Deletes the value of this revision.
    pub fn delete(key: impl Into<String>, revision: u64) -> Self {
        Self {
            key: key.into(),
            expect: Expect::Revision(revision),
            write: Write::Delete,
        }
    }
}

/// A change that can be stored.
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

/// What became of a change within its transaction.
#[derive(Debug)]
pub(super) enum Outcome {
    /// Made.
    Made(Event),
    /// What was to be put is there already, at this revision.
    Same(u64),
    /// Something else is there.
    Conflict(Option<Stored>),
    /// A required object has changed.
    Unmet,
}

impl Checked {
    /// The same change, made only if these objects are as they were seen.
    pub(super) fn requiring(self, requires: Vec<Require>) -> Self {
        Self { requires, ..self }
    }

    /// The bytes to store, about.
    pub(super) fn weight(&self) -> usize {
        self.key.len()
            + match &self.action {
                Action::Put { value, .. } => value.len(),
                Action::Delete { .. } => 0,
            }
    }

    /// Whether it leaves less than there was.
    pub(super) fn deletes(&self) -> bool {
        matches!(self.action, Action::Delete { .. })
    }

    /// Makes the change at `revision`, if it can be made.
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
