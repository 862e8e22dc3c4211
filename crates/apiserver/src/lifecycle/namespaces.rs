//! Deletion of namespaces: deletes the content, then removes the finalizer `kubernetes`.

mod conditions;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use futures::future::BoxFuture;
use futures::{StreamExt, stream};
use parking_lot::Mutex;
use serde_json::{Value, json};

use self::conditions::conditions;
use super::feed::{Metadata, Observed};
use super::run::{Controller, Next, ReconcileError};
use super::{Act, Hub, MANAGER, ObjectPath, Propagation};
use crate::access::Clock;
use crate::resource::{GroupResource, Scope};

const FINALIZER: &str = "kubernetes";
/// Maximum number of concurrent deletions.
const CONCURRENCY: usize = 8;
/// Assumed time that other controllers need to remove their finalizers, in seconds.
const FINALIZER_SECONDS: u64 = 15;

/// The controller of namespaces.
pub(super) struct Namespaces {
    hub: Arc<dyn Hub>,
    clock: Clock,
    /// Terminating namespaces. A deleted object may be the last content of such a namespace.
    terminating: Mutex<BTreeSet<String>>,
}

/// The remaining content of a namespace.
#[derive(Debug, Default, PartialEq, Eq)]
struct Remaining {
    resources: BTreeMap<GroupResource, usize>,
    finalizers: BTreeMap<String, usize>,
    grace_seconds: u64,
    errors: Vec<String>,
}

impl Namespaces {
    pub(super) fn new(hub: Arc<dyn Hub>, clock: Clock) -> Self {
        Self {
            hub,
            clock,
            terminating: Mutex::default(),
        }
    }

    async fn empty(&self, name: &str) -> Result<Next, ReconcileError> {
        let path = ObjectPath::new("", "namespaces", "", name);
        let Some(mut namespace) = self.read(&path).await? else {
            self.terminating.lock().remove(name);
            return Ok(None);
        };
        if !Metadata::of(&namespace).is_deleting() {
            return Ok(None);
        }
        if namespace["status"]["phase"] != "Terminating" {
            namespace["status"]["phase"] = "Terminating".into();
            self.hub.update(MANAGER, &path, namespace, "status").await?;
            return Ok(Some(Duration::ZERO));
        }
        if finalizers(&namespace).is_empty() {
            return Ok(None);
        }
        let remaining = self.delete_content(name).await?;
        let old = namespace["status"]["conditions"].as_array();
        let old = old.map_or(&[][..], Vec::as_slice);
        if let Some(new) = conditions(old, &remaining, (self.clock)()) {
            namespace["status"]["conditions"] = new.into();
            self.hub.update(MANAGER, &path, namespace, "status").await?;
        }
        match remaining.wait() {
            Wait::Failed => Err(ReconcileError::Content(remaining.errors.join(", "))),
            Wait::For(time) => Ok(Some(time)),
            Wait::Over => self.finalize(&path).await,
        }
    }

    async fn finalize(&self, path: &ObjectPath) -> Result<Next, ReconcileError> {
        if let Some(mut namespace) = self.read(path).await? {
            let mut others = finalizers(&namespace);
            others.retain(|finalizer| finalizer != FINALIZER);
            namespace["spec"]["finalizers"] = json!(others);
            self.hub
                .update(MANAGER, path, namespace, "finalize")
                .await?;
        }
        Ok(None)
    }

    /// Deletes the content of a namespace, and returns the remaining content. Pods are deleted
    /// first (KEP-5080).
    async fn delete_content(&self, namespace: &str) -> Result<Remaining, ReconcileError> {
        let mut remaining = Remaining::default();
        let pods = GroupResource {
            group: String::new(),
            resource: "pods".to_owned(),
        };
        let mut resources = self.namespaced();
        if resources.remove(&pods) {
            self.delete_all(&pods, namespace, &mut remaining).await?;
            if !remaining.resources.is_empty() {
                return Ok(remaining);
            }
        }
        for resource in resources {
            self.delete_all(&resource, namespace, &mut remaining)
                .await?;
        }
        Ok(remaining)
    }

    fn namespaced(&self) -> BTreeSet<GroupResource> {
        self.hub
            .catalog()
            .iter()
            .filter(|resource| resource.scope == Scope::Namespaced)
            .filter(|resource| resource.verbs.contains(&"delete"))
            .map(|resource| resource.group_resource())
            .collect()
    }

