//! Compaction: deletes the start of the history in small steps.
//!
//! A step is part of a transaction with changes. While the writer is idle, a step has its own
//! transaction. A step ends after a number of rows or a few milliseconds.

use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use rusqlite::{Connection, OptionalExtension, Row, params};

use crate::store::event::Event;
use crate::store::layout::Floors;
use crate::store::pins::Pins;
use crate::store::space;

/// Maximum duration of one compaction step.
const SLICE: Duration = Duration::from_millis(5);

/// The fraction by which history may exceed its maximum age while the writer is idle, so that one
/// step deletes many rows.
const AGE_SLACK_FRACTION: u32 = 8;

/// The limits on the size and age of the history.
#[derive(Debug, Clone)]
pub(in crate::store) struct Retention {
    pub(in crate::store) history: Duration,
    pub(in crate::store) history_changes: u64,
    pub(in crate::store) history_bytes: u64,
    pub(in crate::store) short_history: Duration,
    pub(in crate::store) short_lived: Vec<String>,
    /// The pins of watches. Compaction by age retains the history after the lowest pin.
    pub(in crate::store) pins: Pins,
}

/// The result of a compaction step.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::store) struct Step {
    /// The oldest available revision of each key prefix after the step.
    pub(in crate::store) floors: Floors,
    /// The number of deleted rows.
    pub(in crate::store) cut: usize,
    /// The size of the deleted history in bytes.
    pub(in crate::store) cut_bytes: u64,
    /// The number of pages returned to the disk.
    pub(in crate::store) pages: usize,
    /// True if a further step can delete rows now.
    pub(in crate::store) more: bool,
    /// The time until the next row is old enough for a step. `None` if the history has no row.
    pub(in crate::store) next: Option<Duration>,
}

impl Step {
    fn schedule(&mut self, pause: Duration) {
        self.next = Some(self.next.map_or(pause, |next| next.min(pause)));
    }
}

/// A row at the start of the history.
struct HistoryRow {
    revision: u64,
    at_ms: i64,
    short_lived: bool,
    bytes: u64,
}

/// A class of keys with its own maximum age.
struct Class<'a> {
    /// The key prefix of the class; empty for all keys.
    name: &'a str,
    keep: Duration,
    now: i64,
}

impl Class<'_> {
    fn is_old(&self, row: &HistoryRow) -> bool {
        row.at_ms < self.now.saturating_sub(ms(self.keep))
    }

    /// Returns the duration until a row is old enough for a step with its own transaction. The row
    /// then exceeds the maximum age by a margin, so that one step deletes many rows. The duration
    /// has an upper limit, because the system clock can be set back.
    fn time_until_due(&self, row: &HistoryRow) -> Duration {
        let longest = self.keep + self.keep / AGE_SLACK_FRACTION;
        let at = row.at_ms.saturating_add(ms(longest)).saturating_add(1);
        let after = Duration::from_millis(at.saturating_sub(self.now).try_into().unwrap_or(0));
        after.min(longest)
    }
}

/// Returns the current time in milliseconds since 1970.
pub(in crate::store) fn now_ms() -> i64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH);
    since.map_or(0, |since| {
        i64::try_from(since.as_millis()).unwrap_or(i64::MAX)
    })
}

impl Retention {
    /// Deletes at most `rows` rows: rows that are too old, rows above the limit of `bytes`, and
    /// rows with a revision up to `forced`. Then returns free pages to the disk. `shrinking` is
    /// true if an earlier step has not returned all free pages.
    pub(in crate::store) fn step(
        &self,
        conn: &Connection,
        floors: &Floors,
        (revision, bytes): (u64, u64),
        forced: u64,
        rows: usize,
        shrinking: bool,
    ) -> rusqlite::Result<Step> {
        let deadline = Instant::now() + SLICE;
        let start = floors.exactly("");
        let forced = match self.excess(conn, start, bytes, rows)? {
            Some(excess) => forced.max(excess),
            None => forced,
        };
        let mut step = self.step_until(deadline, conn, floors, (revision, forced), rows)?;
        let remaining = bytes.saturating_sub(step.cut_bytes);
        step.more |= step.cut > 0 && remaining > self.history_bytes;
        if !step.more {
            let shrunk = space::shrink(conn, deadline, shrinking)?;
            (step.pages, step.more) = (shrunk.pages, shrunk.more);
        }
        Ok(step)
    }

