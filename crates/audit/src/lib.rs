//! The audit log: the user, the action, the cluster and the outcome of each request.
//!
//! The log has one JSON object per line. In the proxy, a plain request creates one record when it
//! ends. A stream (watch, followed log, exec, attach, port-forward, upgrade) creates one record
//! when it begins and one record when it ends. A refused request creates one record. Under `/v1`,
//! a request creates one record if its method is not `GET`, or if its response is 401, 403 or 429.
//!
//! Records contain no secret. The log omits headers, bodies, and all query parameters that are not
//! on an allow list. The record of a failed login contains the user name only if the user exists.
//! Otherwise, the user may have typed a password into the user name field.
//!
//! The log contains the first unauthenticated request with each outcome in full. The log counts
//! further requests per network and outcome, and writes one record with each count per second. The
//! interval grows while the requests continue, see `audit::unauthenticated`. A request that the
//! server refuses because the queue is full creates no record.
//!
//! | field | meaning |
//! |---|---|
//! | `time`, `durationMs` | time at which the request arrived (UTC), and its duration |
//! | `stage` | `begin` or `end` |
//! | `id` | ID of the request, also in the response's `drover-request-id` header |
//! | `source` | address of the client's connection. In a record with `count`: the network, or absent for several networks |
//! | `user`, `userUid`, `token`, `actingAs` | the user, the token's ID, and the impersonated user (`--as`) |
//! | `cluster`, `clusterUid` | the target cluster |
//! | `verb`, `method`, `path` | the action. Under `/v1`, `path` is the route, such as `/v1/users/{name}` |
//! | `pathBytes` | length of the whole path and query, if `path` contains only its first 2 KiB (256 bytes if unauthenticated) |
//! | `object` | name of the user, cluster, token or setting, under `/v1` |
//! | `count` | number of unauthenticated requests in this record, within `durationMs` from `time` |
//! | `outcome`, `code`, `reason` | the outcome |
//! | `bytesIn`, `bytesOut` | size of the bodies |
//!
//! A separate thread formats and writes the records. If the queue is full, the server refuses
//! requests instead of losing records, see [`Audit::admit`]. Administrators read the log under
//! `/v1/audit`, see [`Reader`].

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

pub use self::layer::{AuditNotes, audited};
pub use self::queue::Capacity;
use self::queue::Queue;
use self::read::Source;
pub use self::read::{
    FilePosition, Filter, PageRequest, Position, PositionError, ReadAuditError, Reader, Verbs,
};
pub use self::record::{
    AuditCaller, ClusterRef, Outcome, Record, RequestId, RequestTarget, Stage, Subject,
    short_method,
};
use self::writer::Writer;
use drover_telemetry::Metrics;

/// Response header with the ID of the request in the audit log.
pub const REQUEST_ID: HeaderName = HeaderName::from_static("drover-request-id");
/// Size of the queue above which new requests wait.
const CAPACITY: Capacity = Capacity {
    records: 65_536,
    bytes: 64 * 1024 * 1024,
};
/// Maximum time that a new request waits for space in the queue.
const ADMIT_TIMEOUT: Duration = Duration::from_secs(5);

/// The destination of the audit log.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Destination {
    /// Standard output.
    Stdout,
    /// A file with mode 0600. At `max_bytes`, the writer rotates the file to `path.1`, and so on to
    /// `path.<keep>`.
    File {
        /// Path of the current file.
        path: PathBuf,
        /// Size at which the writer rotates the file, in bytes.
        max_bytes: u64,
        /// Number of rotated files to keep.
        keep: u32,
    },
}

impl Destination {
    /// Returns a file with the default limits: 100 MiB and ten rotated files. The path `-` is
    /// standard output.
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

/// Returns the path of the rotated log with this number.
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

/// The queue stayed full for too long, because the writer is slow.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[error("the queue of the audit log is full")]
pub struct AuditFull;

/// The audit log. Clones share the log.
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
    /// Opens the log and starts its writer thread.
    pub fn open(destination: &Destination, metrics: &Metrics) -> Result<Self, OpenAuditError> {
        Self::with_limits(destination, metrics, CAPACITY, ADMIT_TIMEOUT)
    }

    /// Opens the log with this queue capacity and this time limit for waiting requests.
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
        // Called here, because the file exists only after the log was opened.
        let kept = Source::of(destination);
        let writer = writer.with_recent(kept.recent().cloned());
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

    /// Creates a request ID. IDs are also unique across restarts of the server.
    pub fn next_id(&self) -> RequestId {
        let number = self.0.next.fetch_add(1, Ordering::Relaxed);
        RequestId {
            start: self.0.start,
            number,
        }
    }

    /// Waits until the queue has space for the records of a new request. Waits at most five
    /// seconds. Callers must refuse the request on an error, because the log cannot record the
    /// request.
    pub async fn admit(&self) -> Result<(), AuditFull> {
        if self.0.queue.has_room() {
            return Ok(());
        }
        self.0.metrics.audit_waits.inc();
        tokio::time::timeout(self.0.admit_timeout, self.0.queue.room())
            .await
            .map_err(|_| AuditFull)
    }

    /// Adds a record without waiting. If the record has no user, the log may only count the record
    /// and not write it.
    pub fn add(&self, record: Record) {
        self.0.queue.add(record);
    }

    /// Waits until all earlier records are written.
    pub async fn flush(&self) {
        self.0.queue.flushed().await;
    }

    /// Returns the reader of this log.
    pub fn reader(&self) -> &Reader {
        &self.0.reader
    }

    /// Returns the number of lines that wait for the writer, and true if unauthenticated requests
    /// are being counted.
    pub fn waiting(&self) -> (usize, bool) {
        self.0.queue.holds()
    }

    /// Returns the reason if the writer currently cannot write the log.
    pub fn problem(&self) -> Option<String> {
        self.0.problem.lock().clone()
    }
}

#[cfg(test)]
mod tests;
