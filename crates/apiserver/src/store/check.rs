//! Consistency check of a store.

use std::path::Path;

use rusqlite::{Connection, OptionalExtension};

use super::error::OpenError;
use super::layout::{self, KNOWN, Role};
use super::stored::Splice;

/// Maximum number of reported problems per type.
const MAX_PROBLEMS: usize = 20;

/// The content and the problems of a store.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Report {
    /// The version of the store's database schema.
    pub schema: u32,
    /// The last revision of the store.
    pub revision: u64,
    /// The number of restores from a backup, plus one.
    pub epoch: u64,
    /// The number of objects in the store.
    pub objects: u64,
    /// The number of changes in the history.
    pub changes: u64,
    /// The problems as text for users. Empty if the store is consistent.
    pub problems: Vec<String>,
}

/// Checks an open or closed store, or a backup.
pub(super) fn check(path: &Path) -> Result<Report, OpenError> {
    let failed = |source| OpenError::Database {
        path: path.to_owned(),
        source,
    };
    let conn = layout::connect(path, None, Role::Read).map_err(failed)?;
    // The check uses a single snapshot, because concurrent changes would look like inconsistencies.
    let snapshot = conn.unchecked_transaction().map_err(failed)?;
    let schema = layout::version(&snapshot, path)?;
    if schema == 0 {
        return Err(OpenError::Foreign(path.to_owned()));
    }
    report(&snapshot, schema).map_err(failed)
}

fn report(conn: &Connection, schema: u32) -> rusqlite::Result<Report> {
    let mut report = Report {
        schema,
        revision: layout::meta(conn, "revision")?,
        epoch: layout::meta(conn, "epoch")?,
        objects: count(conn, "SELECT count(*) FROM cur")?,
        changes: count(conn, "SELECT count(*) FROM log")?,
        problems: texts(conn, &format!("PRAGMA integrity_check({MAX_PROBLEMS})"))?,
    };
    report.problems.retain(|problem| problem != "ok");
    if report.problems.is_empty() {
        for (problem, sql) in CONTRADICTIONS {
            let found = texts(conn, &format!("{sql} LIMIT {MAX_PROBLEMS}"))?;
            let found = found.into_iter().map(|which| format!("{which} {problem}"));
            report.problems.extend(found);
        }
        report.problems.extend(values(conn)?);
        if schema == KNOWN {
            let sql = "SELECT prefix FROM floors
                WHERE rev > (SELECT value FROM meta WHERE name = 'revision')";
            let found = texts(conn, sql)?.into_iter();
            report.problems.extend(
                found.map(|prefix| format!("the floor of {prefix:?} is after the last revision")),
            );
        }
    }
    Ok(report)
}

/// Descriptions of inconsistencies, with queries for the affected rows.
const CONTRADICTIONS: [(&str, &str); 5] = [
    (
        "is newer than the last revision",
        "SELECT key FROM cur WHERE rev > (SELECT value FROM meta WHERE name = 'revision')",
    ),
    (
        "is in the history after the last revision",
        "SELECT key FROM log WHERE rev > (SELECT value FROM meta WHERE name = 'revision')",
    ),
    (
        "differs from the last change in the history",
        "SELECT key FROM cur JOIN (SELECT key, max(rev) AS last FROM log GROUP BY key) USING (key)
         WHERE rev <> last",
    ),
    (
        "does not exist, but the history contains no deletion",
        "SELECT key FROM (SELECT key, max(rev), deleted FROM log GROUP BY key) AS changed
         WHERE deleted = 0 AND NOT EXISTS (SELECT 1 FROM cur WHERE cur.key = changed.key)",
    ),
    (
        "has a gap in its history",
        "SELECT key FROM (SELECT key, previous_rev,
            lag(rev) OVER story AS before, lag(deleted) OVER story AS gone
            FROM log WINDOW story AS (PARTITION BY key ORDER BY rev))
         WHERE before IS NOT NULL AND previous_rev IS NOT iif(gone, NULL, before)",
    ),
];

fn values(conn: &Connection) -> rusqlite::Result<Vec<String>> {
    let mut statement = conn.prepare("SELECT key, splice, value FROM cur")?;
    let mut rows = statement.query([])?;
    let mut problems = Vec::new();
    while let Some(row) = rows.next()? {
        let splice = Splice::from_column(row.get(1)?);
        if Splice::find(row.get_ref(2)?.as_blob()?) != Ok(splice) && problems.len() < MAX_PROBLEMS {
            let key: String = row.get(0)?;
            problems.push(format!("the value of {key} is damaged"));
        }
    }
    Ok(problems)
}

fn count(conn: &Connection, sql: &str) -> rusqlite::Result<u64> {
    let count: Option<i64> = conn.query_row(sql, [], |row| row.get(0)).optional()?;
    Ok(count.unwrap_or(0).cast_unsigned())
}

fn texts(conn: &Connection, sql: &str) -> rusqlite::Result<Vec<String>> {
    let mut statement = conn.prepare(sql)?;
    let rows = statement.query_map([], |row| row.get(0))?;
    rows.collect()
}