    /// Returns the newest row that must be deleted so that the history complies with its size
    /// limit.
    fn excess(
        &self,
        conn: &Connection,
        after: u64,
        bytes: u64,
        rows: usize,
    ) -> rusqlite::Result<Option<u64>> {
        let mut excess = bytes.saturating_sub(self.history_bytes);
        let mut last = None;
        if excess == 0 {
            return Ok(last);
        }
        let limit = i64::try_from(rows).unwrap_or(i64::MAX);
        let mut statement = conn.prepare_cached(OLDEST)?;
        let mut found = statement.query(params![after.cast_signed(), limit])?;
        while excess > 0
            && let Some(row) = found.next()?
        {
            let old = self.old(row)?;
            excess = excess.saturating_sub(old.bytes);
            last = Some(old.revision);
        }
        Ok(last)
    }

    fn step_until(
        &self,
        deadline: Instant,
        conn: &Connection,
        floors: &Floors,
        (revision, forced): (u64, u64),
        rows: usize,
    ) -> rusqlite::Result<Step> {
        let now = now_ms();
        let mut step = Step {
            floors: floors.clone(),
            cut: 0,
            cut_bytes: 0,
            pages: 0,
            more: false,
            next: None,
        };
        let forced = forced.max(revision.saturating_sub(self.history_changes));
        let pinned = self.pins.lowest();
        let all = Class {
            name: "",
            keep: self.history,
            now,
        };
        self.cut(conn, &mut step, &all, rows, deadline, |old| {
            old.revision <= forced || (old.revision <= pinned && all.is_old(old))
        })?;
        if !step.more && step.floors.exactly("") < forced {
            raise(conn, &mut step.floors, "", forced)?;
        }
        if let Some(first) = self.short_lived.first() {
            let short = Class {
                name: first,
                keep: self.short_history,
                now,
            };
            self.cut(conn, &mut step, &short, rows, deadline, |old| {
                old.revision <= pinned && short.is_old(old)
            })?;
        }
        Ok(step)
    }

    /// Deletes old rows after the oldest available revision of `class`. The class with the empty
    /// prefix deletes the rows of all keys. Any other class deletes only the rows of short-lived
    /// keys.
    fn cut(
        &self,
        conn: &Connection,
        step: &mut Step,
        class: &Class<'_>,
        rows: usize,
        deadline: Instant,
        too_old: impl Fn(&HistoryRow) -> bool,
    ) -> rusqlite::Result<()> {
        let all = class.name.is_empty();
        let start = step.floors.exactly("").max(step.floors.exactly(class.name));
        let mut end = start;
        let mut cut_short = false;
        let mut delete = conn.prepare_cached("DELETE FROM log WHERE rev = ?")?;
        for old in self.oldest(conn, start, rows, &too_old)? {
            if all || old.short_lived {
                let cut = delete.execute([old.revision.cast_signed()])?;
                step.cut += cut;
                step.cut_bytes += if cut > 0 { old.bytes } else { 0 };
            }
            end = old.revision;
            // The deadline is checked after the first rows, so that each step makes progress on a
            // slow disk.
            cut_short = Instant::now() > deadline;
            if cut_short {
                break;
            }
        }
        match self.after(conn, end)? {
            // There may be more rows of the same age.
            Some(next) if cut_short || too_old(&next) => step.more = true,
            Some(next) => step.schedule(class.time_until_due(&next)),
            None => {}
        }
        if end > start {
            let classes = self.short_lived.iter().map(String::as_str);
            for class in classes.filter(|_| !all).chain(all.then_some("")) {
                raise(conn, &mut step.floors, class, end)?;
            }
        }
        Ok(())
    }

