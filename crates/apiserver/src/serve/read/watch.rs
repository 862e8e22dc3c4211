//! Watches: initial objects if requested, then each change as a line of JSON.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;

use axum::body::Body;
use axum::response::Response;
use bytes::Bytes;
use futures::StreamExt as _;
use futures::future::BoxFuture;
use futures::stream::FuturesUnordered;
use http::header::CONTENT_TYPE;
use http::{HeaderValue, StatusCode};
use prometheus_client::metrics::counter::Counter;
use tokio::sync::watch::Receiver;
use tokio::time::{Instant, sleep_until};
use tokio_util::sync::CancellationToken;

use crate::resource::Origin;
use crate::serve::audit::Stage;
use crate::serve::exchange::Exchange;
use crate::serve::input::negotiate::{Representation, accepted_stream};
use crate::serve::input::options::{ListOptions, VersionMatch};
use crate::serve::input::query::parse_resource_version;
use crate::serve::limits::fair::WatchSlot;
use crate::serve::limits::memory::CountedBytes;
use crate::serve::read::list::find;
use crate::serve::read::selection::Selection;
use crate::serve::shared::Target;
use crate::serve::transform::table::TableOptions;
use crate::status::ApiError;
use crate::store::{Batch, Stored, Watch, WatchEnd, WatchError};

mod event;

use event::Encoder;

/// Interval between two bookmarks.
const BOOKMARK_EVERY: Duration = Duration::from_mins(1);
/// Time between the last bookmark and the end of the watch.
const LAST_BOOKMARK: Duration = Duration::from_secs(2);
/// Minimum lifetime, in seconds, of a watch whose request has no timeout. The server adds a random
/// time of at most the same length.
const MIN_LIFETIME_SECS: u64 = 1800;
/// Maximum lifetime of a watch.
const MAX_LIFETIME: Duration = Duration::from_hours(24);
/// Target size of a chunk of several lines, in bytes.
const CHUNK_BYTES: usize = 64 * 1024;

/// Responds to a watch request for a collection.
pub(crate) async fn watch(
    exchange: &Arc<Exchange>,
    target: &Target,
    options: &ListOptions,
    slot: WatchSlot,
) -> Result<Response, ApiError> {
    let shape = accepted_stream(&exchange.headers)?;
    let table = match shape {
        Representation::Table(_) => TableOptions::of(&exchange.query)?,
        _ => TableOptions::Metadata,
    };
    let selection = Selection::of(target, options)?;
    let from = start_version(options)?;
    let encoder = Encoder::new(target.clone(), selection, shape, table);
    let now = Instant::now();
    let deadline = now + lifetime(options);
    let mut watching = Watching {
        held: exchange.shared.watching.hold(&exchange.caller.name, 0)?,
        first_bytes: 0,
        exchange: Arc::clone(exchange),
        bookmarks: options.bookmarks,
        source: None,
        waiting: VecDeque::new(),
        next_bookmark: Instant::now() + BOOKMARK_EVERY,
        // A watch that is shorter has no last bookmark.
        last_bookmark: deadline.checked_sub(LAST_BOOKMARK).filter(|at| *at > now),
        deadline,
        seen: 0,
        over: false,
        interruptions: FuturesUnordered::new(),
        sent: encoder.event_counter(&exchange.shared.metrics),
        encoder,
        _seat: slot,
    };
    let definitions = (target.resource.origin == Origin::Custom)
        .then(|| exchange.shared.catalog_changed.subscribe());
    watching.wait_for_interruption(definitions);
    // Later errors are sent within the stream, as in kube-apiserver.
    match watching.begin(options, from).await {
        Ok(()) => {}
        // Clients respect `Retry-After` only before the stream starts.
        Err(error) if error.code == StatusCode::TOO_MANY_REQUESTS => return Err(error),
        Err(error) => watching.fail(&error),
    }
    exchange.audit(Stage::Started(StatusCode::OK));
    let lines = futures::stream::unfold(Box::new(watching), |mut watching| async move {
        let lines = watching.next().await?;
        Some((Ok::<_, std::convert::Infallible>(lines), watching))
    });
    let mut response = Response::new(Body::from_stream(lines));
    response
        .headers_mut()
        .insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
    Ok(response)
}

fn start_version(options: &ListOptions) -> Result<u64, ApiError> {
    parse_resource_version(&options.resource_version)
        .map_err(|reason| ApiError::new(StatusCode::INTERNAL_SERVER_ERROR, "", reason))
}

fn lifetime(options: &ListOptions) -> Duration {
    let requested = options
        .timeout
        .and_then(|seconds| u64::try_from(seconds).ok());
    match requested {
        Some(seconds) if seconds > 0 => Duration::from_secs(seconds).min(MAX_LIFETIME),
        _ => {
            // The timeout is random, so that watches that started together do not restart together.
            let random = u64::from(uuid::Uuid::new_v4().as_fields().0);
            Duration::from_secs(MIN_LIFETIME_SECS + random % MIN_LIFETIME_SECS)
        }
    }
}

