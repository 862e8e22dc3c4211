//! Writes the connection status of this agent replica to a ConfigMap and to Events.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use drover_agent_link::status::ConnectionStatus;
use drover_agent_report::DEPLOYMENT;
use drover_api::client_error::ClientError;
use jiff::Timestamp;
use k8s_openapi::api::core::v1::{ConfigMap, ObjectReference};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use kube::api::{Api, Patch, PatchParams, PostParams};
use kube::runtime::events::{Event, EventType, Recorder, Reporter};
use serde_json::json;
use thiserror::Error;
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;
use tracing::debug;

/// Name of the ConfigMap that contains the status of each replica.
pub const STATUS_CONFIG_MAP: &str = "drover-agent-status";
/// Maximum number of replicas in the ConfigMap. Each rollout creates pods with new names, so the
/// agent removes the oldest entries.
const MAX_REPLICAS: usize = 6;
/// Timeout of a call to the API server.
const CALL_TIMEOUT: Duration = Duration::from_secs(15);
/// Timeout of creating an Event.
const EVENT_TIMEOUT: Duration = Duration::from_secs(5);
/// Time limit for writing the final status after the agent has stopped.
const FINAL_WRITE_TIMEOUT: Duration = Duration::from_secs(5);

/// The reason why the status cannot be written.
#[derive(Debug, Error)]
enum WriteError {
    /// The API server returned an error.
    #[error(transparent)]
    Api(#[from] ClientError),
    /// The call exceeded [`CALL_TIMEOUT`].
    #[error("no response within {seconds} s", seconds = CALL_TIMEOUT.as_secs())]
    Timeout,
}

/// The writer of the status of one replica. Clones share the state.
#[derive(Clone)]
pub struct StatusWriter {
    inner: Arc<Inner>,
}

struct Inner {
    replica: String,
    config_maps: Api<ConfigMap>,
    recorder: Recorder,
    deployment: ObjectReference,
}

impl std::fmt::Debug for StatusWriter {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("StatusWriter")
            .field("replica", &self.inner.replica)
            .finish_non_exhaustive()
    }
}

impl StatusWriter {
    /// Creates the writer of one replica. `client` uses the agent's own service account.
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
                config_maps: Api::namespaced(client.clone(), namespace),
                recorder: Recorder::new(client, reporter),
                deployment,
            }),
        }
    }

    /// Writes each new status. If several statuses arrive during a write, writes only the newest.
    /// The connection does not wait for the writer. A slow API server therefore does not delay a
    /// tunnel.
    ///
    /// Returns after `stopped` is cancelled and the pending status is written, at most 5 s later.
    pub fn run(
        &self,
        mut status: watch::Receiver<ConnectionStatus>,
        stopped: CancellationToken,
    ) -> impl Future<Output = ()> + use<> {
        let writer = self.clone();
        async move {
            let timeout = async {
                stopped.cancelled().await;
                tokio::time::sleep(FINAL_WRITE_TIMEOUT).await;
            };
            let writing = async {
                while changed(&mut status, &stopped).await {
                    let current = status.borrow_and_update().clone();
                    writer.write(&current).await;
                }
            };
            tokio::select! {
                () = writing => {}
                () = timeout => debug!("timeout while publishing the last status; the log \
                                        contains this status"),
            }
        }
    }

    /// Writes the status to the ConfigMap and to an Event. Only logs a failure, because the agent's
    /// log also contains the status.
    async fn write(&self, status: &ConnectionStatus) {
        if let Err(error) = self.write_config_map(status).await {
            debug!(%error, "cannot write the status to the ConfigMap");
        }
        if tokio::time::timeout(EVENT_TIMEOUT, self.publish(status))
            .await
            .is_err()
        {
            debug!("cannot publish the status as an event: the API server does not respond");
        }
    }

    async fn write_config_map(&self, status: &ConnectionStatus) -> Result<(), WriteError> {
        let config_maps = &self.inner.config_maps;
        let found = call(config_maps.get_opt(STATUS_CONFIG_MAP)).await?;
        let Some(found) = found else {
            let entries = entries(&BTreeMap::new(), &self.inner.replica, status);
            let map = ConfigMap {
                metadata: ObjectMeta {
                    name: Some(STATUS_CONFIG_MAP.to_owned()),
                    ..Default::default()
                },
                data: Some(
                    entries
                        .into_iter()
                        .filter_map(|(key, value)| Some((key, value?)))
                        .collect(),
                ),
                ..Default::default()
            };
            call(config_maps.create(&PostParams::default(), &map)).await?;
            return Ok(());
        };
        let written = found.data.unwrap_or_default();
        let entries = entries(&written, &self.inner.replica, status);
        let patch = Patch::Merge(json!({ "data": entries }));
        let params = PatchParams::default();
        call(config_maps.patch(STATUS_CONFIG_MAP, &params, &patch)).await?;
        Ok(())
    }

    async fn publish(&self, status: &ConnectionStatus) {
        let event = Event {
            type_: if status.connected {
                EventType::Normal
            } else {
                EventType::Warning
            },
            reason: status.reason.clone(),
            note: Some(status.message.chars().take(1000).collect()),
            action: "Connect".to_owned(),
            secondary: None,
        };
        if let Err(error) = self
            .inner
            .recorder
            .publish(&event, &self.inner.deployment)
            .await
        {
            debug!(%error, "cannot publish the status as an event");
        }
    }
}

