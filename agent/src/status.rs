//! How this replica is connected, told where people look: ConfigMap, Event, log, `/readyz`.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use jiff::Timestamp;
use k8s_openapi::api::core::v1::ObjectReference;
use kube::runtime::events::{Event, EventType, Recorder, Reporter};
use serde::{Deserialize, Serialize};
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;
use tracing::{debug, info, warn};

use crate::registration::{DEPLOYMENT, STATUS_CONFIG_MAP, Store};

/// Replicas whose word is kept; pods come and go under new names.
const MOST_REPLICAS: usize = 6;
/// Most time for an Event.
const EVENT_TIMEOUT: Duration = Duration::from_secs(5);
/// Most time for what is still to be written when the agent ends.
const LAST_WORD: Duration = Duration::from_secs(5);

/// What a replica says of itself.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Condition {
    /// Whether it holds a tunnel.
    pub connected: bool,
    /// PascalCase cause.
    pub reason: String,
    /// A sentence: what is so, and what to do.
    pub message: String,
    /// Since when it is so.
    pub since: Timestamp,
}

impl Condition {
    /// The state of a program that has just begun.
    pub fn starting() -> Self {
        Self {
            connected: false,
            reason: "Starting".to_owned(),
            message: "the agent has just started".to_owned(),
            since: Timestamp::now(),
        }
    }

    fn means(&self, other: &Self) -> bool {
        self.connected == other.connected
            && self.reason == other.reason
            && self.message == other.message
    }
}

/// Where the condition is told; clones share it.
#[derive(Clone)]
pub struct StatusBoard {
    inner: Arc<Inner>,
}

struct Inner {
    replica: String,
    store: Store,
    recorder: Recorder,
    deployment: ObjectReference,
    now: watch::Sender<Condition>,
}

impl std::fmt::Debug for StatusBoard {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("StatusBoard")
            .field("replica", &self.inner.replica)
            .finish_non_exhaustive()
    }
}

impl StatusBoard {
    /// The board of one replica.
    pub fn new(client: kube::Client, namespace: &str, replica: &str) -> Self {
        let reporter = Reporter {
            controller: DEPLOYMENT.to_owned(),
            instance: Some(replica.to_owned()),
        };
        let deployment = ObjectReference {
            api_version: Some("apps/v1".to_owned()),
            kind: Some("Deployment".to_owned()),
            name: Some(DEPLOYMENT.to_owned()),
            namespace: Some(namespace.to_owned()),
            ..Default::default()
        };
        Self {
            inner: Arc::new(Inner {
                replica: replica.to_owned(),
                store: Store::new(client.clone(), namespace),
                recorder: Recorder::new(client, reporter),
                deployment,
                now: watch::Sender::new(Condition::starting()),
            }),
        }
    }

    /// Follows what is told here.
    pub fn subscribe(&self) -> watch::Receiver<Condition> {
        self.inner.now.subscribe()
    }

    /// Tells what is so now; nothing happens unless it means something else than before.
    ///
    /// Waits for nobody: [`Self::keep_written`] writes it down.
    pub fn tell(&self, connected: bool, reason: &str, message: String) {
        let fresh = Condition {
            connected,
            reason: reason.to_owned(),
            message,
            since: Timestamp::now(),
        };
        let changed = self.inner.now.send_if_modified(|now| {
            let changed = !now.means(&fresh);
            if changed {
                now.clone_from(&fresh);
            }
            changed
        });
        if !changed {
            return;
        }
        if connected {
            info!(reason, "{}", fresh.message);
        } else {
            warn!(reason, "{}", fresh.message);
        }
    }

    /// Writes what is told from now on to the cluster's API, one after the other and beside
    /// everything else: an API server that hangs holds no tunnel up. What was told meanwhile is
    /// written as its latest only.
    ///
    /// Ends after `over`, with the last word written if that is possible in `LAST_WORD`.
    pub fn keep_written(&self, over: CancellationToken) -> impl Future<Output = ()> + use<> {
        let board = self.clone();
        let mut told = self.subscribe();
        async move {
            let late = async {
                over.cancelled().await;
                tokio::time::sleep(LAST_WORD).await;
            };
            let writing = async {
                while news(&mut told, &over).await {
                    let fresh = told.borrow_and_update().clone();
                    board.write_down(&fresh).await;
                }
            };
            tokio::select! {
                () = writing => {}
                () = late => debug!("the last condition is in the log only"),
            }
        }
    }

    /// Fails when the API server is what is missing; the log line is out by then.
    async fn write_down(&self, fresh: &Condition) {
        if let Err(error) = self.write(fresh).await {
            debug!(%error, "the condition is in the log only");
        }
        if tokio::time::timeout(EVENT_TIMEOUT, self.publish(fresh))
            .await
            .is_err()
        {
            debug!("the condition is in no event: the API server does not answer");
        }
    }

    async fn write(&self, fresh: &Condition) -> Result<(), crate::registration::StoreError> {
        let reading = "read ConfigMap drover-agent-status";
        let written = self.inner.store.config(reading, STATUS_CONFIG_MAP).await?;
        self.inner
            .store
            .write_status(&entries(&written, &self.inner.replica, fresh))
            .await
    }

