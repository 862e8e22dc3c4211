//! The audit log, read back: what was written last comes first, a page at a time.
//!
//! Where the log is a file, that file and those turned over are read backwards, a bounded number
//! of bytes a page; where it is standard output, what the writer keeps in memory. A page that ends
//! early says where to go on, and a place that is gone meanwhile is said to be gone. One person
//! reads one page at a time, and few people read at once: it costs a thread and a disk.

mod files;
mod position;
mod recent;

use std::io;
use std::path::PathBuf;
use std::time::Duration;

use drover_api::rest::{AuditList, AuditOutcome, AuditSource, AuditView};
use http::StatusCode;
use jiff::{SignedDuration, Timestamp};
use thiserror::Error;

use self::files::Files;
pub use self::position::{FilePosition, Position, PositionError};
pub(super) use self::recent::Recent;
use super::Destination;
use drover_access::verb::Verb;
use drover_http_edge::status::Status;
use drover_http_edge::turns::{NoTurn, Turns};

/// Longest that a page may take.
const WITHIN: Duration = Duration::from_secs(30);
/// People who read at once.
const READERS: usize = 4;
/// Records are written in about the order in which requests ended. A record that was written so
/// much before the time asked for ends the search.
const DISORDER: SignedDuration = SignedDuration::from_mins(1);

/// Which verbs are wanted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verbs {
    /// This one.
    One(Verb),
    /// All that are not reads: no `get`, `list`, `watch` and `log`, and no `GET` or `HEAD` through
    /// a proxy.
    Changes,
}

impl Verbs {
    fn include(self, record: &AuditView) -> bool {
        let done = record.verb.as_deref();
        let is = |verb: Verb| done == Some(verb.as_str());
        match self {
            Self::One(verb) => is(verb),
            Self::Changes => {
                let read = [Verb::Get, Verb::List, Verb::Watch, Verb::Log].map(is);
                let safe = matches!(record.method.as_deref(), Some("GET" | "HEAD" | "OPTIONS"));
                let read_by_method = safe && (is(Verb::Proxy) || is(Verb::Other));
                !read.contains(&true) && !read_by_method
            }
        }
    }
}

/// Which records are wanted; those that satisfy everything that is given.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Filter {
    /// Name of whoever asked.
    pub user: Option<String>,
    /// Name of the cluster.
    pub cluster: Option<String>,
    /// Name of what it was about.
    pub object: Option<String>,
    /// Part of the path.
    pub path: Option<String>,
    /// What was done.
    pub verb: Option<Verbs>,
    /// How it ended.
    pub outcome: Option<AuditOutcome>,
    /// Status code of the answer.
    pub code: Option<u16>,
    /// Requests that came then or later.
    pub since: Option<Timestamp>,
    /// Requests that came then or before.
    pub until: Option<Timestamp>,
}

impl Filter {
    fn wants(&self, record: &AuditView) -> bool {
        let is = |wanted: &Option<String>, had: &Option<String>| wanted.is_none() || wanted == had;
        let path = record.path.as_deref().unwrap_or_default();
        is(&self.user, &record.user)
            && is(&self.cluster, &record.cluster)
            && is(&self.object, &record.object)
            && self.path.as_ref().is_none_or(|part| path.contains(&**part))
            && self.verb.is_none_or(|verbs| verbs.include(record))
            && self.outcome.is_none_or(|outcome| record.outcome == outcome)
            && self.code.is_none_or(|code| record.code == Some(code))
            && self.since.is_none_or(|since| record.time >= since)
            && self.until.is_none_or(|until| record.time <= until)
    }

    /// Whether everything that was written before this record is too old.
    fn ends_at(&self, record: &AuditView) -> bool {
        let written = written(record);
        self.since
            .and_then(|since| since.checked_sub(DISORDER).ok())
            .is_some_and(|earliest| written < earliest)
    }
}

/// When a record was written, about.
fn written(record: &AuditView) -> Timestamp {
    let lasted = Duration::try_from_secs_f64(record.duration_ms / 1e3).unwrap_or_default();
    record.time.checked_add(lasted).unwrap_or(record.time)
}

/// One page of the log.
#[derive(Clone, Debug)]
pub struct Wanted {
    /// Which records.
    pub filter: Filter,
    /// How many at most.
    pub limit: usize,
    /// Where the page before ended; the newest record if absent.
    pub after: Option<Position>,
}

