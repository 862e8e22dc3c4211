//! The client that sends requests to clusters during faults.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use serde_json::json;
use tokio::sync::mpsc;
use tokio::time::Instant;

use super::api_server::{Caller, PATH, Reply};
use crate::administrator::{Administrator, AdministratorError};

/// Interval between two requests to a cluster.
const INTERVAL: Duration = Duration::from_millis(25);
/// Timeout of a request to a cluster with a fault.
pub(super) const TIMEOUT: Duration = Duration::from_secs(10);

/// A successful request.
#[derive(Clone, Copy, Debug)]
pub(super) struct Success {
    pub(super) sent: Instant,
    pub(super) received: Instant,
    /// The agent through which the request reached the API server.
    pub(super) through: Caller,
}

/// A client that never repeats a request.
pub(super) struct Client {
    api: Administrator,
    posts: AtomicU64,
}

impl Client {
    pub(super) fn new(api: &Administrator) -> Result<Self, AdministratorError> {
        Ok(Self {
            api: api.without_retries()?,
            posts: AtomicU64::new(0),
        })
    }

    /// Sends a GET request. Returns `None` if the request failed.
    pub(super) async fn get(&self, cluster: &str) -> Option<Success> {
        let sent = Instant::now();
        let path = path(cluster);
        let answered = tokio::time::timeout(TIMEOUT, self.api.get(&path)).await;
        let reply = serde_json::from_str(&answered.ok()?.ok()?).ok()?;
        Some(success(sent, &reply))
    }

    /// Sends a POST request with a unique name. Returns `None` if the request failed.
    pub(super) async fn post(&self, cluster: &str, timeout: Duration) -> Option<Success> {
        let sent = Instant::now();
        let number = self.posts.fetch_add(1, Ordering::Relaxed);
        let path = path(cluster);
        let object = json!({"kind": "ConfigMap", "apiVersion": "v1",
            "metadata": {"name": format!("post-{number}")}});
        let answered = tokio::time::timeout(timeout, self.api.post(&path, object)).await;
        let reply = serde_json::from_value(answered.ok()?.ok()?).ok()?;
        Some(success(sent, &reply))
    }

    /// Sends requests to a cluster until the receiver is dropped. Does not wait for responses. Every
    /// second request is a POST request.
    pub(super) fn send_continuously(
        self: &Arc<Self>,
        cluster: &str,
    ) -> mpsc::UnboundedReceiver<Success> {
        let (successes, received) = mpsc::unbounded_channel();
        let (client, cluster) = (Arc::clone(self), cluster.to_owned());
        tokio::spawn(async move {
            let mut interval = tokio::time::interval(INTERVAL);
            let mut is_post = false;
            while !successes.is_closed() {
                interval.tick().await;
                is_post = !is_post;
                let (client, cluster) = (Arc::clone(&client), cluster.clone());
                let successes = successes.clone();
                tokio::spawn(async move {
                    let success = if is_post {
                        client.post(&cluster, TIMEOUT).await
                    } else {
                        client.get(&cluster).await
                    };
                    if let Some(success) = success {
                        // After the measurement, nothing receives the successes.
                        let _ = successes.send(success);
                    }
                });
            }
        });
        received
    }
}

fn path(cluster: &str) -> String {
    format!("/k8s/clusters/{cluster}{PATH}")
}

fn success(sent: Instant, reply: &Reply) -> Success {
    Success {
        sent,
        received: Instant::now(),
        through: reply.through,
    }
}
