//! Reads of single objects, and lists at current and old revisions.

use std::iter::Peekable;
use std::sync::Arc;

use bytes::Bytes;
use rusqlite::{CachedStatement, Connection, OptionalExtension, Row, params};

use super::error::{ListError, StoreError};
use super::layout::{self, Floors};
use super::stored::{Splice, Stored};

/// The parameters of a list.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct List {
    /// The key prefix.
    pub prefix: String,
    /// The key after which the list starts; `None` for the first key.
    pub after: Option<String>,
    /// Maximum number of objects; `None` for all.
    pub limit: Option<usize>,
    /// The revision that the list shows.
    pub at: At,
    /// The method to determine whether the list has more objects than the limit.
    pub rest: Rest,
}

/// The method to determine whether a list has more objects than its limit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Rest {
    /// Count the objects after the last item. The duration is proportional to the number of these
    /// objects.
    Count,
    /// Only check whether at least one more object exists.
    Peek,
}

/// The revision of a list.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum At {
    /// The revision at the time of the read.
    Latest,
    /// The state at exactly this revision.
    Exact(u64),
}

/// A list, or a page of a list.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Page {
    /// The objects, ordered by key.
    pub items: Vec<Stored>,
    /// The revision that the list shows.
    pub revision: u64,
    /// The number of objects after the last item. With [`Rest::Peek`], 1 means one or more objects.
    pub remaining: u64,
}

impl List {
    /// Lists all objects below a prefix, at the current revision.
    pub fn all(prefix: impl Into<String>) -> Self {
        Self {
            prefix: prefix.into(),
            after: None,
            limit: None,
            at: At::Latest,
            rest: Rest::Count,
        }
    }

    /// Returns the first key of the list, and the first key after the list.
    fn bounds(&self) -> (String, String) {
        let first = match &self.after {
            // This is the smallest possible next key.
            Some(after) if *after >= self.prefix => format!("{after}\0"),
            _ => self.prefix.clone(),
        };
        (first, prefix_end(&self.prefix))
    }
}

/// Returns the first key after all keys with this prefix.
pub(super) fn prefix_end(prefix: &str) -> String {
    let mut end = prefix.to_owned();
    while let Some(last) = end.pop() {
        if let Some(next) = (u32::from(last) + 1..=0x10_ffff).find_map(char::from_u32) {
            end.push(next);
            return end;
        }
    }
    char::MAX.to_string()
}

/// Reads an object.
pub(super) fn get(conn: &Connection, key: &str) -> Result<Option<Stored>, StoreError> {
    let mut statement = conn.prepare_cached("SELECT rev, splice, value FROM cur WHERE key = ?")?;
    let found = statement.query_row([key], |row| stored(key.into(), row, 0));
    Ok(found.optional()?)
}

/// Reads the revision of an object.
pub(super) fn revision(conn: &Connection, key: &str) -> rusqlite::Result<Option<u64>> {
    conn.prepare_cached("SELECT rev FROM cur WHERE key = ?")?
        .query_row([key], |row| row.get(0).map(i64::cast_unsigned))
        .optional()
}

/// Reads a stored value from three columns; `at` is the index of the first column.
pub(super) fn stored(key: Arc<str>, row: &Row<'_>, at: usize) -> rusqlite::Result<Stored> {
    let revision: i64 = row.get(at)?;
    let splice = Splice::from_column(row.get(at + 1)?);
    let value = Bytes::copy_from_slice(row.get_ref(at + 2)?.as_blob()?);
    Ok(Stored::from_row(
        key,
        revision.cast_unsigned(),
        value,
        splice,
    ))
}

fn key(row: &Row<'_>) -> rusqlite::Result<Arc<str>> {
    Ok(row.get_ref(0)?.as_str()?.into())
}

/// An object of a list, borrowed from the database.
pub(super) struct ObjectRef<'a> {
    pub(super) key: &'a str,
    pub(super) revision: u64,
    pub(super) splice: Splice,
    pub(super) value: &'a [u8],
}