/// Why the log could not be read.
#[derive(Debug, Error)]
pub enum ReadAuditError {
    /// One page after the other.
    #[error("the audit log is being read for you already; wait for that, or try again")]
    Yours,
    /// Too many people at once.
    #[error("too many people read the audit log at once; try again")]
    Busy,
    /// The page goes on where nothing is any more.
    #[error("the page before ended at records that are kept no longer; begin without it")]
    Gone,
    /// The disk.
    #[error("the audit log's file {path:?} cannot be read")]
    File {
        /// Which file.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// It took too long.
    #[error("the audit log was not read within {} s; its disk is slow", WITHIN.as_secs())]
    Slow,
    /// The reading thread broke off.
    #[error("reading the audit log broke off")]
    Broken,
}

impl From<ReadAuditError> for Status {
    fn from(error: ReadAuditError) -> Self {
        let text = error.to_string();
        match error {
            ReadAuditError::Yours | ReadAuditError::Busy => Self::too_many_requests(text, 1),
            ReadAuditError::Gone => Self::new(StatusCode::GONE, "Expired", text),
            ReadAuditError::Slow => Self::timeout(text),
            ReadAuditError::File { source, .. } => {
                Self::internal(format!("{text}: {source}; look at its permissions"))
            }
            ReadAuditError::Broken => Self::internal(text),
        }
    }
}

/// Reads the log; clones read the same one, within the same limits.
#[derive(Clone, Debug)]
pub struct Reader {
    kept: Kept,
    turns: Turns,
}

/// Where records are kept.
#[derive(Clone, Debug)]
pub(super) enum Kept {
    /// In files.
    Files(Files),
    /// In memory alone.
    Memory(Recent),
}

impl Kept {
    /// Where the records of a log that was opened are to be had. A pipe or a device that a path
    /// may name gives nothing back.
    pub(super) fn of(destination: &Destination) -> Self {
        match destination {
            Destination::File { path, keep, .. } if path.is_file() => {
                Self::Files(Files::new(path.clone(), *keep))
            }
            Destination::Stdout | Destination::File { .. } => Self::Memory(Recent::default()),
        }
    }

    /// The memory that the writer feeds.
    pub(super) fn recent(&self) -> Option<&Recent> {
        match self {
            Self::Files(_) => None,
            Self::Memory(recent) => Some(recent),
        }
    }

    fn read(&self, wanted: &Wanted) -> Result<AuditList, ReadAuditError> {
        match self {
            Self::Files(files) => files.read(wanted),
            Self::Memory(recent) => recent.read(wanted),
        }
    }
}

impl Reader {
    pub(super) fn new(kept: Kept) -> Self {
        Self {
            kept,
            turns: Turns::of(READERS),
        }
    }

    /// A page for the person of this UID.
    pub async fn read(&self, who: &str, wanted: Wanted) -> Result<AuditList, ReadAuditError> {
        let turn = self.turns.take(who)?;
        let kept = self.kept.clone();
        let reading = tokio::task::spawn_blocking(move || {
            // Held until the thread is done, whether or not anybody still waits for it.
            let _turn = turn;
            kept.read(&wanted)
        });
        tokio::time::timeout(WITHIN, reading)
            .await
            .map_err(|_| ReadAuditError::Slow)?
            .map_err(|_| ReadAuditError::Broken)?
    }
}

impl From<NoTurn> for ReadAuditError {
    fn from(why: NoTurn) -> Self {
        match why {
            NoTurn::Yours => Self::Yours,
            NoTurn::Others => Self::Busy,
        }
    }
}

/// A page while it is filled.
struct Page<'a> {
    wanted: &'a Wanted,
    items: Vec<AuditView>,
    unreadable: u64,
}

/// Whether older records are still of interest.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Older {
    /// They are.
    Wanted,
    /// On the next page.
    Later,
    /// They are all too old.
    No,
}

impl<'a> Page<'a> {
    fn new(wanted: &'a Wanted) -> Self {
        Self {
            wanted,
            items: Vec::new(),
            unreadable: 0,
        }
    }

    /// Takes the next older line in.
    fn take(&mut self, line: &[u8]) -> Older {
        let Ok(record) = serde_json::from_slice::<AuditView>(line) else {
            self.unreadable += 1;
            return Older::Wanted;
        };
        if self.wanted.filter.ends_at(&record) {
            return Older::No;
        }
        if self.wanted.filter.wants(&record) {
            self.items.push(record);
        }
        if self.items.len() >= self.wanted.limit {
            return Older::Later;
        }
        Older::Wanted
    }

    fn done(
        self,
        source: AuditSource,
        kept_since: Option<Timestamp>,
        next: Option<Position>,
    ) -> AuditList {
        AuditList {
            items: self.items,
            continue_token: next.map(|position| position.to_string()),
            kept_since,
            source,
            unreadable: self.unreadable,
        }
    }
}

/// When what is kept begins, by its oldest line.
fn kept_since(oldest: &[u8]) -> Option<Timestamp> {
    let record = serde_json::from_slice::<AuditView>(oldest).ok()?;
    Some(written(&record))
}

#[cfg(test)]
mod tests;
