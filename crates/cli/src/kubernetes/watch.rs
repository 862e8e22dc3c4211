//! Watches of objects that continue after errors.

use std::time::Duration;

use drover_entropy::backoff::Backoff;
use serde_json::Value;
use tokio::sync::mpsc;
use tokio::time::sleep;

use super::api::ClusterApi;
use super::lines::Lines;
use super::objects::{Query, list_pages};
use crate::client::{CallError, Refusal};

/// Time after which the server ends a watch.
const WATCH_SECONDS: u32 = 240;
/// Maximum time between two chunks of a watch, longer than the watch itself.
const IDLE: Duration = Duration::from_secs(WATCH_SECONDS as u64 + 30);
/// Maximum length of an event, in bytes.
const MAX_EVENT_BYTES: usize = 16 * 1024 * 1024;
/// The first and the longest delay after errors.
const DELAYS: (Duration, Duration) = (Duration::from_secs(1), Duration::from_secs(30));

/// A kind of change of an object.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum EventKind {
    /// The object exists at the start of the watch, or is new.
    Added,
    /// The object was changed.
    Modified,
    /// The object was deleted.
    Deleted,
}

/// A message of a watch.
#[derive(Debug)]
pub(crate) enum Event {
    /// A page of the list of all objects, at the start and after a gap in the watch.
    Page(Value),
    /// A change of an object.
    Change(EventKind, Value),
    /// The connection failed. The watch tries again.
    Lost(CallError),
    /// The watch continues after a failure.
    Resumed,
    /// The watch ended with an error that a retry does not correct.
    Failed(CallError),
}

/// The error of one connection of a watch.
#[derive(Debug, thiserror::Error)]
pub(crate) enum WatchError {
    /// The server no longer has the changes since the resource version. The list is necessary again.
    #[error("the resource version of the watch expired")]
    Expired,
    /// The request failed.
    #[error(transparent)]
    Call(#[from] CallError),
    /// The receiver of the events was dropped.
    #[error("the events of the watch are no longer read")]
    Unread,
}

/// A watch of the objects in a list.
#[derive(Clone, Debug)]
pub(crate) struct Watch {
    /// The API of the cluster.
    pub(crate) api: ClusterApi,
    /// Path of the list.
    pub(crate) path: Vec<String>,
    /// The objects in the list.
    pub(crate) query: Query,
    /// The header `Accept`.
    pub(crate) accept: &'static str,
}

impl Watch {
    /// Sends the list and all changes until the receiver is dropped, or a request fails with an
    /// error that a retry does not correct. The watch continues after timeouts, lost connections
    /// and expired resource versions.
    pub(crate) async fn run(&self, events: mpsc::Sender<Event>) {
        let mut connection = Connection {
            watch: self,
            events,
            version: None,
            lost: false,
        };
        let mut backoff = Backoff::new(DELAYS.0, DELAYS.1);
        loop {
            match connection.run(&mut backoff).await {
                Ok(()) => {}
                Err(WatchError::Unread) => return,
                Err(WatchError::Expired) => connection.version = None,
                Err(WatchError::Call(error)) if error.is_transient() => {
                    if !connection.lost {
                        connection.lost = true;
                        let lost = connection.events.send(Event::Lost(error));
                        if lost.await.is_err() {
                            return;
                        }
                    }
                }
                Err(WatchError::Call(error)) => {
                    let _unread = connection.events.send(Event::Failed(error)).await;
                    return;
                }
            }
            // Also after a normal end: a server that ends each watch at once must not be flooded.
            sleep(backoff.next_delay()).await;
        }
    }
}

struct Connection<'a> {
    watch: &'a Watch,
    events: mpsc::Sender<Event>,
    /// The newest resource version. `None` before the first list, and after it expired.
    version: Option<String>,
    lost: bool,
}

impl Connection<'_> {
    /// Runs one connection until its end.
    async fn run(&mut self, backoff: &mut Backoff) -> Result<(), WatchError> {
        let version = match &self.version {
            Some(version) => version.clone(),
            None => self.list().await?,
        };
        let mut parameters = self.watch.query.parameters();
        parameters.extend([
            ("watch", "true".to_owned()),
            ("allowWatchBookmarks", "true".to_owned()),
            ("timeoutSeconds", WATCH_SECONDS.to_string()),
            ("resourceVersion", version),
        ]);
        let Watch {
            api, path, accept, ..
        } = self.watch;
        let opened = api.open(path, &parameters, accept, Some(IDLE)).await;
        let stream = opened.map_err(expired_or_call)?;
        self.resumed().await?;
        let mut lines = Lines::new(stream, MAX_EVENT_BYTES);
        while let Some(line) = lines.next().await? {
            self.receive(&line.bytes).await?;
            backoff.reset();
        }
        Ok(())
    }

    /// Sends all pages of the list, and returns the resource version.
    async fn list(&mut self) -> Result<String, WatchError> {
        let Watch {
            api,
            path,
            query,
            accept,
        } = self.watch;
        let mut pages = list_pages(api, path, query, accept);
        let mut version = String::new();
        while let Some(page) = pages.next().await.map_err(expired_or_call)? {
            if let Some(newer) = page["metadata"]["resourceVersion"].as_str() {
                newer.clone_into(&mut version);
            }
            self.send(Event::Page(page)).await?;
        }
        self.version = Some(version.clone());
        Ok(version)
    }

    async fn receive(&mut self, line: &[u8]) -> Result<(), WatchError> {
        let Ok(mut event) = serde_json::from_slice::<Value>(line) else {
            // A line without an event: the connection was interrupted within an event.
            return Ok(());
        };
        let mut object = event["object"].take();
        let kind = match event["type"].as_str() {
            Some("ADDED") => EventKind::Added,
            Some("MODIFIED") => EventKind::Modified,
            Some("DELETED") => EventKind::Deleted,
            Some("ERROR") => return Err(error_of(&object)),
            _ => {
                self.remember(&object);
                return Ok(());
            }
        };
        self.remember(&object);
        self.send(Event::Change(kind, object.take())).await
    }

    fn remember(&mut self, object: &Value) {
        // The metadata of a table in an event has no version, but the metadata of its row has one.
        let version = |value: &Value| {
            let version = value["metadata"]["resourceVersion"].as_str();
            version.filter(|v| !v.is_empty()).map(str::to_owned)
        };
        let newest = version(&object["rows"][0]["object"]).or_else(|| version(object));
        if newest.is_some() {
            self.version = newest;
        }
    }

    async fn resumed(&mut self) -> Result<(), WatchError> {
        if !self.lost {
            return Ok(());
        }
        self.lost = false;
        self.send(Event::Resumed).await
    }

    async fn send(&self, event: Event) -> Result<(), WatchError> {
        let sent = self.events.send(event).await;
        sent.map_err(|_| WatchError::Unread)
    }
}

fn expired_or_call(error: CallError) -> WatchError {
    match error.refusal() {
        Some(refusal) if refusal.code == 410 => WatchError::Expired,
        _ => WatchError::Call(error),
    }
}

/// Returns the error of an `ERROR` event, whose object is a `metav1.Status`.
fn error_of(status: &Value) -> WatchError {
    let code = status["code"].as_u64().and_then(|c| u16::try_from(c).ok());
    let text = |field: &str| status[field].as_str().unwrap_or_default().to_owned();
    expired_or_call(CallError::Refused(Refusal {
        code: code.unwrap_or(500),
        reason: text("reason"),
        message: text("message"),
        advice: None,
    }))
}
