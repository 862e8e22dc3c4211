//! The WebSocket of a page.

use std::sync::Arc;
use std::time::Duration;

use drover_http_edge::websocket::WebSocket;
use drover_rows::names::is_path_part;
use drover_rows::protocol::{
    ClientMessage, HEARTBEAT_SECONDS, ListProblem, ListSpec, MAX_WINDOW, ServerMessage, ViewSpec,
};
use futures::{SinkExt as _, StreamExt as _};
use tokio::sync::Notify;
use tokio::time::{Instant, MissedTickBehavior, interval, sleep_until, timeout};
use tokio_tungstenite::tungstenite::{Error, Message};
use tokio_util::sync::CancellationToken;

use crate::clusters::{Credential, problem};
use crate::page_access::PageAccess;
use crate::pool::Pool;
use crate::subscription::{OutOfMemory, Subscription};

/// Minimum time between two updates because of changes in clusters. Changes of the page's view are
/// answered immediately.
const TICK: Duration = Duration::from_millis(150);
/// Interval of the checks of the page's access. Access ends within five seconds.
const CHECK: Duration = Duration::from_secs(2);
/// Time limit to send a message.
const SEND_TIMEOUT: Duration = Duration::from_secs(10);
/// Maximum number of lists of a page.
const MAX_LISTS: usize = 32;
/// Maximum number of sources of all lists of a page.
const MAX_SOURCES: usize = 4_000;
/// Maximum length of a filter in bytes.
const MAX_FILTER: usize = 4096;

/// The reason why the WebSocket of a page ends.
enum End {
    /// The page closed its WebSocket, or its connection is lost.
    Gone,
    /// The server ends the WebSocket.
    Ended(ListProblem),
}

impl From<Error> for End {
    fn from(_: Error) -> Self {
        Self::Gone
    }
}

/// Serves the WebSocket of a page until its end.
pub(crate) async fn serve(
    pool: Pool,
    credential: Arc<Credential>,
    stop: CancellationToken,
    socket: WebSocket,
) {
    let mut session = Session {
        pool,
        credential,
        socket,
        lists: Vec::new(),
        changed: Arc::new(Notify::new()),
        sent_at: Instant::now(),
        checked_at: Instant::now(),
    };
    let end = stop.run_until_cancelled(session.run()).await;
    let problem = match end {
        Some(End::Gone) => return,
        Some(End::Ended(problem)) => problem,
        None => problem(503, "ServerStops", "the server stops; the page reconnects"),
    };
    // The page can be gone.
    let _ = session.send(&ServerMessage::Ended(problem)).await;
    let _ = timeout(SEND_TIMEOUT, session.socket.close(None)).await;
}

struct Session {
    pool: Pool,
    credential: Arc<Credential>,
    socket: WebSocket,
    lists: Vec<Subscription>,
    changed: Arc<Notify>,
    /// The time of the last update of all lists.
    sent_at: Instant,
    /// The time of the last check of the page's access to all clusters.
    checked_at: Instant,
}

impl Session {
    async fn run(&mut self) -> End {
        let mut check = interval(CHECK);
        check.set_missed_tick_behavior(MissedTickBehavior::Delay);
        let mut heartbeat = interval(Duration::from_secs(HEARTBEAT_SECONDS));
        let mut due: Option<Instant> = None;
        let changed = Arc::clone(&self.changed);
        loop {
            let step = tokio::select! {
                message = self.socket.next() => self.receive(message).await,
                () = changed.notified(), if due.is_none() => {
                    due = Some(self.sent_at + TICK);
                    Ok(())
                }
                () = sleep_until(due.unwrap_or(self.sent_at)), if due.is_some() => {
                    due = None;
                    self.update_all().await
                }
                _ = check.tick() => self.check_all().await,
                _ = heartbeat.tick() => self.send(&ServerMessage::Alive).await,
            };
            if let Err(end) = step {
                return end;
            }
        }
    }

    async fn receive(&mut self, message: Option<Result<Message, Error>>) -> Result<(), End> {
        let text = match message.ok_or(End::Gone)?? {
            Message::Text(text) => text,
            Message::Close(_) => return Err(End::Gone),
            Message::Ping(_) | Message::Pong(_) => return Ok(()),
            Message::Binary(_) | Message::Frame(_) => {
                return Err(End::Ended(problem(
                    400,
                    "BadRequest",
                    "messages must be texts",
                )));
            }
        };
        let message = serde_json::from_str(&text).map_err(|error| {
            let message = format!("cannot read the message: {error}; reload the page");
            End::Ended(problem(400, "BadRequest", message))
        })?;
        match message {
            ClientMessage::Subscribe { id, list, view } => self.subscribe(id, list, view).await,
            ClientMessage::View { id, view } => {
                let Some(at) = self.find(id) else {
                    return Ok(());
                };
                if let Err(message) = check_view(&view) {
                    return self.send(&ServerMessage::Refused { id, message }).await;
                }
                self.lists[at].set_view(view);
                self.update(at).await
            }
            ClientMessage::Unsubscribe { id } => {
                self.lists.retain(|list| list.id() != id);
                Ok(())
            }
        }
    }

    fn find(&self, id: u32) -> Option<usize> {
        self.lists.iter().position(|list| list.id() == id)
    }

