//! Lists and watches the objects of a source until the source ends.

use std::collections::HashSet;
use std::sync::Arc;
use std::time::Duration;

use drover_access::permit::Target;
use drover_api::rest::HistoryKind;
use drover_history::{HistoryStore, kind_of_list};
use drover_rows::Include;
use drover_rows::protocol::{ListProblem, SourceState};
use drover_rows::table::{TableEvent, TablePage, TableReader};
use futures::StreamExt as _;
use jiff::Timestamp;
use tokio::time::Instant;

use crate::clusters::{Format, problem};
use crate::lines::Lines;
use crate::requests::{Interruption, Requests, slow};
use crate::source::Source;

/// Size of the first page. A small page shows the first rows early.
const FIRST_PAGE: u32 = 200;
/// Size of the other pages.
const PAGE: u32 = 500;
/// Size of the pages of a list whose objects are too large for larger pages.
const SMALL_PAGE: u32 = 25;
/// Maximum size of a page in bytes.
const MAX_PAGE: usize = 16 << 20;
/// Maximum number of pages. A list with more pages does not end.
const MAX_PAGES: usize = 4_000;
/// Maximum size of the objects of a list that the server reads for the history, in bytes. The other
/// pages of a large list contain only metadata, and the history of their objects begins with the first
/// change.
const MAX_OBJECTS: usize = 16 << 20;
/// Duration of a watch, after which the API server ends it.
const WATCH_SECONDS: u64 = 290;
/// Time without data after which a watch is lost. API servers send a bookmark every minute.
const SILENCE: Duration = Duration::from_secs(150);
/// Duration of a watch below which the next request waits, so that a cluster cannot cause requests
/// without end.
const SHORT_WATCH: Duration = Duration::from_secs(5);
/// Delays before a retry.
const FIRST_WAIT: Duration = Duration::from_secs(1);
const LONGEST_WAIT: Duration = Duration::from_secs(30);
/// Time before a retry of a refused list. A retry can help after a change of roles.
const REFUSED_WAIT: Duration = Duration::from_secs(20);
/// Time before the first retries of a list of a kind that the cluster does not serve. The list of a
/// new page appears within five seconds after the installation of a custom resource.
const ABSENT_WAIT: Duration = Duration::from_secs(3);

/// Lists and watches the objects of a source. The caller cancels the task when the source ends.
pub(crate) async fn run(requests: Requests) {
    let reader = TableReader::new(requests.source.key.include);
    let mut reflector = Reflector {
        source: Arc::clone(&requests.source),
        recorder: Recorder::of(&requests),
        requests,
        reader,
        version: None,
    };
    let mut wait = FIRST_WAIT;
    loop {
        let source = Arc::clone(&reflector.source);
        let (began, listed) = (Instant::now(), reflector.version.is_none());
        let pause = match reflector.advance().await {
            Ok(()) if listed || began.elapsed() >= SHORT_WATCH => {
                wait = FIRST_WAIT;
                continue;
            }
            Ok(()) => wait,
            Err(Interruption::Expired) => {
                reflector.version = None;
                wait
            }
            Err(Interruption::NoPage) => {
                source.retry.notified().await;
                continue;
            }
            Err(Interruption::Problem(problem)) => reflector.fail(problem, wait),
        };
        wait = (wait * 2).min(LONGEST_WAIT);
        // A new page can have a credential with which the request succeeds.
        let retry = source.retry.notified();
        let _ = tokio::time::timeout(pause, retry).await;
    }
}

struct Reflector {
    source: Arc<Source>,
    requests: Requests,
    reader: TableReader,
    recorder: Option<Recorder>,
    /// The resource version at which the next watch begins; `None` before a list.
    version: Option<String>,
}

impl Reflector {
    /// Lists all objects, or watches until the watch ends.
    async fn advance(&mut self) -> Result<(), Interruption> {
        match self.version.clone() {
            None => self.list().await,
            Some(version) => self.watch(&version).await,
        }
    }

    /// Reports a problem to the pages. Returns the delay before the next request.
    fn fail(&mut self, problem: ListProblem, wait: Duration) -> Duration {
        match problem.code {
            // The rows of a refused list must not stay visible.
            403 | 404 => {
                self.version = None;
                let is_absent = problem.code == 404;
                self.source.refuse(problem);
                if is_absent {
                    ABSENT_WAIT.max(wait)
                } else {
                    REFUSED_WAIT
                }
            }
            code => {
                self.source.set_problem(problem, Timestamp::now());
                if code == 401 { REFUSED_WAIT } else { wait }
            }
        }
    }

    async fn list(&mut self) -> Result<(), Interruption> {
        let (mut next, mut listed) = (None::<String>, HashSet::new());
        let (mut largest, mut objects) = (PAGE, self.recorder.as_ref().map(|_| MAX_OBJECTS));
        self.source.begin_list();
        for _ in 0..MAX_PAGES {
            let page = match self.page(next.as_deref(), largest, &mut objects).await {
                Err(interruption) if interruption.is_too_large() && objects.is_some() => {
                    objects = None;
                    continue;
                }
                Err(interruption) if interruption.is_too_large() && largest > SMALL_PAGE => {
                    largest = SMALL_PAGE;
                    continue;
                }
                page => page?,
            };
            let columns = Arc::clone(self.reader.columns());
            let stored = self.source.add_page(&columns, page.rows, Timestamp::now());
            listed.extend(stored);
            next = page.next;
            if next.is_none() {
                self.source.keep(&listed);
                self.source.set_state(SourceState::Live);
                let unversioned = || problem(0, "BadResponse", "the list has no resourceVersion");
                self.version = Some(page.version.ok_or_else(unversioned)?);
                return Ok(());
            }
            let listed = listed.len() as u64;
            let expected = page
                .remaining
                .map(|remaining| remaining.saturating_add(listed));
            self.source.set_progress(expected);
        }
        Err(problem(0, "BadResponse", "the list of the cluster does not end").into())
    }

