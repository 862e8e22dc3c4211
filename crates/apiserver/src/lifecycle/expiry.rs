//! Expiry: deletes Events after their lifetime, and bootstrap tokens at their expiration.

use std::sync::Arc;
use std::time::Duration;

use futures::future::BoxFuture;
use jiff::Timestamp;
use parking_lot::Mutex;
use serde_json::Value;

use super::run::{ReconcileError, Sweep};
use super::{Hub, MANAGER};
use crate::access::Clock;
use crate::resource::GroupResource;

const BOOTSTRAP_TOKEN: &str = "bootstrap.kubernetes.io/token";

/// The periodic task that deletes expired objects.
pub(super) struct Expiry {
    hub: Arc<dyn Hub>,
    event_ttl_seconds: i64,
    clock: Clock,
    /// The earliest time at which a known event expires. Events that arrive after the last run
    /// expire later.
    earliest_end: Mutex<Timestamp>,
}

impl Expiry {
    pub(super) fn new(hub: Arc<dyn Hub>, event_ttl_seconds: i64, clock: Clock) -> Self {
        Self {
            hub,
            event_ttl_seconds,
            clock,
            earliest_end: Mutex::new(Timestamp::MIN),
        }
    }

    async fn expire(&self) -> Result<(), ReconcileError> {
        let now = (self.clock)();
        let until = *self.earliest_end.lock();
        // The time may be beyond the lifetime of a new event if the clock was ahead when it was
        // set.
        let too_late = self.end_after(now).is_some_and(|latest| until > latest);
        if until <= now || too_late {
            let next = self.expire_events(now).await?;
            *self.earliest_end.lock() = next;
        }
        self.sweep_list("secrets", Some("kube-system"), now, token_end)
            .await?;
        Ok(())
    }

    /// Deletes expired events. Returns the time of the next expiration.
    async fn expire_events(&self, now: Timestamp) -> Result<Timestamp, ReconcileError> {
        let ends = |event: &Value| self.end_after(last_change(event)?);
        // Events of both groups are stored together.
        let first = self.sweep_list("events", None, now, ends).await?;
        let youngest = self.end_after(now).unwrap_or(Timestamp::MAX);
        Ok(first.map_or(youngest, |first| first.min(youngest)))
    }

    fn end_after(&self, change: Timestamp) -> Option<Timestamp> {
        let end = change.as_second().saturating_add(self.event_ttl_seconds);
        Timestamp::from_second(end).ok()
    }

    /// Deletes expired objects of a resource. Returns the time of the next expiration.
    async fn sweep_list(
        &self,
        resource: &str,
        namespace: Option<&str>,
        now: Timestamp,
        ends: impl Fn(&Value) -> Option<Timestamp> + Send,
    ) -> Result<Option<Timestamp>, ReconcileError> {
        let resource = GroupResource {
            group: String::new(),
            resource: resource.to_owned(),
        };
        let served = self.hub.catalog();
        if !served.iter().any(|own| own.group_resource() == resource) {
            return Ok(None);
        }
        let mut next: Option<Timestamp> = None;
        let mut after = None;
        loop {
            let page = self.hub.list(&resource, namespace, after).await;
            let page = page.map_err(ReconcileError::list(&resource.resource, namespace))?;
            for object in &page.items {
                let Some(end) = ends(object) else { continue };
                if end > now {
                    next = Some(next.map_or(end, |next| next.min(end)));
                    continue;
                }
                // The precondition prevents deletion of an object that has changed since the list.
                let version = &object["metadata"]["resourceVersion"];
                let version = version.as_str().unwrap_or_default().to_owned();
                let deleting = self
                    .hub
                    .delete_listed(MANAGER, &resource, object, Some(version));
                deleting.await?;
            }
            after = page.next;
            if after.is_none() {
                return Ok(next);
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

/// Returns the time of an event's last change, from its own timestamps.
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

/// Returns the expiration time of a bootstrap token from its Secret. The data of the Secret is
/// base64.
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
    // A malformed time counts as expired, as in kube-controller-manager.
    Some(text.parse().unwrap_or(Timestamp::MIN))
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use futures::stream::{self, BoxStream, StreamExt as _};
    use serde_json::json;

    use super::*;
    use crate::builtin;
    use crate::lifecycle::{Act, ObjectPath, Observed, Page};
    use crate::resource::Catalog;
    use crate::status::ApiError;

    /// A test hub with one Event. The hub counts reads, and records the deletion of the Event.
    #[derive(Default)]
    struct OneEvent {
        lists: Mutex<u32>,
        deleted: Mutex<bool>,
    }

    impl Hub for OneEvent {
        fn catalog(&self) -> Arc<Catalog> {
            Arc::new(builtin::catalog(builtin::Kinds::Cluster))
        }

        fn get<'a>(
            &'a self,
            _path: &'a ObjectPath,
        ) -> BoxFuture<'a, Result<Option<Value>, ApiError>> {
            Box::pin(async { Ok(None) })
        }

        fn list<'a>(
            &'a self,
            resource: &'a GroupResource,
            _namespace: Option<&'a str>,
            _after: Option<String>,
        ) -> BoxFuture<'a, Result<Page, ApiError>> {
            let mut page = Page::default();
            if resource.resource == "events" {
                *self.lists.lock() += 1;
                page.items.push(json!({"metadata": {
                    "namespace": "a", "name": "e", "uid": "u", "resourceVersion": "1",
                    "creationTimestamp": "2026-01-01T00:00:00Z",
                }}));
            }
            Box::pin(async { Ok(page) })
        }

        fn act<'a>(
            &'a self,
            _manager: &'static str,
            _path: &'a ObjectPath,
            act: Act,
        ) -> BoxFuture<'a, Result<(), ApiError>> {
            *self.deleted.lock() |= matches!(act, Act::Delete { .. });
            Box::pin(async { Ok(()) })
        }

        fn observe(&self) -> BoxStream<'static, Observed> {
            stream::empty().boxed()
        }
    }

    #[tokio::test]
    async fn event_expiry_lists_no_events_before_the_next_expiration() {
        let hub = Arc::new(OneEvent::default());
        let now: Arc<Mutex<Timestamp>> =
            Arc::new(Mutex::new("2026-01-01T00:10:00Z".parse().unwrap()));
        let clock = Arc::clone(&now);
        let expiry = Expiry::new(hub.clone(), 3600, Arc::new(move || *clock.lock()));
        for minute in 10..60 {
            *now.lock() = format!("2026-01-01T00:{minute}:00Z").parse().unwrap();
            expiry.expire().await.unwrap();
        }
        assert_eq!((*hub.lists.lock(), *hub.deleted.lock()), (1, false));
        *now.lock() = "2026-01-01T01:00:00Z".parse().unwrap();
        expiry.expire().await.unwrap();
        assert_eq!((*hub.lists.lock(), *hub.deleted.lock()), (2, true));
    }

    #[test]
    fn event_expires_relative_to_its_last_change() {
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
    fn bootstrap_token_without_expiration_does_not_expire() {
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
