//! Events go an hour after their last change, bootstrap tokens when they say.

use std::sync::Arc;
use std::time::Duration;

use futures::future::BoxFuture;
use jiff::Timestamp;
use serde_json::Value;

use super::run::{ReconcileError, Sweep};
use super::{Hub, MANAGER};
use crate::access::Clock;
use crate::resource::GroupResource;

const BOOTSTRAP_TOKEN: &str = "bootstrap.kubernetes.io/token";

/// The sweep.
pub(super) struct Expiry {
    hub: Arc<dyn Hub>,
    event_ttl_seconds: i64,
    clock: Clock,
}

impl Expiry {
    pub(super) fn new(hub: Arc<dyn Hub>, event_ttl_seconds: i64, clock: Clock) -> Self {
        Self {
            hub,
            event_ttl_seconds,
            clock,
        }
    }

    async fn expire(&self) -> Result<(), ReconcileError> {
        let now = (self.clock)();
        let ends = |event: &Value| {
            let changed = last_change(event)?.as_second();
            Timestamp::from_second(changed.saturating_add(self.event_ttl_seconds)).ok()
        };
        // Those of group events.k8s.io are the same.
        self.sweep_list("events", None, now, ends).await?;
        self.sweep_list("secrets", Some("kube-system"), now, token_end)
            .await
    }

    /// Deletes objects whose end is before now.
    async fn sweep_list(
        &self,
        resource: &str,
        namespace: Option<&str>,
        now: Timestamp,
        ends: impl Fn(&Value) -> Option<Timestamp> + Send,
    ) -> Result<(), ReconcileError> {
        let resource = GroupResource {
            group: String::new(),
            resource: resource.to_owned(),
        };
        let served = self.hub.catalog();
        if !served.iter().any(|own| own.group_resource() == resource) {
            return Ok(());
        }
        let mut after = None;
        loop {
            let page = self.hub.list(&resource, namespace, after).await;
            let page = page.map_err(ReconcileError::list(&resource.resource, namespace))?;
            for object in page
                .items
                .iter()
                .filter(|own| ends(own).is_some_and(|end| end <= now))
            {
                // A change in between makes it young again.
                let version = &object["metadata"]["resourceVersion"];
                let version = version.as_str().unwrap_or_default().to_owned();
                let deleting = self
                    .hub
                    .delete_listed(MANAGER, &resource, object, Some(version));
                deleting.await?;
            }
            after = page.next;
            if after.is_none() {
                return Ok(());
            }
        }
    }
}

impl Sweep for Expiry {
    const NAME: &'static str = "expiry";
    const EVERY: Duration = Duration::from_mins(1);

    fn sweep(&self) -> BoxFuture<'_, Result<(), ReconcileError>> {
        Box::pin(self.expire())
    }
}

/// When an event was last written, as far as it says itself.
fn last_change(event: &Value) -> Option<Timestamp> {
    let managed = event["metadata"]["managedFields"].as_array();
    let written = managed.into_iter().flatten().map(|entry| &entry["time"]);
    [
        &event["metadata"]["creationTimestamp"],
        &event["lastTimestamp"],
        &event["deprecatedLastTimestamp"],
        &event["series"]["lastObservedTime"],
    ]
    .into_iter()
    .chain(written)
    .filter_map(|time| time.as_str()?.parse().ok())
    .max()
}

/// When a bootstrap token ends; the Secret's data is base64.
fn token_end(secret: &Value) -> Option<Timestamp> {
    use base64::Engine;
    if secret["type"] != BOOTSTRAP_TOKEN {
        return None;
    }
    let encoded = secret["data"]["expiration"].as_str()?;
    let text = base64::engine::general_purpose::STANDARD
        .decode(encoded)
        .ok()?;
    let text = String::from_utf8(text).ok()?;
    // One that cannot be read is taken as over, as kube-controller-manager takes it.
    Some(text.parse().unwrap_or(Timestamp::MIN))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn an_event_is_as_old_as_its_last_change() {
        let mut event = json!({"metadata": {"creationTimestamp": "2026-01-01T00:00:00Z"}});
        let age = |event: &Value| last_change(event).unwrap().to_string();
        assert_eq!(age(&event), "2026-01-01T00:00:00Z");
        event["lastTimestamp"] = "2026-01-01T00:01:00Z".into();
        assert_eq!(age(&event), "2026-01-01T00:01:00Z");
        event["series"] = json!({"lastObservedTime": "2026-01-01T00:02:00.123456Z"});
        assert_eq!(age(&event), "2026-01-01T00:02:00.123456Z");
        event["metadata"]["managedFields"] = json!([{"time": "2026-01-01T00:03:00Z"}]);
        assert_eq!(age(&event), "2026-01-01T00:03:00Z");
        assert_eq!(last_change(&json!({})), None);
    }

    #[test]
    fn only_bootstrap_tokens_that_say_when_end() {
        // 2026-01-01T00:00:00Z
        let mut secret = json!({
            "type": BOOTSTRAP_TOKEN,
            "data": {"expiration": "MjAyNi0wMS0wMVQwMDowMDowMFo="},
        });
        assert_eq!(
            token_end(&secret).unwrap().to_string(),
            "2026-01-01T00:00:00Z"
        );
        secret["data"]["expiration"] = "c29vbg==".into();
        assert_eq!(token_end(&secret), Some(Timestamp::MIN));
        secret["data"] = json!({});
        assert_eq!(token_end(&secret), None);
        secret["type"] = "Opaque".into();
        assert_eq!(token_end(&secret), None);
    }
}
