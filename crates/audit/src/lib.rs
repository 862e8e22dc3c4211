//! The audit log: who did what on which cluster, and how it ended.
//!
//! One JSON object a line. On the road, a plain request makes one record when it is over; a stream
//! (watch, followed log, exec, attach, port-forward, upgrade) makes one when it begins and one
//! when it ends; a refusal makes one. Under `/v1`, each request that is not a `GET` makes one, and
//! each that is answered 401, 403 or 429. Records carry no secret: no header and no body is
//! recorded, and of the query only what is known to be harmless. A failed log-in names the user
//! that was tried only if there is one of that name: what is typed there is at times a password.
//!
//! What strangers do, people without a valid credential, is written whole once, and then counted:
//! one record says how many requests of a network ended alike, once a second, and more seldom
//! while it goes on, see `audit::strangers`. A refusal for the want of room in this log adds none.
//!
//! | field | is |
//! |---|---|
//! | `time`, `durationMs` | when the request came (UTC); how long it had taken |
//! | `stage` | `begin` or `end` |
//! | `id` | as in the answer's `drover-request-id` header |
//! | `source` | address of the client's connection; with `count`, its network, absent if there were many |
//! | `user`, `userUid`, `token`, `actingAs` | who, by which token (its id), and as whom (`--as`) |
//! | `cluster`, `clusterUid` | where |
//! | `verb`, `method`, `path` | what; under `/v1`, `path` is the route, such as `/v1/users/{name}` |
//! | `pathBytes` | length of the whole path and query, where `path` is only its first 2 KiB (256 bytes of a stranger's) |
//! | `object` | under `/v1`: name of the user, cluster, token or setting that it was about |
//! | `count` | the record stands for so many requests of strangers, in `durationMs` from `time` on |
//! | `outcome`, `code`, `reason` | how it ended |
//! | `bytesIn`, `bytesOut` | size of the bodies |
//!
//! Records are made on the road and formatted and written by a thread of their own. Nothing is
//! lost silently; see [`Audit::admit`]. Administrators read them back under `/v1/audit`, see
//! [`Reader`].

mod layer;
mod queue;
mod read;
mod record;
mod redact;
mod strangers;
mod writer;

use std::io;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use http::HeaderName;
use parking_lot::Mutex;
use thiserror::Error;

pub use self::layer::{Noted, audited};
pub use self::queue::Capacity;
use self::queue::Queue;
use self::read::Kept;
pub use self::read::{
    FilePosition, Filter, Position, PositionError, ReadAuditError, Reader, Verbs, Wanted,
};
pub use self::record::{
    Asked, Outcome, Person, Place, Record, RequestId, Stage, Subject, short_method,
};
use self::writer::Writer;
use drover_telemetry::Metrics;

/// Header of every recorded answer: the id of the request in the audit log.
pub const REQUEST_ID: HeaderName = HeaderName::from_static("drover-request-id");
/// What may wait for the writer before new requests wait in turn.
const CAPACITY: Capacity = Capacity {
    records: 65_536,
    bytes: 64 * 1024 * 1024,
};
/// How long a new request waits for room.
const PATIENCE: Duration = Duration::from_secs(5);

/// Where the audit log goes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Destination {
    /// Standard output.
    Stdout,
    /// A file that only its owner reads; at `max_bytes` it becomes `path.1`, and so on to
    /// `path.<keep>`.
    File {
        /// The file.
        path: PathBuf,
        /// Size at which it is turned over.
        max_bytes: u64,
        /// How many old ones stay.
        keep: u32,
    },
}

impl Destination {
    /// A file with the usual limits: 100 MiB, ten old ones; `-` is standard output.
    pub fn named(path: impl Into<PathBuf>) -> Self {
        let path = path.into();
        if path.as_os_str() == "-" {
            return Self::Stdout;
        }
        Self::File {
            path,
            max_bytes: 100 * 1024 * 1024,
            keep: 10,
        }
    }
}

/// The path of a log that was turned over so many times.
fn numbered(path: &std::path::Path, number: u32) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(format!(".{number}"));
    name.into()
}

/// The audit log cannot be opened.
#[derive(Debug, Error)]
#[error("the audit log {destination:?} cannot be opened; name a file that this user may write")]
pub struct OpenAuditError {
    destination: Destination,
    source: io::Error,
}

/// The writer has fallen behind and a request would not be recorded in time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[error("the audit log cannot take more records now")]
pub struct AuditFull;

/// The audit log; clones are the same log.
#[derive(Clone)]
pub struct Audit(Arc<Shared>);

struct Shared {
    queue: Arc<Queue>,
    reader: Reader,
    problem: Arc<Mutex<Option<String>>>,
    start: u64,
    next: AtomicU64,
    metrics: Metrics,
    patience: Duration,
}

impl Drop for Shared {
    fn drop(&mut self) {
        self.queue.close();
    }
}

impl Audit {
    /// Opens the log and starts its writer.
    pub fn open(destination: &Destination, metrics: &Metrics) -> Result<Self, OpenAuditError> {
        Self::with_limits(destination, metrics, CAPACITY, PATIENCE)
    }

    /// Opens the log with another capacity and another time that a request waits for room.
    pub fn with_limits(
        destination: &Destination,
        metrics: &Metrics,
        capacity: Capacity,
        patience: Duration,
    ) -> Result<Self, OpenAuditError> {
        let failed = |source| OpenAuditError {
            destination: destination.clone(),
            source,
        };
        let queue = Arc::new(Queue::new(capacity));
        let problem = Arc::new(Mutex::new(None));
        let writer = Writer::open(
            destination,
            Arc::clone(&queue),
            Arc::clone(&problem),
            metrics.clone(),
        )
        .map_err(failed)?;
        // The file is there only now.
        let kept = Kept::of(destination);
        let writer = writer.remembering(kept.recent().cloned());
        std::thread::Builder::new()
            .name("audit".to_owned())
            .spawn(|| writer.run())
            .map_err(failed)?;
        Ok(Self(Arc::new(Shared {
            queue,
            reader: Reader::new(kept),
            problem,
            start: uuid::Uuid::new_v4().as_u64_pair().0,
            next: AtomicU64::new(1),
            metrics: metrics.clone(),
            patience,
        })))
    }

    /// A name for a new request, unlike any other of this or another start of the server.
    pub fn next_id(&self) -> RequestId {
        let number = self.0.next.fetch_add(1, Ordering::Relaxed);
        RequestId {
            start: self.0.start,
            number,
        }
    }

    /// Waits until a new request's records have room; at most five seconds.
    ///
    /// A request that is not admitted must be refused: it would not be recorded.
    pub async fn admit(&self) -> Result<(), AuditFull> {
        if self.0.queue.has_room() {
            return Ok(());
        }
        self.0.metrics.audit_waits.inc();
        tokio::time::timeout(self.0.patience, self.0.queue.room())
            .await
            .map_err(|_| AuditFull)
    }

    /// Adds a record; never waits, never fails. One without a person may only be counted.
    pub fn add(&self, record: Record) {
        self.0.queue.add(record);
    }

    /// Waits until everything added so far is written.
    pub async fn flush(&self) {
        self.0.queue.flushed().await;
    }

    /// What reads it back.
    pub fn reader(&self) -> &Reader {
        &self.0.reader
    }

    /// The lines that wait for the writer, and whether requests of strangers are being counted.
    pub fn waiting(&self) -> (usize, bool) {
        self.0.queue.holds()
    }

    /// Why the log cannot be written now, if so.
    pub fn problem(&self) -> Option<String> {
        self.0.problem.lock().clone()
    }
}

#[cfg(test)]
mod tests;
