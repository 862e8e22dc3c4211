//! The controller of CRDs. The controller accepts the names of a CRD, establishes the CRD, and
//! deletes the custom objects before it removes a deleted CRD.

mod status;

use std::sync::Arc;
use std::time::Duration;

use futures::future::BoxFuture;
use parking_lot::Mutex;
use serde_json::{Value, json};

pub use self::status::next_status;
pub(crate) use self::status::{CLEANUP, INSTALLING, marked_for_deletion};
use self::status::{Cleanup, is_true, terminating};
use super::feed::{Metadata, ObjectCache, Observed};
use super::run::{Controller, Next, ReconcileError};
use super::{Hub, ObjectPath};
use crate::access::Clock;
use crate::crd;
use crate::resource::{Catalog, GroupResource, Origin};

const GROUP: &str = "apiextensions.k8s.io";
const RESOURCE: &str = "customresourcedefinitions";
/// The field manager of writes. In Kubernetes, kube-apiserver itself runs this controller.
const MANAGER: &str = "kube-apiserver";
/// Interval at which the controller checks whether objects of a deleted CRD remain.
const CLEANUP_PAUSE: Duration = Duration::from_secs(1);

/// Interval at which the controller checks whether the catalog serves a CRD. The catalog serves a
/// new CRD after about a millisecond.
const SERVING_PAUSE: Duration = Duration::from_millis(2);

/// The controller of CRDs.
pub(super) struct Definitions {
    hub: Arc<dyn Hub>,
    clock: Clock,
    /// Group and names of all CRDs, without their schemas.
    known: Mutex<ObjectCache<Value>>,
}

impl Definitions {
    pub(super) fn new(hub: Arc<dyn Hub>, clock: Clock) -> Self {
        Self {
            hub,
            clock,
            known: Mutex::default(),
        }
    }

    async fn establish(&self, name: &str) -> Result<Next, ReconcileError> {
        let path = ObjectPath::new(GROUP, RESOURCE, "", name);
        let live = self.hub.get(&path).await;
        let Some(mut object) = live.map_err(ReconcileError::read(&path))? else {
            return Ok(None);
        };
        let metadata = Metadata::of(&object);
        if metadata.is_deleting() && metadata.has_finalizer(CLEANUP) {
            return self.clean_up(&path, object).await;
        }
        let mut others = built_in_names(&self.hub.catalog(), text(&object["spec"]["group"]));
        {
            let known = self.known.lock();
            if !known.complete {
                // Another CRD may have the names; all CRDs are reconciled after the initial list.
                return Ok(None);
            }
            let definitions = known.all.iter().filter(|(other, _)| *other != name);
            others.extend(definitions.map(|(_, definition)| definition.clone()));
        }
        let Some(status) = next_status(&object, &others, (self.clock)()) else {
            return Ok(None);
        };
        let established = |status| is_true(status, "Established");
        let becomes = established(&status) && !established(&object["status"]);
        if becomes && !self.is_served(&object) {
            return Ok(Some(SERVING_PAUSE));
        }
        object["status"] = status;
        self.hub.update(MANAGER, &path, object, "status").await?;
        // The status update triggers the next reconciliation.
        Ok(None)
    }

    /// Reports whether the catalog serves a CRD. A CRD must be served before it is established,
    /// because clients use established CRDs.
    fn is_served(&self, definition: &Value) -> bool {
        let catalog = self.hub.catalog();
        // This function is polled repeatedly, so it compiles no rules.
        let mut missing = crd::served_names(definition)
            .filter(|(group, version, plural)| catalog.find(group, version, plural).is_none());
        // An unreadable CRD is never served; the log has its error.
        missing.next().is_none() || !crd::is_readable(definition)
    }

    async fn clean_up(&self, path: &ObjectPath, mut object: Value) -> Result<Next, ReconcileError> {
        if let Some(status) = terminating(&object, &Cleanup::Running, (self.clock)()) {
            object["status"] = status;
            self.hub.update(MANAGER, path, object, "status").await?;
            // Requests in progress receive time to finish their creates.
            return Ok(Some(CLEANUP_PAUSE));
        }
        let outcome = if is_true(&object["status"], "Established") {
            let resource = GroupResource {
                group: text(&object["spec"]["group"]).to_owned(),
                resource: text(&object["spec"]["names"]["plural"]).to_owned(),
            };
            match self.delete_instances(&resource).await {
                Ok(0) => Cleanup::Completed,
                Ok(_) => return Ok(Some(CLEANUP_PAUSE)),
                Err(error) => return Err(self.failed(path, object, error).await),
            }
        } else {
            Cleanup::NeverEstablished
        };
        if let Some(status) = terminating(&object, &outcome, (self.clock)()) {
            object["status"] = status;
        }
        if let Some(list) = object["metadata"]["finalizers"].as_array_mut() {
            list.retain(|own| own != CLEANUP);
        }
        self.hub.update(MANAGER, path, object, "").await?;
        Ok(None)
    }

