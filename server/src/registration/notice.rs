//! Events on a Cluster: what registration and connection refused, and what it bound.

use std::collections::HashMap;
use std::time::Duration;

use drover_api::kinds::Cluster;
use kube::Resource as _;
use kube::runtime::events::{Event, EventType, Recorder, Reporter};
use parking_lot::Mutex;
use tokio::time::Instant;

use crate::hub::Hub;

/// The same is said of a Cluster at most once in this time.
const QUIET: Duration = Duration::from_mins(1);
/// Kinds of events remembered; beyond it nothing more is said until some are old.
const MOST: usize = 4096;
/// Most time for the hub to take an event.
const PATIENCE: Duration = Duration::from_secs(5);

/// Writes events, a bounded number of them.
pub struct Notices {
    recorder: Recorder,
    said: Mutex<HashMap<(String, &'static str), Instant>>,
}

impl std::fmt::Debug for Notices {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Notices")
            .field("said", &self.said.lock().len())
            .finish_non_exhaustive()
    }
}

impl Notices {
    /// Writes on the hub.
    pub fn new(hub: &Hub) -> Self {
        let reporter = Reporter {
            controller: "drover-server".to_owned(),
            instance: None,
        };
        Self {
            recorder: Recorder::new(hub.client(), reporter),
            said: Mutex::default(),
        }
    }

    /// Something that an administrator should look at.
    pub async fn warn(&self, cluster: &Cluster, reason: &'static str, note: &str) {
        self.publish(cluster, EventType::Warning, reason, note)
            .await;
    }

    /// Something that went as it should.
    pub async fn tell(&self, cluster: &Cluster, reason: &'static str, note: &str) {
        self.publish(cluster, EventType::Normal, reason, note).await;
    }

    async fn publish(&self, cluster: &Cluster, type_: EventType, reason: &'static str, note: &str) {
        let uid = cluster.metadata.uid.clone().unwrap_or_default();
        if !self.due(uid, reason, Instant::now()) {
            return;
        }
        let event = Event {
            type_,
            reason: reason.to_owned(),
            note: Some(note.chars().take(1000).collect()),
            action: "Register".to_owned(),
            secondary: None,
        };
        let reference = cluster.object_ref(&());
        let written = self.recorder.publish(&event, &reference);
        match tokio::time::timeout(PATIENCE, written).await {
            Ok(Ok(())) => {}
            Ok(Err(error)) => tracing::warn!(%error, reason, "an event was not written"),
            Err(_) => tracing::warn!(reason, "the hub took too long to take an event"),
        }
    }

    fn due(&self, uid: String, reason: &'static str, now: Instant) -> bool {
        let mut said = self.said.lock();
        said.retain(|_, at| now.duration_since(*at) < QUIET);
        if said.len() >= MOST || said.contains_key(&(uid.clone(), reason)) {
            return false;
        }
        said.insert((uid, reason), now);
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn the_same_is_said_once_a_minute_and_the_memory_is_bounded() {
        let client = kube::Client::new(
            tower::service_fn(|_: http::Request<kube::client::Body>| async {
                Err::<http::Response<kube::client::Body>, _>(std::io::Error::other("unused"))
            }),
            "default",
        );
        let reporter = Reporter {
            controller: "x".into(),
            instance: None,
        };
        let notices = Notices {
            recorder: Recorder::new(client, reporter),
            said: Mutex::default(),
        };
        let now = Instant::now();
        assert!(notices.due("a".into(), "X", now));
        assert!(!notices.due("a".into(), "X", now + Duration::from_secs(59)));
        assert!(notices.due("a".into(), "Y", now));
        assert!(notices.due("a".into(), "X", now + QUIET));
        for n in 0..2 * MOST {
            notices.due(n.to_string(), "X", now + QUIET);
        }
        assert!(notices.said.lock().len() <= MOST);
    }
}
