//! Writes events to the hub. An event that repeats within a few minutes increments the series of
//! the earlier event.
//!
//! kube's `Recorder` does the same, but stores every event completely: about 4 KiB for each
//! cluster that registers. This module stores only the fields that identify the event.

use std::collections::HashMap;
use std::time::Duration;

use drover_api::kinds::Cluster;
use jiff::Timestamp;
use k8s_openapi::api::events::v1::Event;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{MicroTime, ObjectMeta};
use kube::api::{Api, Patch, PatchParams, PostParams};
use kube::runtime::events::EventType;
use kube::{Client, Resource as _, ResourceExt as _};
use parking_lot::Mutex;
use serde_json::json;
use tokio::time::Instant;

/// The controller that the events name.
const REPORTER: &str = "drover-server";
/// Namespace of the events, because a Cluster has no namespace.
const NAMESPACE: &str = "default";
/// Time after an event until an equal event starts a new series.
const SERIES_TIMEOUT: Duration = Duration::from_mins(6);
/// Maximum number of stored series. At this limit, a repeated event starts a new series.
const MAX_SERIES: usize = 16_384;

/// An event on a Cluster.
pub(super) struct Notice<'a> {
    pub(super) type_: EventType,
    pub(super) action: &'static str,
    pub(super) reason: &'static str,
    /// Hash of the subject. Events with the same reason and subject are equal, also if their notes
    /// differ, for example in a number.
    pub(super) subject: u64,
    pub(super) note: &'a str,
}

/// A writer of events to the hub.
pub(super) struct EventWriter {
    events: Api<Event>,
    series: Mutex<HashMap<Key, Series>>,
}

/// The fields that are equal in all events of a series.
#[derive(Clone, PartialEq, Eq, Hash)]
struct Key {
    cluster: String,
    type_: EventType,
    action: &'static str,
    reason: &'static str,
    subject: u64,
}

/// A series of equal events.
#[derive(Clone, Copy)]
struct Series {
    /// Time of the first event. The name of the Event contains the time.
    first: Timestamp,
    count: i32,
    last: Instant,
}

impl EventWriter {
    pub(super) fn new(client: Client) -> Self {
        Self {
            events: Api::namespaced(client, NAMESPACE),
            series: Mutex::default(),
        }
    }

    /// Creates an Event, or increments the series of an equal Event.
    pub(super) async fn write(&self, cluster: &Cluster, notice: &Notice<'_>) -> kube::Result<()> {
        let key = Key {
            cluster: cluster.uid().unwrap_or_default(),
            type_: notice.type_,
            action: notice.action,
            reason: notice.reason,
            subject: notice.subject,
        };
        let (now, instant) = (Timestamp::now(), Instant::now());
        let continued = match self.earlier(&key, instant) {
            Some(earlier) => self.continue_series(cluster, earlier, now).await?,
            None => None,
        };
        let (first, count) = if let Some(continued) = continued {
            continued
        } else {
            let event = event(cluster, notice, now);
            self.events.create(&PostParams::default(), &event).await?;
            (now, 1)
        };
        let series = Series {
            first,
            count,
            last: instant,
        };
        let mut stored = self.series.lock();
        if stored.len() < MAX_SERIES || stored.contains_key(&key) {
            stored.insert(key, series);
        }
        Ok(())
    }

