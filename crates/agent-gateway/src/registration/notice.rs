//! Events on a Cluster for refused and successful registrations and connections.

mod series;

use std::collections::HashMap;
use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::sync::Arc;
use std::time::Duration;

use drover_api::kinds::Cluster;
use kube::runtime::events::EventType;
use parking_lot::Mutex;
use tokio::time::Instant;

use self::series::{EventWriter, Notice};
use drover_hub::Hub;

/// Minimum interval between two equal events on the same Cluster.
const REPEAT_INTERVAL: Duration = Duration::from_mins(1);
/// Maximum number of events whose time is stored. At this limit, the server writes no new event
/// until the stored times of some events are older than [`REPEAT_INTERVAL`].
const MAX_EVENTS: usize = 4096;
/// Maximum number of warnings that one Cluster's agent can report within [`REPEAT_INTERVAL`].
const MAX_REPORTED: usize = 10;
/// Time limit for writing an event to the hub.
const WRITE_TIMEOUT: Duration = Duration::from_secs(5);

/// A rate-limited writer of events to the hub.
pub struct Notices {
    events: EventWriter,
    written: Mutex<HashMap<(String, &'static str), Instant>>,
    reported: Mutex<HashMap<String, (Instant, Vec<u64>)>>,
}

impl std::fmt::Debug for Notices {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Notices")
            .field("written", &self.written.lock().len())
            .finish_non_exhaustive()
    }
}

impl Notices {
    /// Creates a writer of events to this hub.
    pub fn new(hub: &Hub) -> Self {
        Self {
            events: EventWriter::new(hub.client()),
            written: Mutex::default(),
            reported: Mutex::default(),
        }
    }

    /// Writes a warning from a cluster's agent as an Event, in the background. Warnings with the
    /// same subject are equal. Per Cluster, the server writes each warning at most once a minute,
    /// and at most ten warnings a minute.
    pub fn reported(
        self: &Arc<Self>,
        cluster: &Arc<Cluster>,
        reason: &'static str,
        subject: &str,
        note: String,
    ) {
        let uid = cluster.metadata.uid.clone().unwrap_or_default();
        let mut hasher = DefaultHasher::new();
        subject.hash(&mut hasher);
        let subject = hasher.finish();
        if self.may_report(uid, subject, Instant::now()) {
            let (this, cluster) = (Arc::clone(self), Arc::clone(cluster));
            tokio::spawn(async move {
                let notice = Notice {
                    type_: EventType::Warning,
                    action: "Report",
                    reason,
                    subject,
                    note: &note,
                };
                this.write(&cluster, &notice).await;
            });
        }
    }

    fn may_report(&self, uid: String, subject: u64, now: Instant) -> bool {
        let mut reported = self.reported.lock();
        reported.retain(|_, (since, _)| now.duration_since(*since) < REPEAT_INTERVAL);
        if reported.len() >= MAX_EVENTS && !reported.contains_key(&uid) {
            return false;
        }
        let (_, subjects) = reported.entry(uid).or_insert_with(|| (now, Vec::new()));
        let fresh = subjects.len() < MAX_REPORTED && !subjects.contains(&subject);
        if fresh {
            subjects.push(subject);
        }
        fresh
    }

    /// Writes an event that needs an administrator's attention.
    pub async fn warn(&self, cluster: &Cluster, reason: &'static str, note: &str) {
        self.publish(cluster, EventType::Warning, reason, note)
            .await;
    }

    /// Writes an event about a success, of type `Normal`.
    pub async fn inform(&self, cluster: &Cluster, reason: &'static str, note: &str) {
        self.publish(cluster, EventType::Normal, reason, note).await;
    }

    async fn publish(&self, cluster: &Cluster, type_: EventType, reason: &'static str, note: &str) {
        let uid = cluster.metadata.uid.clone().unwrap_or_default();
        if !self.due(uid, reason, Instant::now()) {
            return;
        }
        let notice = Notice {
            type_,
            action: "Register",
            reason,
            subject: 0,
            note,
        };
        self.write(cluster, &notice).await;
    }

    async fn write(&self, cluster: &Cluster, notice: &Notice<'_>) {
        let reason = notice.reason;
        let written = self.events.write(cluster, notice);
        match tokio::time::timeout(WRITE_TIMEOUT, written).await {
            Ok(Ok(())) => {}
            Ok(Err(error)) => tracing::warn!(%error, reason, "failed to write an event"),
            Err(_) => tracing::warn!(reason, "timeout while writing an event"),
        }
    }

    fn due(&self, uid: String, reason: &'static str, now: Instant) -> bool {
        let mut written = self.written.lock();
        written.retain(|_, at| now.duration_since(*at) < REPEAT_INTERVAL);
        if written.len() >= MAX_EVENTS || written.contains_key(&(uid.clone(), reason)) {
            return false;
        }
        written.insert((uid, reason), now);
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn equal_events_are_written_at_most_once_per_minute() {
        let client = kube::Client::new(
            tower::service_fn(|_: http::Request<kube::client::Body>| async {
                Err::<http::Response<kube::client::Body>, _>(std::io::Error::other("unused"))
            }),
            "default",
        );
        let notices = Notices {
            events: EventWriter::new(client),
            written: Mutex::default(),
            reported: Mutex::default(),
        };
        let now = Instant::now();
        assert!(notices.due("a".into(), "X", now));
        assert!(!notices.due("a".into(), "X", now + Duration::from_secs(59)));
        assert!(notices.due("a".into(), "Y", now));
        assert!(notices.due("a".into(), "X", now + REPEAT_INTERVAL));
        for n in 0..2 * MAX_EVENTS {
            notices.due(n.to_string(), "X", now + REPEAT_INTERVAL);
        }
        assert!(notices.written.lock().len() <= MAX_EVENTS);

        let may_report = |uid: &str, subject, now| notices.may_report(uid.into(), subject, now);
        let allowed = (0..1000).filter(|n| may_report("a", *n, now)).count();
        assert_eq!(allowed, MAX_REPORTED, "warnings of one agent are limited");
        assert!(
            may_report("b", 1, now),
            "the warning of another agent is written"
        );
        assert!(!may_report("b", 1, now), "an equal warning is written once");
        assert!(may_report("a", 1, now + REPEAT_INTERVAL));
    }
}
