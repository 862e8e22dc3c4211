//! Cutting off the history's beginning, in steps too small to be felt.
//!
//! A step is part of a transaction that is written anyway, or one of its own when nothing else is
//! to do. It ends after a number of rows or a few milliseconds, whichever comes first.

use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use rusqlite::{Connection, OptionalExtension, params};

use super::layout::Floors;

/// The longest that one step goes on before it lets the writer go on.
const SLICE: Duration = Duration::from_millis(5);

/// How much history is kept.
#[derive(Debug, Clone)]
pub(super) struct Retention {
    pub(super) history: Duration,
    pub(super) history_changes: u64,
    pub(super) short_history: Duration,
    pub(super) short_lived: Vec<String>,
}

/// What one step did.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Step {
    /// The floors after it.
    pub(super) floors: Floors,
    /// Whether another step has something to do already.
    pub(super) more: bool,
}

/// One row at the beginning of the history.
struct Old {
    revision: u64,
    at_ms: i64,
    short_lived: bool,
}

/// Now, in milliseconds since 1970.
pub(super) fn now_ms() -> i64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH);
    since.map_or(0, |since| {
        i64::try_from(since.as_millis()).unwrap_or(i64::MAX)
    })
}

impl Retention {
    /// Cuts off at most `rows` rows that are too old, or not after `forced`.
    pub(super) fn step(
        &self,
        conn: &Connection,
        floors: &Floors,
        revision: u64,
        forced: u64,
        rows: usize,
    ) -> rusqlite::Result<Step> {
        let now = now_ms();
        let deadline = Instant::now() + SLICE;
        let mut step = Step {
            floors: floors.clone(),
            more: false,
        };
        let forced = forced.max(revision.saturating_sub(self.history_changes));
        let before = now.saturating_sub(ms(self.history));
        self.cut(conn, &mut step, "", rows, deadline, |old| {
            old.revision <= forced || old.at_ms < before
        })?;
        if !step.more && step.floors.exactly("") < forced {
            raise(conn, &mut step.floors, "", forced)?;
        }
        let before = now.saturating_sub(ms(self.short_history));
        if let Some(first) = self.short_lived.first() {
            self.cut(conn, &mut step, first, rows, deadline, |old| {
                old.at_ms < before
            })?;
        }
        Ok(step)
    }

    /// Goes from the floor of `class` over rows that are too old. For the empty class all of
    /// them are deleted, for others the short-lived ones.
    fn cut(
        &self,
        conn: &Connection,
        step: &mut Step,
        class: &str,
        rows: usize,
        deadline: Instant,
        too_old: impl Fn(&Old) -> bool,
    ) -> rusqlite::Result<()> {
        let start = step.floors.exactly("").max(step.floors.exactly(class));
        let all = class.is_empty();
        let mut end = start;
        let mut delete = conn.prepare_cached("DELETE FROM log WHERE rev = ?")?;
        for old in self.oldest(conn, start, rows)? {
            if !too_old(&old) {
                break;
            }
            if Instant::now() > deadline {
                step.more = true;
                break;
            }
            if all || old.short_lived {
                delete.execute([old.revision.cast_signed()])?;
            }
            end = old.revision;
        }
        if end > start {
            // There may be more of the same age.
            step.more |= self.oldest(conn, end, 1)?.first().is_some_and(&too_old);
            let classes = self.short_lived.iter().map(String::as_str);
            for class in classes.filter(|_| !all).chain(all.then_some("")) {
                raise(conn, &mut step.floors, class, end)?;
            }
        }
        Ok(())
    }

    fn oldest(&self, conn: &Connection, after: u64, rows: usize) -> rusqlite::Result<Vec<Old>> {
        let mut statement =
            conn.prepare_cached("SELECT rev, at, key FROM log WHERE rev > ? ORDER BY rev LIMIT ?")?;
        let limit = i64::try_from(rows).unwrap_or(i64::MAX);
        let rows = statement.query_map(params![after.cast_signed(), limit], |row| {
            let key = row.get_ref(2)?.as_str()?;
            Ok(Old {
                revision: row.get::<_, i64>(0)?.cast_unsigned(),
                at_ms: row.get(1)?,
                short_lived: self
                    .short_lived
                    .iter()
                    .any(|prefix| key.starts_with(prefix)),
            })
        })?;
        rows.collect()
    }
}

fn ms(duration: Duration) -> i64 {
    i64::try_from(duration.as_millis()).unwrap_or(i64::MAX)
}

fn raise(conn: &Connection, floors: &mut Floors, class: &str, to: u64) -> rusqlite::Result<()> {
    floors.raise(class, to);
    conn.prepare_cached(
        "INSERT INTO floors(prefix, rev) VALUES (?, ?)
         ON CONFLICT(prefix) DO UPDATE SET rev = excluded.rev",
    )?
    .execute(params![class, floors.exactly(class).cast_signed()])
    .map(drop)
}

/// The revision at the middle of what history is left: where to cut when space has run out.
pub(super) fn middle(conn: &Connection) -> rusqlite::Result<Option<u64>> {
    let (first, last): (Option<i64>, Option<i64>) =
        conn.query_row("SELECT min(rev), max(rev) FROM log", [], |row| {
            Ok((row.get(0)?, row.get(1)?))
        })?;
    let (Some(first), Some(last)) = (first, last) else {
        return Ok(None);
    };
    conn.query_row(
        "SELECT rev FROM log WHERE rev >= ? ORDER BY rev LIMIT 1",
        [first + (last - first) / 2],
        |row| row.get::<_, i64>(0),
    )
    .optional()
    .map(|middle| middle.map(i64::cast_unsigned))
}