    /// Increments a series. Returns the time of the first event and the new number of events, or
    /// `None` if the Event no longer exists.
    async fn continue_series(
        &self,
        cluster: &Cluster,
        earlier: Series,
        now: Timestamp,
    ) -> kube::Result<Option<(Timestamp, i32)>> {
        let count = earlier.count.saturating_add(1);
        let series = json!({"count": count, "lastObservedTime": MicroTime(now)});
        let patch = Patch::Merge(json!({ "series": series }));
        let name = name(cluster, earlier.first);
        let params = PatchParams::default();
        match self.events.patch(&name, &params, &patch).await {
            Ok(_) => Ok(Some((earlier.first, count))),
            Err(kube::Error::Api(status)) if status.code == 404 => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// Returns the series of an equal event. Removes expired series.
    fn earlier(&self, key: &Key, now: Instant) -> Option<Series> {
        let mut stored = self.series.lock();
        stored.retain(|_, series| now.duration_since(series.last) < SERIES_TIMEOUT);
        stored.get(key).copied()
    }
}

fn event(cluster: &Cluster, notice: &Notice<'_>, now: Timestamp) -> Event {
    let type_ = match notice.type_ {
        EventType::Normal => "Normal",
        EventType::Warning => "Warning",
    };
    Event {
        metadata: ObjectMeta {
            name: Some(name(cluster, now)),
            ..ObjectMeta::default()
        },
        type_: Some(type_.to_owned()),
        action: Some(notice.action.to_owned()),
        reason: Some(notice.reason.to_owned()),
        note: Some(notice.note.chars().take(1000).collect()),
        event_time: Some(MicroTime(now)),
        regarding: Some(cluster.object_ref(&())),
        reporting_controller: Some(REPORTER.to_owned()),
        reporting_instance: Some(REPORTER.to_owned()),
        ..Event::default()
    }
}

fn name(cluster: &Cluster, first: Timestamp) -> String {
    format!("{}.{:x}", cluster.name_any(), first.as_nanosecond())
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use http::{Method, Request, Response, StatusCode};
    use http_body_util::BodyExt as _;
    use kube::client::Body;
    use serde_json::Value;

    use super::*;

    type Requests = Arc<Mutex<Vec<(Method, String, Value)>>>;

    /// Returns a client that records each request, and answers with an Event. The Events of the
    /// cluster `deleted` do not exist.
    fn client(requests: &Requests) -> Client {
        let requests = Arc::clone(requests);
        let service = tower::service_fn(move |request: Request<Body>| {
            let requests = Arc::clone(&requests);
            async move {
                let (head, body) = request.into_parts();
                let body = body.collect().await.unwrap().to_bytes();
                let parsed = serde_json::from_slice(&body).unwrap();
                let path = head.uri.path().to_owned();
                let deleted = head.method == Method::PATCH && path.contains("/deleted.");
                requests.lock().push((head.method, path, parsed));
                let (status, body) = if deleted {
                    let body = json!({"kind": "Status", "status": "Failure", "code": 404});
                    (StatusCode::NOT_FOUND, body)
                } else {
                    let body = json!({"eventTime": null, "metadata": {}});
                    (StatusCode::OK, body)
                };
                let mut response = Response::new(Body::from(body.to_string().into_bytes()));
                *response.status_mut() = status;
                Ok::<_, std::io::Error>(response)
            }
        });
        Client::new(service, "default")
    }

    #[tokio::test(start_paused = true)]
    async fn repeated_event_increments_the_series_of_the_first_event() {
        let requests = Requests::default();
        let writer = EventWriter::new(client(&requests));
        let mut cluster = Cluster::new("edge", drover_api::kinds::ClusterSpec::default());
        cluster.metadata.uid = Some("1234".to_owned());
        let write = async |reason, subject| {
            let notice = Notice {
                type_: EventType::Warning,
                action: "Register",
                reason,
                subject,
                note: "refused",
            };
            writer.write(&cluster, &notice).await.unwrap();
            requests.lock().pop().unwrap()
        };
        let events = "/apis/events.k8s.io/v1/namespaces/default/events";
        let (method, path, first) = write("ForeignKey", 1).await;
        assert_eq!((method, &*path), (Method::POST, events));
        assert_eq!(first["regarding"]["name"], "edge");
        assert_eq!(first["type"], "Warning");
        assert_eq!(first["note"], "refused");
        assert!(first.get("series").is_none());
        let first = format!("{events}/{}", first["metadata"]["name"].as_str().unwrap());

        for count in 2..4 {
            tokio::time::advance(SERIES_TIMEOUT / 2).await;
            let (method, path, sent) = write("ForeignKey", 1).await;
            assert_eq!((method, &path), (Method::PATCH, &first));
            assert_eq!(sent["series"]["count"], count);
        }
        for (reason, subject) in [("ReplayedChallenge", 1), ("ForeignKey", 2)] {
            let (method, ..) = write(reason, subject).await;
            assert_eq!(method, Method::POST, "a different event has its own series");
        }
        tokio::time::advance(SERIES_TIMEOUT).await;
        let (method, ..) = write("ForeignKey", 1).await;
        assert_eq!(method, Method::POST, "the series has ended");
        assert_eq!(writer.series.lock().len(), 1);
    }

    #[tokio::test]
    async fn repeated_event_whose_event_object_was_deleted_is_created_again() {
        let requests = Requests::default();
        let writer = EventWriter::new(client(&requests));
        let cluster = Cluster::new("deleted", drover_api::kinds::ClusterSpec::default());
        let notice = Notice {
            type_: EventType::Warning,
            action: "Register",
            reason: "ForeignKey",
            subject: 0,
            note: "refused",
        };
        writer.write(&cluster, &notice).await.unwrap();
        writer.write(&cluster, &notice).await.unwrap();
        let methods: Vec<Method> = requests
            .lock()
            .drain(..)
            .map(|(method, ..)| method)
            .collect();
        assert_eq!(methods, [Method::POST, Method::PATCH, Method::POST]);
    }
}