/// A running watch.
struct Watching {
    exchange: Arc<Exchange>,
    encoder: Encoder,
    bookmarks: bool,
    source: Option<Watch>,
    /// The initial objects that are not sent yet.
    waiting: VecDeque<Initial>,
    /// Total size of the objects in `waiting`, in bytes.
    first_bytes: usize,
    /// The bytes that count toward the caller's memory limit: `first_bytes`, and the last sent
    /// lines.
    held: CountedBytes,
    next_bookmark: Instant,
    last_bookmark: Option<Instant>,
    deadline: Instant,
    /// The watch skips the events up to this revision. The client already has the state at this
    /// revision.
    seen: u64,
    over: bool,
    /// Contains one future. The set polls the future only after one of its wake-ups, so that events
    /// do not register timers and shared notifications again.
    interruptions: FuturesUnordered<BoxFuture<'static, Interruption>>,
    /// Counts the sent events.
    sent: Counter,
    _seat: WatchSlot,
}

/// The reason why a watch stops waiting for events.
enum Interruption {
    /// The server shuts down, or the lifetime of the watch has ended.
    End,
    /// A bookmark is due.
    Bookmark(Definitions),
    /// A CRD has changed.
    Definitions(Definitions),
}

/// Notifies a watch of changed CRDs. `None` for built-in kinds.
type Definitions = Option<Receiver<()>>;

async fn interruption(
    shutdown: CancellationToken,
    deadline: Instant,
    bookmark: Option<Instant>,
    mut definitions: Definitions,
) -> Interruption {
    tokio::select! {
        biased;
        () = shutdown.cancelled() => Interruption::End,
        // Before the deadline, so that a delayed watch also sends its last bookmark.
        () = sleep_until(bookmark.unwrap_or(deadline)), if bookmark.is_some() => {
            Interruption::Bookmark(definitions)
        }
        () = sleep_until(deadline) => Interruption::End,
        () = changed(&mut definitions) => Interruption::Definitions(definitions),
    }
}

enum Initial {
    Object(Stored),
    /// The bookmark after the initial objects, at the revision of the list.
    End(u64),
    Line(Bytes),
}

impl Watching {
    async fn begin(&mut self, options: &ListOptions, from: u64) -> Result<(), ApiError> {
        let store = self.exchange.shared.store.clone();
        let prefix = self.encoder.prefix();
        let current = store.revision();
        if options.send_initial_events {
            if from > current {
                return Err(ApiError::too_large_resource_version(from, current));
            }
            let latest = ListOptions {
                version_match: Some(VersionMatch::NotOlderThan),
                ..ListOptions::default()
            };
            // The watch fails before any read if the limit is already reached.
            self.held.resize(1)?;
            let found = find(&self.exchange, self.encoder.selection(), &latest).await?;
            self.first_bytes = found.items.iter().map(Stored::weight).sum();
            self.held.resize(self.first_bytes)?;
            // The database may contain a change that the feed has not delivered yet.
            self.seen = found.revision;
            self.source = Some(open(&store, prefix, found.revision.min(current))?);
            self.waiting = found.items.into_iter().map(Initial::Object).collect();
            if self.bookmarks {
                self.waiting.push_back(Initial::End(found.revision));
            }
            return Ok(());
        }
        let start = if from == 0 { current } else { from };
        self.seen = start;
        self.source = Some(open(&store, prefix, start.min(current))?);
        Ok(())
    }

    /// Returns the next lines, or `None` at the end of the watch.
    async fn next(&mut self) -> Option<Bytes> {
        loop {
            if !self.waiting.is_empty() {
                return Some(self.initial());
            }
            if self.over {
                return None;
            }
            // The connection has sent the previous lines.
            self.held.settle(0);
            let lines = self.changes().await;
            if lines.is_empty() {
                continue;
            }
            match self.held.resize(lines.len()) {
                Ok(()) => return Some(lines),
                Err(error) => self.fail(&error),
            }
        }
    }

    fn initial(&mut self) -> Bytes {
        let mut out = Vec::new();
        while out.len() < CHUNK_BYTES
            && let Some(next) = self.waiting.pop_front()
        {
            match next {
                Initial::Object(stored) => {
                    self.first_bytes = self.first_bytes.saturating_sub(stored.weight());
                    self.encoder.added(&mut out, &stored);
                }
                Initial::End(revision) => self.encoder.bookmark(&mut out, revision, true),
                Initial::Line(line) => out.extend_from_slice(&line),
            }
        }
        self.held.settle(self.first_bytes + out.len());
        out.into()
    }

