//! Queries the hub to confirm that the subject, cluster or project of a binding was deleted.
//!
//! The stores of different kinds are updated independently, and their ages can differ by minutes.
//! The hub can have an object that the store of its kind lacks. The controller queries the hub
//! before it deletes a binding, because a deletion is permanent.

use std::collections::HashMap;
use std::fmt::Debug;

use drover_access::grants::Binding;
use drover_api::kinds::{Cluster, Project, User};
use k8s_openapi::ClusterResourceScope;
use kube::{Api, Client, Resource, ResourceExt as _};
use serde::de::DeserializeOwned;

use super::decide::{Dependency, DependencyKind, dependencies};
use crate::changes::{Change, Write};
use drover_hub::{HubError, Stores, call};

/// Maximum number of bindings that one reconciliation deletes. The next reconciliation continues.
const MAX_DELETIONS: usize = 100;

/// The hub's responses about subjects, clusters and projects during one reconciliation.
pub(super) struct Orphans<'a> {
    client: Client,
    stores: &'a Stores,
    /// The objects for which the hub was queried. The value is true if the object is deleted.
    deleted_objects: HashMap<(DependencyKind, String), bool>,
    deleted: usize,
    postponed: usize,
    failed: Option<HubError>,
}

impl<'a> Orphans<'a> {
    pub(super) fn new(client: Client, stores: &'a Stores) -> Self {
        Self {
            client,
            stores,
            deleted_objects: HashMap::new(),
            deleted: 0,
            postponed: 0,
            failed: None,
        }
    }

    /// Returns the changes. Omits deletions that the hub does not confirm, and deletions above the
    /// maximum.
    pub(super) async fn only<K>(
        &mut self,
        changes: Vec<Change<K>>,
        binding: impl for<'b> Fn(&'b K) -> Binding<'b>,
    ) -> Vec<Change<K>> {
        let mut remaining = Vec::with_capacity(changes.len());
        for pin_uid in changes {
            if !matches!(pin_uid.write, Write::Delete)
                || self.is_deletion_confirmed(binding(&pin_uid.object)).await
            {
                remaining.push(pin_uid);
            }
        }
        remaining
    }

    /// Logs the number of postponed deletions, and returns the error of the first failed query.
    pub(super) fn end(self) -> Result<(), HubError> {
        if self.postponed > 0 {
            tracing::warn!(
                deleted = self.deleted,
                left = self.postponed,
                "postponed the deletion of orphaned bindings"
            );
        }
        self.failed.map_or(Ok(()), Err)
    }

    async fn is_deletion_confirmed(&mut self, binding: Binding<'_>) -> bool {
        if self.deleted >= MAX_DELETIONS {
            self.postponed += 1;
            return false;
        }
        for missing in dependencies(binding) {
            if !missing.is_known(self.stores) && self.is_gone(missing).await {
                self.deleted += 1;
                return true;
            }
        }
        false
    }

    /// Queries the hub and returns true if the object is deleted. After a failed query, returns
    /// false and sends no further query in this reconciliation.
    async fn is_gone(&mut self, missing: Dependency<'_>) -> bool {
        let key = (missing.kind, missing.uid.to_owned());
        if let Some(deleted_objects) = self.deleted_objects.get(&key) {
            return *deleted_objects;
        }
        if self.failed.is_some() {
            return false;
        }
        let (client, name) = (&self.client, missing.name);
        let stored = match missing.kind {
            DependencyKind::User => uid_of::<User>(client, name).await,
            DependencyKind::Cluster => uid_of::<Cluster>(client, name).await,
            DependencyKind::Project => uid_of::<Project>(client, name).await,
        };
        match stored {
            Ok(uid) => {
                let deleted_objects = uid.as_deref() != Some(missing.uid);
                self.deleted_objects.insert(key, deleted_objects);
                deleted_objects
            }
            Err(error) => {
                self.failed = Some(error);
                false
            }
        }
    }
}

async fn uid_of<K>(client: &Client, name: &str) -> Result<Option<String>, HubError>
where
    K: Resource<Scope = ClusterResourceScope, DynamicType = ()> + Clone + Debug + DeserializeOwned,
{
    let api: Api<K> = Api::all(client.clone());
    let stored = call("read the object of a binding", api.get_opt(name)).await?;
    Ok(stored.and_then(|object| object.uid()))
}

#[cfg(test)]
mod tests;
