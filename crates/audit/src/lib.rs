//! The audit log: which user did what on which cluster, and the outcome.
//!
//! One JSON object per line. In the proxy, a plain request creates one record when it ends; a
//! stream (watch, followed log, exec, attach, port-forward, upgrade) creates one when it begins and
//! one when it ends; a refusal creates one. Under `/v1`, each request that is not a `GET` creates
//! one, and so does each response 401, 403 or 429. Records contain no secret: headers and bodies
//! are not recorded, and only query parameters that are known to be harmless are. A failed login
//! names the user only if that user exists, because people sometimes type a password into the user
//! name field.
//!
//! The first unauthenticated request with a given outcome is written in full; further ones are
//! counted. One record holds the count of a network's requests with the same outcome, once a second
//! at first and less often while they continue, see `audit::unauthenticated`. A refusal because of
//! a full log adds no record.
//!
//! | field | meaning |
//! |---|---|
//! | `time`, `durationMs` | when the request arrived (UTC); how long it took |
//! | `stage` | `begin` or `end` |
//! | `id` | as in the response's `drover-request-id` header |
//! | `source` | address of the client's connection; with `count`, its network, absent for several networks |
//! | `user`, `userUid`, `token`, `actingAs` | the user, the token's ID, and the impersonated user (`--as`) |
//! | `cluster`, `clusterUid` | the target cluster |
//! | `verb`, `method`, `path` | the action; under `/v1`, `path` is the route, such as `/v1/users/{name}` |
//! | `pathBytes` | length of the whole path and query, if `path` holds only its first 2 KiB (256 bytes if unauthenticated) |
//! | `object` | under `/v1`: name of the user, cluster, token or setting |
//! | `count` | number of unauthenticated requests in this record, within `durationMs` from `time` |
//! | `outcome`, `code`, `reason` | the outcome |
//! | `bytesIn`, `bytesOut` | size of the bodies |
//!
//! A thread of its own formats and writes the records. No record is lost silently; see
//! [`Audit::admit`]. Administrators read the log under `/v1/audit`, see [`Reader`].

mod layer;
mod queue;
mod read;
mod record;
mod redact;
mod unauthenticated;
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
use self::read::Source;
pub use self::read::{
    FilePosition, Filter, Position, PositionError, ReadAuditError, Reader, Verbs, Wanted,
};
pub use self::record::{
    ClusterRef, Outcome, Person, Record, RequestId, RequestTarget, Stage, Subject, short_method,
};
use self::writer::Writer;
use drover_telemetry::Metrics;

/// Response header with the ID of the request in the audit log.
pub const REQUEST_ID: HeaderName = HeaderName::from_static("drover-request-id");
/// Records that can wait for the writer before new requests have to wait.
const CAPACITY: Capacity = Capacity {
    records: 65_536,
    bytes: 64 * 1024 * 1024,
};
/// How long a new request waits for room.
const ADMIT_TIMEOUT: Duration = Duration::from_secs(5);

/// The destination of the audit log.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Destination {
    /// Standard output.
    Stdout,
    /// A file with mode 0600; at `max_bytes` it is rotated to `path.1`, and so on to `path.<keep>`.
    File {
        /// The file.
        path: PathBuf,
        /// Size at which the file is rotated.
        max_bytes: u64,
        /// Number of rotated files that are kept.
        keep: u32,
    },
}

impl Destination {
    /// A file with the default limits: 100 MiB, ten rotated files; `-` is standard output.
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

/// The path of the rotated log with this number.
fn numbered(path: &std::path::Path, number: u32) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(format!(".{number}"));
    name.into()
}

/// The audit log cannot be opened.
#[derive(Debug, Error)]
#[error("cannot open the audit log {destination:?}; name a file that this user can write")]
pub struct OpenAuditError {
    destination: Destination,
    source: io::Error,
}

/// The writer is behind and the request cannot be recorded in time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[error("the audit log has no room for more records")]
pub struct AuditFull;

/// The audit log; clones share it.
#[derive(Clone)]
pub struct Audit(Arc<Shared>);

struct Shared {
    queue: Arc<Queue>,
    reader: Reader,
    problem: Arc<Mutex<Option<String>>>,
    start: u64,
    next: AtomicU64,
    metrics: Metrics,
    admit_timeout: Duration,
}

impl Drop for Shared {
    fn drop(&mut self) {
        self.queue.close();
    }
}

impl Audit {
    /// Opens the log and starts its writer.
    pub fn open(destination: &Destination, metrics: &Metrics) -> Result<Self, OpenAuditError> {
        Self::with_limits(destination, metrics, CAPACITY, ADMIT_TIMEOUT)
    }

    /// Opens the log with another capacity and another time limit for requests that wait for room.
    pub fn with_limits(
        destination: &Destination,
        metrics: &Metrics,
        capacity: Capacity,
        admit_timeout: Duration,
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
        // Called here because the file exists only from now on.
        let kept = Source::of(destination);
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
            admit_timeout,
        })))
    }

    /// Creates a request ID that is unique across restarts of the server.
    pub fn next_id(&self) -> RequestId {
        let number = self.0.next.fetch_add(1, Ordering::Relaxed);
        RequestId {
            start: self.0.start,
            number,
        }
    }

    /// Waits until the records of a new request have room; at most five seconds.
    ///
    /// Callers must refuse the request on an error, because the request would not be recorded.
    pub async fn admit(&self) -> Result<(), AuditFull> {
        if self.0.queue.has_room() {
            return Ok(());
        }
        self.0.metrics.audit_waits.inc();
        tokio::time::timeout(self.0.admit_timeout, self.0.queue.room())
            .await
            .map_err(|_| AuditFull)
    }

    /// Adds a record; never waits, never fails. A record without a user may only be counted.
    pub fn add(&self, record: Record) {
        self.0.queue.add(record);
    }

    /// Waits until all records so far are written.
    pub async fn flush(&self) {
        self.0.queue.flushed().await;
    }

    /// The reader of this log.
    pub fn reader(&self) -> &Reader {
        &self.0.reader
    }

    /// Number of lines that wait for the writer, and whether unauthenticated requests are being
    /// counted.
    pub fn waiting(&self) -> (usize, bool) {
        self.0.queue.holds()
    }

    /// The reason why the log cannot be written now, if any.
    pub fn problem(&self) -> Option<String> {
        self.0.problem.lock().clone()
    }
}

#[cfg(test)]
mod tests;