    async fn publish(&self, fresh: &Condition) {
        let event = Event {
            type_: if fresh.connected {
                EventType::Normal
            } else {
                EventType::Warning
            },
            reason: fresh.reason.clone(),
            note: Some(fresh.message.chars().take(1000).collect()),
            action: "Connect".to_owned(),
            secondary: None,
        };
        if let Err(error) = self
            .inner
            .recorder
            .publish(&event, &self.inner.deployment)
            .await
        {
            debug!(%error, "the condition is in no event");
        }
    }
}

/// Waits for something to write; false once there is nothing and there will be nothing.
async fn news(told: &mut watch::Receiver<Condition>, over: &CancellationToken) -> bool {
    tokio::select! {
        biased;
        changed = told.changed() => changed.is_ok(),
        () = over.cancelled() => false,
    }
}

/// Our entry, and removals of the longest silent replicas beyond [`MOST_REPLICAS`].
fn entries(
    written: &BTreeMap<String, String>,
    replica: &str,
    fresh: &Condition,
) -> BTreeMap<String, Option<String>> {
    let since = |text: &String| {
        serde_json::from_str::<Condition>(text).map_or(Timestamp::MIN, |condition| condition.since)
    };
    let mut others: Vec<_> = written
        .iter()
        .filter(|(name, _)| *name != replica)
        .map(|(name, text)| (since(text), name))
        .collect();
    others.sort_unstable();
    let too_many = (others.len() + 1).saturating_sub(MOST_REPLICAS);
    let mut entries: BTreeMap<_, _> = others
        .into_iter()
        .take(too_many)
        .map(|(_, name)| (name.clone(), None))
        .collect();
    let ours = serde_json::to_string(fresh).expect("a condition is text, a flag and a time");
    entries.insert(replica.to_owned(), Some(ours));
    entries
}

#[cfg(test)]
mod tests {
    use http_body_util::BodyExt as _;

    use super::*;

    fn condition(second: i64) -> Condition {
        Condition {
            connected: false,
            reason: "DNSFailed".into(),
            message: "m".into(),
            since: Timestamp::from_second(second).unwrap(),
        }
    }

    /// An API server that hangs whenever an Event comes; and what it was told in the ConfigMap.
    fn no_events() -> (StatusBoard, Arc<parking_lot::Mutex<Vec<String>>>) {
        let told = Arc::new(parking_lot::Mutex::new(Vec::new()));
        let noted = Arc::clone(&told);
        let service = tower::service_fn(move |request: http::Request<kube::client::Body>| {
            let noted = Arc::clone(&noted);
            async move {
                if request.uri().path().contains("/events") {
                    return std::future::pending().await;
                }
                if request.method() == http::Method::PATCH {
                    let body = request.into_body().collect().await.unwrap().to_bytes();
                    noted.lock().push(String::from_utf8(body.to_vec()).unwrap());
                }
                let map = r#"{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"c"}}"#;
                let map = http_body_util::Full::new(bytes::Bytes::from(map));
                Ok::<_, drover_tunnel::BoxError>(http::Response::new(map))
            }
        });
        let client = kube::Client::new(service, "drover-agent");
        (StatusBoard::new(client, "drover-agent", "pod-1"), told)
    }

    #[tokio::test(start_paused = true)]
    async fn an_event_that_hangs_holds_no_later_condition_up() {
        let (board, told) = no_events();
        let over = CancellationToken::new();
        tokio::spawn(board.keep_written(over.clone()));
        board.tell(true, "Connected", "as cluster a".to_owned());
        tokio::time::sleep(Duration::from_secs(1)).await;
        assert_eq!(told.lock().len(), 1);
        board.tell(false, "TunnelLost", "it broke".to_owned());
        tokio::time::sleep(Duration::from_secs(10)).await;
        let told = told.lock();
        assert!(
            told.len() == 2 && told[1].contains("TunnelLost"),
            "{told:?}"
        );
    }

    #[tokio::test(start_paused = true)]
    async fn the_last_word_is_written_before_the_agent_ends_but_does_not_keep_it() {
        let (board, told) = no_events();
        let over = CancellationToken::new();
        let written = board.keep_written(over.clone());
        board.tell(true, "Connected", "as cluster a".to_owned());
        board.tell(false, "Stopped", "it was told to".to_owned());
        over.cancel();
        let begin = tokio::time::Instant::now();
        written.await;
        assert!(begin.elapsed() <= LAST_WORD, "{:?}", begin.elapsed());
        let told = told.lock();
        assert!(told.last().unwrap().contains("Stopped"), "{told:?}");
    }

    #[test]
    fn the_longest_silent_replicas_make_room() {
        let mut written: BTreeMap<_, _> = (0..8)
            .map(|n| {
                (
                    format!("pod-{n}"),
                    serde_json::to_string(&condition(100 - n)).unwrap(),
                )
            })
            .collect();
        written.insert("junk".into(), "not json".into());
        let entries = entries(&written, "pod-3", &condition(200));
        let removed: Vec<_> = entries
            .iter()
            .filter(|(_, v)| v.is_none())
            .map(|(k, _)| k.as_str())
            .collect();
        assert_eq!(removed, ["junk", "pod-6", "pod-7"]);
        assert!(entries["pod-3"].is_some());
        assert_eq!(entries.len(), 4);
    }
}
