//! Reads the audit log, newest record first, one page at a time.
//!
//! If the log is a file, the reader reads the file and its rotated files backwards, up to a maximum
//! number of bytes per page. If the log is standard output, the reader reads the records that the
//! writer keeps in memory. A page that ends early contains the position of the next page. A
//! position in a deleted file is an error. Each user can read one page at a time. The number of
//! concurrent readers is limited, because each read occupies a thread and the disk.

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
use drover_http_edge::concurrency::{ConcurrencyLimiter, LimitReached};
use drover_http_edge::status::Status;

/// Time limit for reading a page.
const READ_TIMEOUT: Duration = Duration::from_secs(30);
/// Maximum number of users that read concurrently.
const MAX_READERS: usize = 4;
/// Two records in the log can be in the wrong order if their write times differ by at most this
/// duration. A search that has a start time therefore ends at the first record that was written
/// more than this duration before the start time.
const DISORDER: SignedDuration = SignedDuration::from_mins(1);

/// The verbs of the requested records.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verbs {
    /// Records with this verb only.
    One(Verb),
    /// Records with a verb that changes state. Excludes `get`, `list`, `watch` and `log`, and `GET`
    /// or `HEAD` through a proxy.
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

/// The requested records. A record must match all fields that are set.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Filter {
    /// Name of the caller.
    pub user: Option<String>,
    /// Name of the requested cluster.
    pub cluster: Option<String>,
    /// Name of the object.
    pub object: Option<String>,
    /// Text that the path of the request contains.
    pub path: Option<String>,
    /// Verbs of the record.
    pub verb: Option<Verbs>,
    /// Outcome that the record must have.
    pub outcome: Option<AuditOutcome>,
    /// Status code of the response.
    pub code: Option<u16>,
    /// Earliest time of the request.
    pub since: Option<Timestamp>,
    /// Latest time of the request.
    pub until: Option<Timestamp>,
}

impl Filter {
    fn wants(&self, record: &AuditView) -> bool {
        let is = |page: &Option<String>, had: &Option<String>| page.is_none() || page == had;
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

    /// Returns true if the search can end at this record, because all older lines were written
    /// before the start of the requested period.
    fn ends_at(&self, record: &AuditView) -> bool {
        let written = written(record);
        self.since
            .and_then(|since| since.checked_sub(DISORDER).ok())
            .is_some_and(|earliest| written < earliest)
    }
}

/// Returns the approximate time at which a record was written.
fn written(record: &AuditView) -> Timestamp {
    let lasted = Duration::try_from_secs_f64(record.duration_ms / 1e3).unwrap_or_default();
    record.time.checked_add(lasted).unwrap_or(record.time)
}

/// The request for one page of the log.
#[derive(Clone, Debug)]
pub struct PageRequest {
    /// The filter that records must match.
    pub filter: Filter,
    /// Maximum number of records in the page.
    pub limit: usize,
    /// The position at which the previous page ended. `None` starts at the newest record.
    pub after: Option<Position>,
}

/// The reason why the log cannot be read.
#[derive(Debug, Error)]
pub enum ReadAuditError {
    /// The user is already reading a page.
    #[error(
        "cannot read the audit log: your previous request is not complete; wait, then try again"
    )]
    AlreadyReading,
    /// Too many users are reading the log.
    #[error("too many users are reading the audit log; try again")]
    Busy,
    /// The records at the requested position were deleted.
    #[error("the records at this position were deleted; start without \"continue\"")]
    Gone,
    /// The reader cannot read a file of the log.
    #[error("cannot read the audit log file {path:?}")]
    File {
        /// Path of the file.
        path: PathBuf,
        /// Error of the operating system.
        source: io::Error,
    },
    /// Reading the page exceeded its time limit.
    #[error(
        "cannot read the audit log within {seconds} s: the disk of the audit log is slow; try \
         again",
        seconds = READ_TIMEOUT.as_secs()
    )]
    Slow,
    /// The reading thread panicked.
    #[error("cannot read the audit log: the reading task failed")]
    Broken,
}