    /// Reads a limited number of rows that are too old.
    fn oldest(
        &self,
        conn: &Connection,
        after: u64,
        rows: usize,
        too_old: impl Fn(&HistoryRow) -> bool,
    ) -> rusqlite::Result<Vec<HistoryRow>> {
        let mut statement = conn.prepare_cached(OLDEST)?;
        let limit = i64::try_from(rows).unwrap_or(i64::MAX);
        // The query stops at the first row that stays, which is often the very first.
        let rows = statement.query_map(params![after.cast_signed(), limit], |row| self.old(row))?;
        rows.take_while(|row| row.as_ref().map_or(true, &too_old))
            .collect()
    }

    /// Reads the first row after a revision.
    fn after(&self, conn: &Connection, after: u64) -> rusqlite::Result<Option<HistoryRow>> {
        let mut statement = conn.prepare_cached(OLDEST)?;
        statement
            .query_row(params![after.cast_signed(), 1], |row| self.old(row))
            .optional()
    }

    fn old(&self, row: &Row<'_>) -> rusqlite::Result<HistoryRow> {
        let key = row.get_ref(2)?.as_str()?;
        Ok(HistoryRow {
            revision: row.get::<_, i64>(0)?.cast_unsigned(),
            at_ms: row.get(1)?,
            bytes: row.get::<_, i64>(3)?.cast_unsigned(),
            short_lived: self
                .short_lived
                .iter()
                .any(|prefix| key.starts_with(prefix)),
        })
    }
}

/// The query for the oldest rows. SQLite computes the length of a blob without reading it.
const OLDEST: &str = "SELECT rev, at, key, length(key) + coalesce(length(previous), 0) FROM log
    WHERE rev > ? ORDER BY rev LIMIT ?";

/// Returns the size of the whole history in bytes.
pub(in crate::store) fn bytes(conn: &Connection) -> rusqlite::Result<u64> {
    let sql = "SELECT coalesce(sum(length(key) + coalesce(length(previous), 0)), 0) FROM log";
    conn.query_row(sql, [], |row| row.get(0).map(i64::cast_unsigned))
}