    async fn delete_all(
        &self,
        resource: &GroupResource,
        namespace: &str,
        remaining: &mut Remaining,
    ) -> Result<(), ReconcileError> {
        let mut after = None;
        loop {
            let page = self.list(resource, namespace, after).await?;
            let deletions: Vec<BoxFuture<'_, Option<String>>> = page
                .items
                .iter()
                .filter(|item| !Metadata::of(item).is_deleting())
                .map(|item| Box::pin(self.delete(resource, namespace, item)) as _)
                .collect();
            let outcomes = stream::iter(deletions).buffer_unordered(CONCURRENCY);
            let errors: Vec<_> = outcomes.collect().await;
            remaining.errors.extend(errors.into_iter().flatten());
            after = page.next;
            if after.is_none() {
                break;
            }
        }
        let mut after = None;
        loop {
            let page = self.list(resource, namespace, after).await?;
            for item in &page.items {
                remaining.count(resource, item);
            }
            after = page.next;
            if after.is_none() {
                return Ok(());
            }
        }
    }

    /// Deletes an object. Returns the error message if the deletion fails.
    async fn delete(
        &self,
        resource: &GroupResource,
        namespace: &str,
        item: &Value,
    ) -> Option<String> {
        let path = ObjectPath {
            resource: resource.clone(),
            namespace: namespace.to_owned(),
            name: item["metadata"]["name"].as_str()?.to_owned(),
        };
        let act = Act::Delete {
            uid: Metadata::of(item).uid,
            resource_version: None,
            propagation: Propagation::Background,
        };
        let outcome = self.hub.act(MANAGER, &path, act).await;
        outcome
            .err()
            .filter(|error| error.code != http::StatusCode::NOT_FOUND)
            .map(|error| error.message)
    }

    async fn list(
        &self,
        resource: &GroupResource,
        namespace: &str,
        after: Option<String>,
    ) -> Result<super::Page, ReconcileError> {
        let page = self.hub.list(resource, Some(namespace), after).await;
        page.map_err(ReconcileError::list(&resource.resource, Some(namespace)))
    }

    async fn read(&self, path: &ObjectPath) -> Result<Option<Value>, ReconcileError> {
        self.hub.get(path).await.map_err(ReconcileError::read(path))
    }
}

impl Controller for Namespaces {
    type Key = String;

    const NAME: &'static str = "namespaces";

    fn observe(&self, observed: &Observed) -> Vec<String> {
        let (seen, gone) = match observed {
            Observed::Put(seen) => (seen, false),
            Observed::Gone(seen) => (seen, true),
            Observed::Restart | Observed::Synced => return Vec::new(),
        };
        let mut terminating = self.terminating.lock();
        let path = &seen.path;
        if path.resource.resource == "namespaces" && path.resource.group.is_empty() {
            if gone {
                terminating.remove(&path.name);
            } else if seen.metadata.is_deleting() {
                terminating.insert(path.name.clone());
                return vec![path.name.clone()];
            }
        } else if gone && terminating.contains(&path.namespace) {
            return vec![path.namespace.clone()];
        }
        Vec::new()
    }

    fn reconcile<'a>(
        &'a self,
        key: &'a String,
        _also: &'a (dyn Fn(String) + Send + Sync),
    ) -> BoxFuture<'a, Result<Next, ReconcileError>> {
        Box::pin(self.empty(key))
    }
}

fn finalizers(namespace: &Value) -> Vec<String> {
    let list = namespace["spec"]["finalizers"].as_array();
    list.into_iter()
        .flatten()
        .filter_map(Value::as_str)
        .map(str::to_owned)
        .collect()
}

#[derive(Debug, PartialEq, Eq)]
enum Wait {
    Over,
    For(Duration),
    Failed,
}

impl Remaining {
    fn count(&mut self, resource: &GroupResource, item: &Value) {
        *self.resources.entry(resource.clone()).or_default() += 1;
        for finalizer in Metadata::of(item).finalizers {
            *self.finalizers.entry(finalizer).or_default() += 1;
        }
        let ended = matches!(
            item["status"]["phase"].as_str(),
            Some("Succeeded" | "Failed")
        );
        if resource.resource == "pods" && !ended {
            let grace = item["spec"]["terminationGracePeriodSeconds"].as_u64();
            self.grace_seconds = self.grace_seconds.max(grace.unwrap_or_default());
        }
    }

    /// Returns the delay before the next check.
    fn wait(&self) -> Wait {
        if !self.errors.is_empty() {
            return Wait::Failed;
        }
        if self.resources.is_empty() {
            return Wait::Over;
        }
        let seconds = match self.grace_seconds {
            0 if self.finalizers.is_empty() => 0,
            0 => FINALIZER_SECONDS,
            grace => grace,
        };
        // The delay is half of the expected time; deletions trigger earlier checks.
        Wait::For(Duration::from_secs(seconds / 2 + 1))
    }
}
