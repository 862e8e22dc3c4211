//! Reads events from the log, for watches from revisions older than the ring.

use std::ops::RangeInclusive;
use std::sync::Arc;
use std::sync::atomic::AtomicUsize;

use rusqlite::{Connection, OptionalExtension, Row, params};

use super::error::{StoreError, WatchEnd};
use super::event::{Event, Notice};
use super::layout::Floors;
use super::read::{prefix_end, stored};
use super::stored::Stored;

/// Maximum number of events that one read of the log returns.
const PAGE: usize = 500;

/// The result of one read from the log: events of keys below a prefix.
pub(super) struct Replayed {
    pub(super) events: Vec<Arc<Notice>>,
    /// The revision up to which `events` contains all changes.
    pub(super) until: u64,
}

/// A row of the log.
struct Change {
    revision: u64,
    key: Arc<str>,
    deleted: bool,
    previous: Option<Stored>,
}

/// Reads the first events within `after..=until`. All these events are durable.
pub(super) fn replay(
    conn: &Connection,
    prefix: &str,
    range: RangeInclusive<u64>,
    counted: &Arc<AtomicUsize>,
) -> Result<Replayed, WatchEnd> {
    let snapshot = conn.unchecked_transaction().map_err(StoreError::from)?;
    let floor = Floors::read(&snapshot)
        .map_err(StoreError::from)?
        .of(prefix);
    if *range.start() < floor {
        return Err(WatchEnd::Compacted { floor });
    }
    let changes = changes(&snapshot, prefix, &range, PAGE).map_err(StoreError::from)?;
    let until = match changes.last() {
        Some(last) if changes.len() == PAGE => last.revision,
        _ => *range.end(),
    };
    let events = changes
        .into_iter()
        .map(|change| event(&snapshot, change).map(|event| Notice::new(event, counted)))
        .collect::<Result<_, _>>()?;
    Ok(Replayed { events, until })
}

/// Reads the events between two revisions from the log. After a write with unknown outcome, the
/// writer publishes these events.
pub(super) fn missed(conn: &Connection, after: u64, until: u64) -> Result<Vec<Event>, StoreError> {
    changes(conn, "", &(after..=until), usize::MAX)?
        .into_iter()
        .map(|change| event(conn, change))
        .collect()
}

fn changes(
    conn: &Connection,
    prefix: &str,
    range: &RangeInclusive<u64>,
    limit: usize,
) -> rusqlite::Result<Vec<Change>> {
    // The inner query reads the key index only, so its cost is proportional to the history of the
    // prefix.
    let mut statement = conn.prepare_cached(
        "SELECT rev, key, deleted, previous_rev, previous_splice, previous FROM log
         WHERE rev IN (SELECT rev FROM log INDEXED BY log_by_key
             WHERE key >= ? AND key < ? AND rev > ? AND rev <= ? ORDER BY rev LIMIT ?)
         ORDER BY rev",
    )?;
    let rows = statement.query_map(
        params![
            prefix,
            prefix_end(prefix),
            range.start().cast_signed(),
            range.end().cast_signed(),
            i64::try_from(limit).unwrap_or(i64::MAX)
        ],
        change,
    )?;
    rows.collect()
}

fn change(row: &Row<'_>) -> rusqlite::Result<Change> {
    let key: Arc<str> = row.get_ref(1)?.as_str()?.into();
    Ok(Change {
        revision: row.get::<_, i64>(0)?.cast_unsigned(),
        deleted: row.get(2)?,
        previous: match row.get::<_, Option<i64>>(3)? {
            None => None,
            Some(_) => Some(stored(Arc::clone(&key), row, 3)?),
        },
        key,
    })
}

fn event(conn: &Connection, change: Change) -> Result<Event, StoreError> {
    if change.deleted {
        let Some(stored) = change.previous else {
            return Err(damaged(&change));
        };
        return Ok(Event::Delete {
            stored,
            revision: change.revision,
        });
    }
    // The value that a change wrote is the previous value of the next change of the key, or the
    // current value.
    let mut next = conn
        .prepare_cached(
            "SELECT previous_rev, previous_splice, previous FROM log INDEXED BY log_by_key
             WHERE key = ? AND rev > ? AND previous_rev IS NOT NULL ORDER BY rev LIMIT 1",
        )
        .map_err(StoreError::from)?;
    let found = next
        .query_row(params![change.key, change.revision.cast_signed()], |row| {
            stored(Arc::clone(&change.key), row, 0)
        })
        .optional()?;
    let written = match found {
        Some(written) => Some(written),
        None => super::read::get(conn, &change.key)?,
    };
    match written {
        Some(written) if written.revision == change.revision => Ok(Event::Put {
            stored: written,
            previous: change.previous,
        }),
        _ => Err(damaged(&change)),
    }
}

fn damaged(change: &Change) -> StoreError {
    StoreError::History {
        key: Arc::clone(&change.key),
        revision: change.revision,
    }
}