/// Returns the number of bytes that an event adds to the history, as [`bytes`] counts them.
pub(in crate::store) fn bytes_of(event: &Event) -> u64 {
    let previous = match event {
        Event::Put { previous, .. } => previous.as_ref(),
        Event::Delete { stored, .. } => Some(stored),
    };
    let value = previous.map_or(0, |stored| stored.value.len());
    // SQLite counts characters of texts.
    (event.key().chars().count() + value) as u64
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

/// Returns the middle revision of the history, which is the target of compaction when the disk is
/// full.
pub(in crate::store) fn middle(conn: &Connection) -> rusqlite::Result<Option<u64>> {
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::StoreOptions;
    use crate::store::layout::{self, Header, Role};

    const MINUTE: i64 = 60_000;

    struct Fixture {
        _folder: tempfile::TempDir,
        conn: Connection,
        floors: Floors,
        retention: Retention,
    }

    /// Creates a history of rows with these ages in milliseconds.
    fn fixture(rows: &[(i64, &str)]) -> Fixture {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("hub.db");
        let options = StoreOptions::default();
        let mut conn = options.connect(&path, Role::Write).unwrap();
        let Header { floors, .. } = layout::migrate(&mut conn, &path).unwrap();
        for (number, (age, key)) in (2_i64..).zip(rows) {
            conn.execute(
                "INSERT INTO log(rev, key, at, deleted) VALUES (?, ?, ?, 0)",
                params![number, key, now_ms() - age],
            )
            .unwrap();
        }
        Fixture {
            _folder: folder,
            conn,
            floors,
            retention: options.retention(),
        }
    }

    impl Fixture {
        fn step(&self, rows: usize) -> Step {
            let deadline = Instant::now() + Duration::from_hours(1);
            let (conn, floors) = (&self.conn, &self.floors);
            let step = self
                .retention
                .step_until(deadline, conn, floors, (100, 0), rows);
            step.unwrap()
        }
    }

    const POD: &str = "/core/pods/a/b";
    const LEASE: &str = "/coordination.k8s.io/leases/a/b";

    #[test]
    fn empty_history_is_not_compacted() {
        let step = fixture(&[]).step(10);
        assert_eq!((step.more, step.next), (false, None));
        let step = fixture(&[(10 * MINUTE, POD), (6 * MINUTE, LEASE)]).step(10);
        assert_eq!((step.more, step.next), (false, None));
    }

    #[test]
    fn compaction_step_returns_time_until_next_row_expires() {
        let fixture = fixture(&[(10 * MINUTE, POD), (2 * MINUTE, POD), (0, POD)]);
        let step = fixture.step(10);
        assert!(!step.more);
        // Rows of two minutes exceed the short maximum age, so the youngest row is next.
        let next = step.next.unwrap();
        let minute = Duration::from_mins(1);
        assert!(next > minute && next < minute + minute / 4, "{next:?}");
        let step = self::fixture(&[(2 * MINUTE, POD)]).step(10);
        let next = step.next.unwrap();
        assert!(next > 3 * minute && next < 4 * minute, "{next:?}");
    }

    #[test]
    fn interrupted_compaction_step_reports_remaining_work() {
        let fixture = fixture(&[(10 * MINUTE, POD), (9 * MINUTE, POD), (0, POD)]);
        let step = fixture.step(1);
        assert!(step.more);
        assert_eq!(step.floors.exactly(""), 2);
    }

    #[test]
    fn history_that_a_list_reads_is_retained_beyond_its_maximum_age() {
        let mut fixture = fixture(&[(10 * MINUTE, POD), (9 * MINUTE, LEASE), (0, POD)]);
        let pin = fixture.retention.pins.pin(2);
        let step = fixture.step(10);
        assert_eq!((step.floors.exactly(""), step.cut), (2, 1));
        fixture.floors = step.floors;
        assert_eq!(fixture.step(10).cut, 0);
        pin.raise(3);
        assert_eq!(fixture.step(10).cut, 1);
    }

    #[test]
    fn history_that_a_list_reads_is_limited_by_number_of_changes() {
        let mut fixture = fixture(&[(10 * MINUTE, POD), (9 * MINUTE, POD), (0, POD)]);
        let _pin = fixture.retention.pins.pin(1);
        // The revision of the fixture is 100.
        fixture.retention.history_changes = 97;
        assert_eq!(fixture.step(10).floors.exactly(""), 3);
    }

    #[test]
    fn history_size_in_bytes_is_limited() {
        let mut fixture = fixture(&[(0, POD), (0, POD), (0, POD), (0, POD)]);
        let row = POD.len() as u64;
        let bytes = bytes(&fixture.conn).unwrap();
        assert_eq!(bytes, 4 * row);
        fixture.retention.history_bytes = 2 * row;
        let (conn, floors) = (&fixture.conn, &fixture.floors);
        let step = |bytes, rows| {
            let step = fixture
                .retention
                .step(conn, floors, (100, bytes), 0, rows, false);
            step.unwrap()
        };
        let first = step(bytes, 1);
        assert_eq!((first.cut_bytes, first.more), (row, true));
        let second = step(bytes - row, 10);
        assert_eq!(second.cut_bytes, row);
        assert_eq!(second.floors.exactly(""), 3);
        assert_eq!(step(2 * row, 10).cut, 0);
    }

    #[test]
    fn backward_clock_change_delays_compaction_by_at_most_the_history_age() {
        let next = fixture(&[(-1000 * MINUTE, POD)]).step(10).next.unwrap();
        assert!(next <= Duration::from_mins(2), "{next:?}");
    }
}