    /// Reads a page with at most `largest` rows. `objects` is the remaining size of objects for the
    /// history; `None` reads no more objects for the history.
    async fn page(
        &mut self,
        next: Option<&str>,
        largest: u32,
        objects: &mut Option<usize>,
    ) -> Result<TablePage, Interruption> {
        let include = match (&self.recorder, &objects) {
            (Some(_), None) => Include::Metadata,
            _ => self.reader.include(),
        };
        let (key, value) = include.parameter();
        let extra = format!("&{key}={value}");
        let query = match next {
            None => format!("limit={}{extra}", FIRST_PAGE.min(largest)),
            Some(token) => format!("limit={largest}{extra}&continue={}", encoded(token)),
        };
        let path = format!("{}?{query}", self.source.key.path);
        let body = self.requests.read(&path, Format::Table, MAX_PAGE).await?;
        *objects = objects.and_then(|left| left.checked_sub(body.len()));
        let recorder = self.recorder.clone();
        let Some(recorder) = recorder.filter(|_| include == Include::Objects) else {
            return Ok(self.reader.page(&body)?);
        };
        let mut found = Vec::new();
        let visit = |object: &str| found.push(object.to_owned());
        let page = self.reader.page_with(&body, visit)?;
        // Many objects would delay other tasks. The task fails only if the server stops.
        let recording = move || found.iter().for_each(|object| recorder.put(object));
        let _ = tokio::task::spawn_blocking(recording).await;
        Ok(page)
    }

    async fn watch(&mut self, version: &str) -> Result<(), Interruption> {
        let (key, value) = self.reader.include().parameter();
        let query = format!(
            "watch=true&allowWatchBookmarks=true&timeoutSeconds={WATCH_SECONDS}&{key}={value}\
             &resourceVersion={}",
            encoded(version)
        );
        let path = format!("{}?{query}", self.source.key.path);
        let body = self.requests.open(&path, Format::Table).await?;
        let mut stream = body.into_data_stream();
        self.source.set_state(SourceState::Live);
        let mut lines = Lines::default();
        loop {
            let chunk = tokio::time::timeout(SILENCE, stream.next()).await;
            // An interrupted watch continues with the credential of another page, for example after
            // the session of the first page has ended. A failed request reports the problem.
            let Some(Ok(chunk)) = chunk.map_err(|_| slow())? else {
                return Ok(());
            };
            lines.push(&chunk);
            let mut changed = false;
            while let Some(line) = lines.next()? {
                changed |= self.take(&line).await?;
            }
            if changed {
                self.source.tell();
            }
        }
    }

    /// Processes a line of the watch. Returns true if rows changed.
    async fn take(&mut self, line: &[u8]) -> Result<bool, Interruption> {
        let recorder = self.recorder.as_ref();
        let mut large = None;
        let event = self.reader.event_with(line, |event, object| {
            let is_deletion = event == "DELETED";
            match recorder {
                Some(recorder) if HistoryStore::blocks(object) => {
                    large = Some((recorder.clone(), is_deletion, object.to_owned()));
                }
                Some(recorder) => recorder.record(is_deletion, object),
                None => {}
            }
        })?;
        if let Some((recorder, is_deletion, object)) = large {
            // A large object would delay other tasks. The task fails only if the server stops.
            let recording = move || recorder.record(is_deletion, &object);
            let _ = tokio::task::spawn_blocking(recording).await;
        }
        let (version, changed) = match event {
            TableEvent::Put(key, content, version) => {
                let columns = Arc::clone(self.reader.columns());
                self.source.put(&columns, key, content, Timestamp::now());
                (version, true)
            }
            TableEvent::Deleted(key, version) => {
                self.source.delete(&key);
                (version, true)
            }
            TableEvent::Bookmark(_) if self.source.dropped_rows_fit() => {
                return Err(Interruption::Expired);
            }
            TableEvent::Bookmark(version) => (version, false),
            TableEvent::Failed(code, message) => return Err(problem(code, "", message).into()),
        };
        if version.is_some() {
            self.version = version;
        }
        Ok(changed)
    }
}

/// Passes the objects of a source to the history.
#[derive(Clone)]
struct Recorder {
    history: HistoryStore,
    cluster: Target,
    kind: &'static HistoryKind,
}

impl Recorder {
    /// Returns the recorder of a source. Returns `None` for kinds without a history.
    fn of(requests: &Requests) -> Option<Self> {
        let key = &requests.source.key;
        let kind = kind_of_list(&key.path).filter(|_| key.include == Include::Objects)?;
        Some(Self {
            history: requests.history.clone(),
            cluster: key.identity.target().clone(),
            kind,
        })
    }

    fn record(&self, is_deletion: bool, object: &str) {
        if is_deletion {
            self.delete(object);
        } else {
            self.put(object);
        }
    }

    fn put(&self, object: &str) {
        let now = Timestamp::now();
        self.history.observe(&self.cluster, self.kind, object, now);
    }

    fn delete(&self, object: &str) {
        let now = Timestamp::now();
        self.history
            .observe_deleted(&self.cluster, self.kind, object, now);
    }
}

/// Encodes a value of a query parameter.
fn encoded(text: &str) -> String {
    url::form_urlencoded::byte_serialize(text.as_bytes()).collect()
}