/// Waits for a change of the status. Returns false after `stopped` is cancelled, if no change is
/// pending.
async fn changed(
    status: &mut watch::Receiver<ConnectionStatus>,
    stopped: &CancellationToken,
) -> bool {
    tokio::select! {
        biased;
        changed = status.changed() => changed.is_ok(),
        () = stopped.cancelled() => false,
    }
}

/// Returns the patch with the entry of this replica. If the ConfigMap has more than
/// [`MAX_REPLICAS`] entries, the patch also removes the oldest entries.
fn entries(
    written: &BTreeMap<String, String>,
    replica: &str,
    status: &ConnectionStatus,
) -> BTreeMap<String, Option<String>> {
    let since = |text: &String| {
        serde_json::from_str::<ConnectionStatus>(text).map_or(Timestamp::MIN, |status| status.since)
    };
    let mut others: Vec<_> = written
        .iter()
        .filter(|(name, _)| *name != replica)
        .map(|(name, text)| (since(text), name))
        .collect();
    others.sort_unstable();
    let excess = (others.len() + 1).saturating_sub(MAX_REPLICAS);
    let mut entries: BTreeMap<_, _> = others
        .into_iter()
        .take(excess)
        .map(|(_, name)| (name.clone(), None))
        .collect();
    let own = serde_json::to_string(status).expect("a status can be serialized as JSON");
    entries.insert(replica.to_owned(), Some(own));
    entries
}

async fn call<T>(request: impl Future<Output = kube::Result<T>>) -> Result<T, WriteError> {
    match tokio::time::timeout(CALL_TIMEOUT, request).await {
        Ok(result) => Ok(result.map_err(ClientError::from)?),
        Err(_) => Err(WriteError::Timeout),
    }
}

#[cfg(test)]
mod tests {
    use drover_agent_link::status::StatusPublisher;
    use http_body_util::BodyExt as _;

    use super::*;

    fn status_since(second: i64) -> ConnectionStatus {
        ConnectionStatus {
            connected: false,
            reason: "DNSFailed".into(),
            message: "m".into(),
            since: Timestamp::from_second(second).unwrap(),
        }
    }

    /// Returns a status writer, and the bodies of its ConfigMap patches. The writer's API server
    /// does not respond to requests for Events.
    fn hanging_events() -> (StatusWriter, Arc<parking_lot::Mutex<Vec<String>>>) {
        let patches = Arc::new(parking_lot::Mutex::new(Vec::new()));
        let recorded = Arc::clone(&patches);
        let service = tower::service_fn(move |request: http::Request<kube::client::Body>| {
            let recorded = Arc::clone(&recorded);
            async move {
                if request.uri().path().contains("/events") {
                    return std::future::pending().await;
                }
                if request.method() == http::Method::PATCH {
                    let body = request.into_body().collect().await.unwrap().to_bytes();
                    let body = String::from_utf8(body.to_vec()).unwrap();
                    recorded.lock().push(body);
                }
                let map = r#"{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"c"}}"#;
                let map = http_body_util::Full::new(bytes::Bytes::from(map));
                Ok::<_, drover_tunnel::BoxError>(http::Response::new(map))
            }
        });
        let client = kube::Client::new(service, "drover-agent");
        let writer = StatusWriter::new(client, "drover-agent", "pod-1");
        (writer, patches)
    }

    #[tokio::test(start_paused = true)]
    async fn event_request_without_response_does_not_block_later_status_writes() {
        let (writer, patches) = hanging_events();
        let status = StatusPublisher::default();
        tokio::spawn(writer.run(status.subscribe(), CancellationToken::new()));
        status.publish(true, "Connected", "as cluster a".to_owned());
        tokio::time::sleep(Duration::from_secs(1)).await;
        assert_eq!(patches.lock().len(), 1);
        status.publish(false, "TunnelLost", "it broke".to_owned());
        tokio::time::sleep(Duration::from_secs(10)).await;
        let patches = patches.lock();
        assert!(
            patches.len() == 2 && patches[1].contains("TunnelLost"),
            "{patches:?}"
        );
    }

    #[tokio::test(start_paused = true)]
    async fn stopped_agent_writes_its_last_status_before_the_timeout() {
        let (writer, patches) = hanging_events();
        let stopped = CancellationToken::new();
        let status = StatusPublisher::default();
        let written = writer.run(status.subscribe(), stopped.clone());
        status.publish(true, "Connected", "as cluster a".to_owned());
        status.publish(false, "Stopped", "it was told to".to_owned());
        stopped.cancel();
        let begin = tokio::time::Instant::now();
        written.await;
        assert!(
            begin.elapsed() <= FINAL_WRITE_TIMEOUT,
            "{:?}",
            begin.elapsed()
        );
        let patches = patches.lock();
        assert!(patches.last().unwrap().contains("Stopped"), "{patches:?}");
    }

    #[test]
    fn oldest_statuses_of_agent_replicas_are_removed_above_the_limit() {
        let mut written: BTreeMap<_, _> = (0..8)
            .map(|n| {
                (
                    format!("pod-{n}"),
                    serde_json::to_string(&status_since(100 - n)).unwrap(),
                )
            })
            .collect();
        written.insert("junk".into(), "not json".into());
        let entries = entries(&written, "pod-3", &status_since(200));
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