    async fn subscribe(&mut self, id: u32, list: ListSpec, view: ViewSpec) -> Result<(), End> {
        self.lists.retain(|list| list.id() != id);
        let validated = check_list(&list).and_then(|()| check_view(&view));
        let subscription = match validated {
            Ok(()) => Subscription::new(id, list, view, self.pool.reservation()),
            Err(message) => return self.refuse(id, message).await,
        };
        let sources: usize = self.lists.iter().map(Subscription::sources).sum();
        if self.lists.len() >= MAX_LISTS || sources + subscription.sources() > MAX_SOURCES {
            let message = format!(
                "a page can show at most {MAX_LISTS} lists, and {MAX_SOURCES} clusters and \
                 namespaces in total: select fewer clusters or namespaces"
            );
            return self.refuse(id, message).await;
        }
        self.lists.push(subscription);
        let at = self.lists.len() - 1;
        let mut access = PageAccess::new(&self.pool, &self.credential, &self.changed);
        self.lists[at]
            .check(&mut access)
            .await
            .map_err(End::Ended)?;
        self.update(at).await
    }

    async fn refuse(&mut self, id: u32, message: String) -> Result<(), End> {
        self.lists.retain(|list| list.id() != id);
        self.send(&ServerMessage::Refused { id, message }).await
    }

    async fn check_all(&mut self) -> Result<(), End> {
        self.check_access().await?;
        self.update_all().await
    }

    async fn check_access(&mut self) -> Result<(), End> {
        let mut access = PageAccess::new(&self.pool, &self.credential, &self.changed);
        for list in &mut self.lists {
            list.check(&mut access).await.map_err(End::Ended)?;
        }
        self.checked_at = Instant::now();
        Ok(())
    }

    async fn update_all(&mut self) -> Result<(), End> {
        self.sent_at = Instant::now();
        for at in 0..self.lists.len() {
            self.update(at).await?;
        }
        Ok(())
    }

    /// Sends the changes of a list.
    async fn update(&mut self, at: usize) -> Result<(), End> {
        // A page that reads slowly delays the timer of the checks.
        if self.checked_at.elapsed() > CHECK {
            self.check_access().await?;
        }
        let current = self.lists.swap_remove(at);
        let (list, update) = current.update().await.ok_or(End::Gone)?;
        // The list returns to its place.
        self.lists.push(list);
        let end = self.lists.len() - 1;
        self.lists.swap(at, end);
        match update {
            Ok(Some(update)) => self.send(&ServerMessage::Update(Box::new(update))).await,
            Ok(None) => Ok(()),
            Err(OutOfMemory) => {
                let message = "the server has not enough memory for this list, and tries again: \
                               close other pages, or select fewer clusters or namespaces";
                let id = self.lists[at].id();
                self.send(&ServerMessage::Refused {
                    id,
                    message: message.to_owned(),
                })
                .await
            }
        }
    }

    async fn send(&mut self, message: &ServerMessage) -> Result<(), End> {
        let text = serde_json::to_string(message).expect("messages have only text keys");
        let sending = self.socket.send(Message::text(text));
        timeout(SEND_TIMEOUT, sending)
            .await
            .map_err(|_| End::Gone)??;
        Ok(())
    }
}

/// Checks the parts of API paths.
fn check_list(list: &ListSpec) -> Result<(), String> {
    let (group, version) = match list.api_version.split_once('/') {
        Some((group, version)) => (Some(group), version),
        None => (None, list.api_version.as_str()),
    };
    let parts = [("apiVersion", version), ("plural", list.plural.as_str())];
    let group = group.map(|group| ("apiVersion", group));
    let clusters = list.clusters.iter().map(|name| ("clusters", name.as_str()));
    let namespaces = list
        .namespaces
        .iter()
        .map(|name| ("namespaces", name.as_str()));
    let mut all = parts
        .into_iter()
        .chain(group)
        .chain(clusters)
        .chain(namespaces);
    match all.find(|(_, text)| !is_path_part(text)) {
        Some((field, text)) => Err(format!("{field}: {text:?} is not a valid Kubernetes name")),
        None if list.clusters.is_empty() => Err("clusters: select at least one cluster".to_owned()),
        None => Ok(()),
    }
}

fn check_view(view: &ViewSpec) -> Result<(), String> {
    if view.filter.len() > MAX_FILTER {
        return Err(format!("filter: use at most {MAX_FILTER} bytes"));
    }
    if view.count > MAX_WINDOW {
        return Err(format!("count: request at most {MAX_WINDOW} rows"));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn list_with_a_part_of_a_path_is_refused() {
        let list = |api_version: &str, plural: &str, cluster: &str, namespace: &str| ListSpec {
            api_version: api_version.to_owned(),
            plural: plural.to_owned(),
            clusters: vec![cluster.to_owned()],
            namespaces: vec![namespace.to_owned()],
        };
        for (spec, refused) in [
            (list("v1", "pods", "a", "shop"), None),
            (list("apps/v1", "deployments", "a.b", "shop"), None),
            (list("v1", "pods/web/exec", "a", "shop"), Some("plural")),
            (list("v1", "pods?watch=1", "a", "shop"), Some("plural")),
            (list("v1/../v2", "pods", "a", "shop"), Some("apiVersion")),
            (list("", "pods", "a", "shop"), Some("apiVersion")),
            (list("v1", "pods", "a/b", "shop"), Some("clusters")),
            (list("v1", "pods", "..", "shop"), Some("clusters")),
            (list("v1", "pods", "a", "%2e%2e"), Some("namespaces")),
            (list("v1", "pods", "a", ""), Some("namespaces")),
        ] {
            let error = check_list(&spec).err();
            let field = error.as_deref().and_then(|error| error.split(':').next());
            assert_eq!(field, refused, "{spec:?}");
        }
        let none = ListSpec {
            clusters: Vec::new(),
            ..list("v1", "pods", "a", "b")
        };
        assert!(check_list(&none).is_err());
    }

    #[test]
    fn window_above_the_limit_is_refused() {
        let view = |count| ViewSpec {
            count,
            ..ViewSpec::default()
        };
        assert!(check_view(&view(MAX_WINDOW)).is_ok());
        assert!(check_view(&view(MAX_WINDOW + 1)).is_err());
    }
}