    /// Writes the error to the status of the CRD, and returns the error.
    async fn failed(
        &self,
        path: &ObjectPath,
        mut object: Value,
        error: ReconcileError,
    ) -> ReconcileError {
        let outcome = Cleanup::Failed(error.to_string());
        if let Some(status) = terminating(&object, &outcome, (self.clock)()) {
            object["status"] = status;
            if let Err(second) = self.hub.update(MANAGER, path, object, "status").await {
                tracing::debug!(%path, error = %second, "failed to write an error to the status \
                                                         of a CustomResourceDefinition");
            }
        }
        error
    }

    /// Deletes all objects of the resource, and returns the number of remaining objects.
    async fn delete_instances(&self, resource: &GroupResource) -> Result<usize, ReconcileError> {
        let mut remaining = 0;
        let mut after = None;
        loop {
            let page = self.hub.list(resource, None, after).await;
            let page = page.map_err(ReconcileError::list(&resource.resource, None))?;
            for item in &page.items {
                if !Metadata::of(item).is_deleting() {
                    let deleting = self.hub.delete_listed(MANAGER, resource, item, None);
                    deleting.await?;
                }
                remaining += 1;
            }
            after = page.next;
            if after.is_none() {
                return Ok(remaining);
            }
        }
    }
}

/// Returns the names of the built-in kinds in a group. The values have the form of CRDs without
/// `metadata.name`.
fn built_in_names(catalog: &Catalog, group: &str) -> Vec<Value> {
    catalog
        .iter()
        .filter(|own| own.origin == Origin::BuiltIn && own.group_version.group == group)
        .map(|own| {
            json!({
                "spec": { "group": group },
                "status": { "acceptedNames": {
                    "plural": own.plural, "singular": own.singular, "kind": own.kind,
                    "listKind": format!("{}List", own.kind), "shortNames": own.short_names,
                } },
            })
        })
        .collect()
}

impl Controller for Definitions {
    type Key = String;

    const NAME: &'static str = "definitions";

    fn observe(&self, observed: &Observed) -> Vec<String> {
        let mut known = self.known.lock();
        let (seen, gone) = match observed {
            Observed::Restart => {
                *known = ObjectCache::default();
                return Vec::new();
            }
            Observed::Synced => {
                known.complete = true;
                return known.all.keys().cloned().collect();
            }
            Observed::Put(seen) => (seen, false),
            Observed::Gone(seen) => (seen, true),
        };
        let resource = &seen.path.resource;
        if resource.group != GROUP || resource.resource != RESOURCE {
            return Vec::new();
        }
        let name = &seen.path.name;
        let former = if gone {
            known.all.remove(name)
        } else {
            let Ok(object) = serde_json::from_slice::<Value>(&seen.value) else {
                return Vec::new();
            };
            known.all.insert(name.clone(), slim(&object))
        };
        let mut keys = vec![name.clone()];
        // Another CRD of the group may be waiting for the freed names.
        let now = known.all.get(name);
        if let Some(former) = former.filter(|former| now != Some(former)) {
            let others = known
                .all
                .iter()
                .filter(|(_, other)| other["spec"] == former["spec"]);
            keys.extend(
                others
                    .map(|(other, _)| other.clone())
                    .filter(|other| other != name),
            );
        }
        keys
    }

    fn reconcile<'a>(
        &'a self,
        key: &'a String,
        _also: &'a (dyn Fn(String) + Send + Sync),
    ) -> BoxFuture<'a, Result<Next, ReconcileError>> {
        Box::pin(self.establish(key))
    }
}

/// Returns a copy of a CRD with only the group and the names, because only these fields affect
/// other CRDs.
fn slim(object: &Value) -> Value {
    json!({
        "metadata": { "name": object["metadata"]["name"] },
        "spec": { "group": object["spec"]["group"] },
        "status": { "acceptedNames": object["status"]["acceptedNames"] },
    })
}

fn text(value: &Value) -> &str {
    value.as_str().unwrap_or_default()
}
