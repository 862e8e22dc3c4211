//! Garbage collection of dependents: background and foreground deletion, and orphaning.

mod decide;
mod graph;

use std::sync::Arc;
use std::time::Duration;

use futures::future::BoxFuture;
use http::StatusCode;
use parking_lot::Mutex;
use serde_json::Value;

use self::decide::{Decision, Dependent, FOREGROUND, ORPHAN, OwnerState, decide};
use self::graph::Graph;
use super::feed::{Metadata, Observed, OwnerReference};
use super::run::{Controller, Next, ReconcileError};
use super::{Act, Hub, MANAGER, ObjectPath, Propagation};
use crate::resource::{GroupResource, Scope};
use crate::status::ApiError;

/// The delay before the collector checks again whether the graph contains the latest changes of the
/// store.
const GRAPH_LAG: Duration = Duration::from_millis(100);

/// The garbage collector.
pub(super) struct Collector {
    hub: Arc<dyn Hub>,
    graph: Mutex<Graph>,
}

/// An object that the garbage collector checks.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(super) struct Item {
    path: ObjectPath,
    uid: String,
}

impl Collector {
    pub(super) fn new(hub: Arc<dyn Hub>) -> Self {
        Self {
            hub,
            graph: Mutex::default(),
        }
    }

    async fn collect(
        &self,
        item: &Item,
        also: &(dyn Fn(Item) + Send + Sync),
    ) -> Result<Next, ReconcileError> {
        let run = self.graph.lock().run();
        let live = self.hub.get(&item.path).await;
        let Some(object) = live.map_err(ReconcileError::read(&item.path))? else {
            return Ok(None);
        };
        let metadata = Metadata::of(&object);
        // A recreated object of the same name is another item.
        if metadata.uid != item.uid {
            return Ok(None);
        }
        let owners = if metadata.is_deleting() {
            Vec::new()
        } else {
            match self.owners(run, item, &metadata.owner_references).await? {
                Some(owners) => owners,
                None => return Ok(None),
            }
        };
        let Some(dependents) = self.dependents(&metadata) else {
            return Ok(Some(GRAPH_LAG));
        };
        match decide(&metadata, &owners, &dependents) {
            Decision::Keep => {}
            Decision::Wait(for_these) => for_these.into_iter().for_each(also),
            Decision::RemoveFinalizer(finalizer) => {
                self.remove_finalizer(item, object, finalizer).await?;
            }
            Decision::Orphan(dependents) => {
                for dependent in &dependents {
                    self.disown(dependent, std::slice::from_ref(&item.uid))
                        .await?;
                }
                self.remove_finalizer(item, object, ORPHAN).await?;
            }
            Decision::Disown(owners) => {
                self.disown(item, &owners).await?;
            }
            Decision::Delete {
                propagation,
                unblock,
            } => self.delete(item, object, propagation, unblock).await?,
        }
        Ok(None)
    }

    /// Returns the dependents of an owner, or `None` if the owner waits for its dependents and the
    /// graph may be incomplete.
    fn dependents(&self, owner: &Metadata) -> Option<Vec<Dependent>> {
        let graph = self.graph.lock();
        let known = !owner.is_deleting()
            || !affects_dependents(owner)
            || graph.knows_dependents_of_ending(&owner.uid);
        known.then(|| graph.dependents(&owner.uid))
    }

    /// Returns the states of all owners. Returns `None` if a reference is invalid. The collector
    /// then keeps the object.
    async fn owners(
        &self,
        run: u64,
        item: &Item,
        references: &[OwnerReference],
    ) -> Result<Option<Vec<OwnerState>>, ReconcileError> {
        let mut states = Vec::with_capacity(references.len());
        for reference in references {
            let (resource, scope) = self.resource_of(reference)?;
            let namespace = match scope {
                Scope::Cluster => "",
                // A cluster-scoped object cannot have a namespaced owner.
                Scope::Namespaced if item.path.namespace.is_empty() => return Ok(None),
                Scope::Namespaced => item.path.namespace.as_str(),
            };
            let path = ObjectPath {
                resource,
                namespace: namespace.to_owned(),
                name: reference.name.clone(),
            };
            let owner = self.hub.get(&path).await;
            let owner = owner.map_err(ReconcileError::read(&path))?;
            let state = OwnerState::of(reference, owner.as_ref().map(Metadata::of));
            if !matches!(state, OwnerState::Gone(_)) {
                self.graph.lock().verified(run, reference, &path.namespace);
            }
            states.push(state);
        }
        Ok(Some(states))
    }