impl ObjectRef<'_> {
    /// Appends the JSON of the object with its revision, without the first `skipped` bytes of the
    /// value. The skipped bytes must end before the content of `metadata`.
    pub(super) fn write_json(&self, out: &mut Vec<u8>, skipped: usize) {
        let splice = self.splice.after(skipped);
        splice.write_json(
            out,
            self.value.get(skipped..).unwrap_or_default(),
            self.revision,
        );
    }
}

/// Receives the objects of a list in the order of their keys.
pub(super) trait Collect {
    /// Adds the next object.
    fn add(&mut self, object: ObjectRef<'_>);
    /// Returns the number of objects, and the key of the last object.
    fn end(&self) -> (usize, Option<&str>);
}

/// The result of a list whose objects are in a [`Collect`].
pub(super) struct ListEnd {
    pub(super) revision: u64,
    pub(super) remaining: u64,
}

impl Collect for Vec<Stored> {
    fn add(&mut self, object: ObjectRef<'_>) {
        self.push(Stored::from_row(
            object.key.into(),
            object.revision,
            Bytes::copy_from_slice(object.value),
            object.splice,
        ));
    }

    fn end(&self) -> (usize, Option<&str>) {
        (self.len(), self.last().map(|last| &*last.key))
    }
}

/// Reads a list in one snapshot.
pub(super) fn list(conn: &Connection, list: &List) -> Result<Page, ListError> {
    let mut items = Vec::new();
    let end = list_into(conn, list, &mut items)?;
    Ok(Page {
        items,
        revision: end.revision,
        remaining: end.remaining,
    })
}

/// Reads a list in one snapshot, and adds its objects to `items`.
pub(super) fn list_into(
    conn: &Connection,
    list: &List,
    items: &mut impl Collect,
) -> Result<ListEnd, ListError> {
    let snapshot = conn.unchecked_transaction()?;
    let current = layout::meta(&snapshot, "revision")?;
    let (revision, remaining) = match list.at {
        At::Exact(revision) if revision > current => return Err(ListError::Future { current }),
        At::Exact(revision) if revision < current => {
            let floor = Floors::read(&snapshot)?.of(&list.prefix);
            if revision < floor {
                return Err(ListError::Compacted { floor });
            }
            (revision, list_past(&snapshot, list, revision, items)?)
        }
        At::Exact(_) | At::Latest => (current, list_now(&snapshot, list, items)?),
    };
    Ok(ListEnd {
        revision,
        remaining: remaining.cast_unsigned(),
    })
}

fn list_now(conn: &Connection, list: &List, items: &mut impl Collect) -> rusqlite::Result<i64> {
    let (first, end) = list.bounds();
    let mut statement = conn.prepare_cached(
        "SELECT key, rev, splice, value FROM cur WHERE key >= ? AND key < ? ORDER BY key LIMIT ?",
    )?;
    let mut rows = statement.query(params![first, end, limit(list)])?;
    while let Some(row) = rows.next()? {
        items.add(ObjectRef {
            key: row.get_ref(0)?.as_str()?,
            revision: row.get::<_, i64>(1)?.cast_unsigned(),
            splice: Splice::from_column(row.get(2)?),
            value: row.get_ref(3)?.as_blob()?,
        });
    }
    match items.end() {
        (count, Some(shown)) if Some(count) == list.limit => {
            let first = format!("{shown}\0");
            match list.rest {
                Rest::Count => count_now(conn, &first, &end),
                Rest::Peek => Ok(i64::from(is_any_now(conn, &first, &end)?)),
            }
        }
        _ => Ok(0),
    }
}

fn limit(list: &List) -> i64 {
    list.limit
        .map_or(-1, |limit| i64::try_from(limit).unwrap_or(i64::MAX))
}

fn count_now(conn: &Connection, first: &str, end: &str) -> rusqlite::Result<i64> {
    conn.prepare_cached("SELECT count(*) FROM cur WHERE key >= ? AND key < ?")?
        .query_row([first, end], |row| row.get(0))
}

fn is_any_now(conn: &Connection, first: &str, end: &str) -> rusqlite::Result<bool> {
    conn.prepare_cached("SELECT EXISTS(SELECT 1 FROM cur WHERE key >= ? AND key < ?)")?
        .query_row([first, end], |row| row.get(0))
}

/// Merges unchanged rows of `cur` with the old states of changed objects.
fn list_past(
    conn: &Connection,
    list: &List,
    revision: u64,
    items: &mut impl Collect,
) -> rusqlite::Result<i64> {
    let (first, end) = list.bounds();
    let bounds = params![first, end, revision.cast_signed()];
    let mut same = conn.prepare_cached(
        "SELECT key, rev, splice, value FROM cur WHERE key >= ? AND key < ? AND rev <= ?
         ORDER BY key",
    )?;
    let mut changed = conn.prepare_cached(
        "SELECT key, min(rev) FROM log INDEXED BY log_by_key
         WHERE key >= ? AND key < ? AND rev > ? GROUP BY key ORDER BY key",
    )?;
    let same = same.query_map(bounds, |row| stored(key(row)?, row, 1))?;
    let mut undo = conn.prepare_cached(
        "SELECT previous_rev, previous_splice, previous FROM log
         WHERE rev = ? AND previous_rev IS NOT NULL",
    )?;
    let changed = changed
        .query_map(bounds, |row| Ok((key(row)?, row.get(1)?)))?
        .filter_map(|change| undone(&mut undo, change).transpose());
    let mut merged = Merged {
        left: same.peekable(),
        right: changed.peekable(),
    };
    let limit = list.limit.unwrap_or(usize::MAX);
    for stored in merged.by_ref().take(limit) {
        let stored = stored?;
        items.add(stored.borrowed());
    }
    let next = merged.next().transpose()?;
    drop(merged);
    match items.end() {
        (_, Some(shown)) if next.is_some() && list.rest == Rest::Count => {
            count_past(conn, &format!("{shown}\0"), &end, revision)
        }
        _ => Ok(i64::from(next.is_some())),
    }
}

fn undone(
    undo: &mut CachedStatement<'_>,
    change: rusqlite::Result<(Arc<str>, i64)>,
) -> rusqlite::Result<Option<Stored>> {
    let (key, revision) = change?;
    undo.query_row([revision], |row| stored(key, row, 0))
        .optional()
}

/// Counts the keys at an old revision: counts the current keys in the index, and then reverses the
/// effect of all changes after the old revision.
fn count_past(conn: &Connection, first: &str, end: &str, revision: u64) -> rusqlite::Result<i64> {
    let now = count_now(conn, first, end)?;
    let difference: i64 = conn
        .prepare_cached(
            "SELECT coalesce(sum((log.previous_rev IS NOT NULL)
                - EXISTS(SELECT 1 FROM cur WHERE cur.key = changed.key)), 0)
             FROM (SELECT key, min(rev) AS rev FROM log INDEXED BY log_by_key
                   WHERE key >= ? AND key < ? AND rev > ? GROUP BY key) AS changed
             JOIN log ON log.rev = changed.rev",
        )?
        .query_row(params![first, end, revision.cast_signed()], |row| {
            row.get(0)
        })?;
    Ok(now + difference)
}

/// Merges two sorted iterators that have no key in common.
struct Merged<L: Iterator, R: Iterator> {
    left: Peekable<L>,
    right: Peekable<R>,
}

impl<L, R> Iterator for Merged<L, R>
where
    L: Iterator<Item = rusqlite::Result<Stored>>,
    R: Iterator<Item = rusqlite::Result<Stored>>,
{
    type Item = rusqlite::Result<Stored>;

    fn next(&mut self) -> Option<Self::Item> {
        match (self.left.peek(), self.right.peek()) {
            (Some(Ok(left)), Some(Ok(right))) if right.key < left.key => self.right.next(),
            (Some(_), _) => self.left.next(),
            (None, _) => self.right.next(),
        }
    }
}