    /// Waits for changes, and returns their lines. The result can be empty.
    async fn changes(&mut self) -> Bytes {
        let Some(source) = &mut self.source else {
            self.over = true;
            return Bytes::new();
        };
        tokio::select! {
            biased;
            Some(interruption) = self.interruptions.next() => self.interrupt(interruption),
            batch = source.changes() => match batch {
                Ok(batch) => self.lines(&batch),
                Err(end) => {
                    let error = ended(&end, source.revision());
                    self.fail(&error);
                    Bytes::new()
                }
            },
        }
    }

    fn interrupt(&mut self, interruption: Interruption) -> Bytes {
        match interruption {
            Interruption::End => {
                self.over = true;
                Bytes::new()
            }
            Interruption::Bookmark(definitions) => {
                let lines = self.bookmark();
                self.wait_for_interruption(definitions);
                lines
            }
            Interruption::Definitions(definitions) => {
                self.over = !is_served(&self.exchange, self.encoder.target());
                self.wait_for_interruption(definitions);
                Bytes::new()
            }
        }
    }

    fn wait_for_interruption(&mut self, definitions: Definitions) {
        let last = self.last_bookmark.unwrap_or(self.deadline);
        let bookmark = self.bookmarks.then(|| self.next_bookmark.min(last));
        let bookmark = bookmark.filter(|at| *at < self.deadline);
        let shutdown = self.exchange.shared.shutdown.clone();
        let next = interruption(shutdown, self.deadline, bookmark, definitions);
        self.interruptions.push(Box::pin(next));
    }

    fn bookmark(&mut self) -> Bytes {
        let now = Instant::now();
        if self.last_bookmark.is_some_and(|last| last <= now) {
            self.last_bookmark = None;
        }
        self.next_bookmark = now + BOOKMARK_EVERY;
        let Some(source) = &mut self.source else {
            return Bytes::new();
        };
        let batch = source.progress();
        let revision = source.revision().max(self.seen);
        let lines = batch.map(|batch| self.lines(&batch)).unwrap_or_default();
        let mut out = Vec::from(lines);
        self.encoder.bookmark(&mut out, revision, false);
        out.into()
    }

    fn lines(&mut self, batch: &Batch) -> Bytes {
        if let Some(shared) = self.encoder.shared(batch, self.seen) {
            self.sent.inc_by(batch.events.len() as u64);
            return shared;
        }
        let mut out = Vec::new();
        let mut sent = 0;
        for notice in batch.events.iter() {
            if notice.revision() > self.seen && self.encoder.change(&mut out, notice) {
                sent += 1;
            }
        }
        self.sent.inc_by(sent);
        out.into()
    }

    /// Sends an error event and ends the watch.
    fn fail(&mut self, error: &ApiError) {
        self.over = true;
        self.waiting.push_back(Initial::Line(event::error(error)));
    }
}

impl Drop for Watching {
    fn drop(&mut self) {
        self.exchange.audit(Stage::Complete(StatusCode::OK));
    }
}

/// Waits for changed CRDs. Never returns for kinds without CRD.
async fn changed(definitions: &mut Definitions) {
    if let Some(definitions) = definitions
        && definitions.changed().await.is_ok()
    {
        return;
    }
    std::future::pending::<()>().await;
}

/// Reports whether the server still serves the kind with the same schema. After a change, clients
/// must restart the watch.
fn is_served(exchange: &Exchange, target: &Target) -> bool {
    let resource = &target.resource;
    let (group, version) = (
        &resource.group_version.group,
        &resource.group_version.version,
    );
    let catalog = exchange.shared.catalog.load();
    let now = catalog.find(group, version, &resource.plural);
    now.is_some_and(|now| Arc::ptr_eq(now, resource))
}

fn open(store: &crate::store::Store, prefix: &str, from: u64) -> Result<Watch, ApiError> {
    store.watch(prefix, from).map_err(|error| match error {
        WatchError::Compacted { floor } => {
            ApiError::expired(format!("too old resource version: {from} ({floor})"))
        }
        WatchError::Future { current } => ApiError::too_large_resource_version(from, current),
        WatchError::Closed => ApiError::unavailable("the server is shutting down"),
    })
}

fn ended(end: &WatchEnd, requested: u64) -> ApiError {
    match end {
        WatchEnd::Lagged => ApiError::expired(format!(
            "too old resource version: {requested} (the watch was too slow)"
        )),
        WatchEnd::Compacted { floor } => {
            ApiError::expired(format!("too old resource version: {requested} ({floor})"))
        }
        WatchEnd::Closed => ApiError::unavailable("the server is shutting down"),
        WatchEnd::Store(error) => ApiError::internal(error),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn bookmark_precedes_the_end_of_a_delayed_watch() {
        let now = Instant::now();
        let (shutdown, past) = (CancellationToken::new(), now - LAST_BOOKMARK);
        let next = interruption(shutdown.clone(), now, Some(past), None).await;
        assert!(matches!(next, Interruption::Bookmark(None)));
        let next = interruption(shutdown, now, None, None).await;
        assert!(matches!(next, Interruption::End));
    }
}