    fn resource_of(
        &self,
        reference: &OwnerReference,
    ) -> Result<(GroupResource, Scope), ReconcileError> {
        self.hub
            .catalog()
            .iter()
            .find(|resource| {
                resource.kind == reference.kind
                    && resource.group_version.to_string() == reference.api_version
            })
            .map(|resource| (resource.group_resource(), resource.scope))
            .ok_or_else(|| ReconcileError::UnknownKind {
                api_version: reference.api_version.clone(),
                kind: reference.kind.clone(),
            })
    }

    async fn remove_finalizer(
        &self,
        item: &Item,
        mut object: Value,
        finalizer: &str,
    ) -> Result<(), ReconcileError> {
        if let Some(list) = object["metadata"]["finalizers"].as_array_mut() {
            list.retain(|own| own != finalizer);
        }
        self.update(&item.path, object).await
    }

    /// Removes the references to these owners from an object.
    async fn disown(&self, item: &Item, owners: &[String]) -> Result<(), ReconcileError> {
        let live = self.hub.get(&item.path).await;
        let Some(mut object) = live.map_err(ReconcileError::read(&item.path))? else {
            return Ok(());
        };
        if object["metadata"]["uid"] != item.uid.as_str() {
            return Ok(());
        }
        let Some(list) = object["metadata"]["ownerReferences"].as_array_mut() else {
            return Ok(());
        };
        let before = list.len();
        list.retain(|own| !owners.iter().any(|owner| own["uid"] == owner.as_str()));
        if list.len() == before {
            return Ok(());
        }
        self.update(&item.path, object).await
    }

    async fn delete(
        &self,
        item: &Item,
        mut object: Value,
        propagation: Propagation,
        unblock: bool,
    ) -> Result<(), ReconcileError> {
        let mut resource_version = object["metadata"]["resourceVersion"]
            .as_str()
            .map(str::to_owned);
        if unblock {
            let list = object["metadata"]["ownerReferences"].as_array_mut();
            for reference in list.into_iter().flatten() {
                reference["blockOwnerDeletion"] = false.into();
            }
            self.update(&item.path, object).await?;
            resource_version = None;
        }
        let act = Act::Delete {
            uid: item.uid.clone(),
            resource_version,
            propagation,
        };
        let outcome = self.hub.act(MANAGER, &item.path, act).await;
        ignore_missing(outcome).map_err(ReconcileError::write(&item.path))
    }

    async fn update(&self, path: &ObjectPath, object: Value) -> Result<(), ReconcileError> {
        let act = Act::Update {
            object,
            subresource: "",
        };
        let outcome = self.hub.act(MANAGER, path, act).await;
        ignore_missing(outcome).map_err(ReconcileError::write(path))
    }
}

/// Converts a 404 response to success.
fn ignore_missing(outcome: Result<(), ApiError>) -> Result<(), ApiError> {
    match outcome {
        Err(error) if error.code == StatusCode::NOT_FOUND => Ok(()),
        outcome => outcome,
    }
}

impl Controller for Collector {
    type Key = Item;

    const NAME: &'static str = "collector";

    fn observe(&self, observed: &Observed) -> Vec<Item> {
        let mut graph = self.graph.lock();
        match observed {
            Observed::Restart => {
                graph.clear();
                Vec::new()
            }
            Observed::Synced => {
                graph.synced();
                Vec::new()
            }
            // Events are numerous, and have neither owners nor dependents, so they are ignored.
            Observed::Put(seen) | Observed::Gone(seen) if is_event(&seen.path) => Vec::new(),
            Observed::Put(seen) => graph.put(&seen.path, &seen.metadata),
            Observed::Gone(seen) => graph.gone(&seen.path, &seen.metadata),
        }
    }

    fn reconcile<'a>(
        &'a self,
        key: &'a Item,
        also: &'a (dyn Fn(Item) + Send + Sync),
    ) -> BoxFuture<'a, Result<Next, ReconcileError>> {
        Box::pin(self.collect(key, also))
    }
}

fn is_event(path: &ObjectPath) -> bool {
    let GroupResource { group, resource } = &path.resource;
    resource == "events" && matches!(group.as_str(), "" | "events.k8s.io")
}

/// Reports whether the object has the finalizer of foreground deletion or orphaning.
fn affects_dependents(metadata: &Metadata) -> bool {
    metadata.has_finalizer(FOREGROUND) || metadata.has_finalizer(ORPHAN)
}