impl From<ReadAuditError> for Status {
    fn from(error: ReadAuditError) -> Self {
        let text = error.to_string();
        match error {
            ReadAuditError::AlreadyReading | ReadAuditError::Busy => {
                Self::too_many_requests(text, 1)
            }
            ReadAuditError::Gone => Self::new(StatusCode::GONE, "Expired", text),
            ReadAuditError::Slow => Self::timeout(text),
            ReadAuditError::File { source, .. } => Self::internal(format!(
                "{text}: {source}; check the permissions of the file"
            )),
            ReadAuditError::Broken => Self::internal(text),
        }
    }
}

/// Reads the log. Clones share the limits.
#[derive(Clone, Debug)]
pub struct Reader {
    kept: Source,
    turns: ConcurrencyLimiter,
}

/// The storage of records that the reader can read.
#[derive(Clone, Debug)]
pub(super) enum Source {
    /// The files of the log.
    Files(Files),
    /// The records in memory.
    Memory(Recent),
}

impl Source {
    /// Returns the storage to read for a log with this destination. The storage is the memory if
    /// the destination cannot be read: standard output, a pipe or a device.
    pub(super) fn of(destination: &Destination) -> Self {
        match destination {
            Destination::File { path, keep, .. } if path.is_file() => {
                Self::Files(Files::new(path.clone(), *keep))
            }
            Destination::Stdout | Destination::File { .. } => Self::Memory(Recent::default()),
        }
    }

    /// Returns the memory that the writer fills.
    pub(super) fn recent(&self) -> Option<&Recent> {
        match self {
            Self::Files(_) => None,
            Self::Memory(recent) => Some(recent),
        }
    }

    fn read(&self, page: &PageRequest) -> Result<AuditList, ReadAuditError> {
        match self {
            Self::Files(files) => files.read(page),
            Self::Memory(recent) => recent.read(page),
        }
    }
}

impl Reader {
    pub(super) fn new(kept: Source) -> Self {
        Self {
            kept,
            turns: ConcurrencyLimiter::of(MAX_READERS),
        }
    }

    /// Reads a page for the user with this UID.
    pub async fn read(&self, user: &str, page: PageRequest) -> Result<AuditList, ReadAuditError> {
        let turn = self.turns.take(user)?;
        let kept = self.kept.clone();
        let reading = tokio::task::spawn_blocking(move || {
            // The permit is held until the thread ends, even if the caller has stopped waiting.
            let _turn = turn;
            kept.read(&page)
        });
        tokio::time::timeout(READ_TIMEOUT, reading)
            .await
            .map_err(|_| ReadAuditError::Slow)?
            .map_err(|_| ReadAuditError::Broken)?
    }
}

impl From<LimitReached> for ReadAuditError {
    fn from(limit: LimitReached) -> Self {
        match limit {
            LimitReached::SameUser => Self::AlreadyReading,
            LimitReached::AllUsers => Self::Busy,
        }
    }
}

/// The records that the search has found for a page.
struct Page<'a> {
    wanted: &'a PageRequest,
    items: Vec<AuditView>,
    unreadable: u64,
}

/// The next step of the search after a line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum SearchStep {
    /// Continue the search with older lines.
    Continue,
    /// End the page. The next page continues with older lines.
    EndPage,
    /// End the search, because all older records are too old.
    End,
}

impl<'a> Page<'a> {
    fn new(page: &'a PageRequest) -> Self {
        Self {
            wanted: page,
            items: Vec::new(),
            unreadable: 0,
        }
    }

    /// Adds the record in the next older line to the page.
    fn take(&mut self, line: &[u8]) -> SearchStep {
        let Ok(record) = serde_json::from_slice::<AuditView>(line) else {
            self.unreadable += 1;
            return SearchStep::Continue;
        };
        if self.wanted.filter.ends_at(&record) {
            return SearchStep::End;
        }
        if self.wanted.filter.wants(&record) {
            self.items.push(record);
        }
        if self.items.len() >= self.wanted.limit {
            return SearchStep::EndPage;
        }
        SearchStep::Continue
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

/// Returns the time of the oldest line.
fn oldest_time(oldest: &[u8]) -> Option<Timestamp> {
    let record = serde_json::from_slice::<AuditView>(oldest).ok()?;
    Some(written(&record))
}

#[cfg(test)]
mod tests;
