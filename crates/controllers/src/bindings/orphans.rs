//! Whether whom a binding is for, or where, is gone for ever, by the hub's own word.
//!
//! Memory hears of each kind by itself, and of one may be minutes behind another. What is missing in
//! memory is therefore no reason to delete a binding, which nobody would bring back.

use std::collections::HashMap;
use std::fmt::Debug;

use drover_access::grants::Binding;
use drover_api::kinds::{Cluster, Project, User};
use k8s_openapi::ClusterResourceScope;
use kube::{Api, Client, Resource, ResourceExt as _};
use serde::de::DeserializeOwned;

use super::decide::{Holder, Pinned, pinned};
use crate::status_writer::{Change, Write};
use drover_hub::{HubError, Stores, call};

/// Bindings that are deleted in one look; what is beyond waits for the next.
const MOST: usize = 100;

/// What the hub says in one look of those whom bindings are for.
pub(super) struct Orphans<'a> {
    client: Client,
    stores: &'a Stores,
    /// Whether they are gone, as far as it was asked.
    gone: HashMap<(Holder, String), bool>,
    deleted: usize,
    put_off: usize,
    failed: Option<HubError>,
}

impl<'a> Orphans<'a> {
    pub(super) fn new(client: Client, stores: &'a Stores) -> Self {
        Self {
            client,
            stores,
            gone: HashMap::new(),
            deleted: 0,
            put_off: 0,
            failed: None,
        }
    }

    /// Leaves out the deletions of those that are no orphans by the hub's word, and those beyond what
    /// one look deletes.
    pub(super) async fn only<K>(
        &mut self,
        changes: Vec<Change<K>>,
        said: impl for<'b> Fn(&'b K) -> Binding<'b>,
    ) -> Vec<Change<K>> {
        let mut kept = Vec::with_capacity(changes.len());
        for one in changes {
            if !matches!(one.write, Write::Delete) || self.may_go(said(&one.object)).await {
                kept.push(one);
            }
        }
        kept
    }

    /// What went wrong, and a word about what has to wait.
    pub(super) fn end(self) -> Result<(), HubError> {
        if self.put_off > 0 {
            tracing::warn!(
                deleted = self.deleted,
                left = self.put_off,
                "many bindings are for what is not there any more: some are deleted later"
            );
        }
        self.failed.map_or(Ok(()), Err)
    }

    async fn may_go(&mut self, binding: Binding<'_>) -> bool {
        if self.deleted >= MOST {
            self.put_off += 1;
            return false;
        }
        for missing in pinned(binding) {
            if !missing.is_known(self.stores) && self.is_gone(missing).await {
                self.deleted += 1;
                return true;
            }
        }
        false
    }

    /// What is not known is not gone: a hub that fails is not asked again in this look.
    async fn is_gone(&mut self, missing: Pinned<'_>) -> bool {
        let key = (missing.holder, missing.uid.to_owned());
        if let Some(gone) = self.gone.get(&key) {
            return *gone;
        }
        if self.failed.is_some() {
            return false;
        }
        let (client, name) = (&self.client, missing.name);
        let stored = match missing.holder {
            Holder::User => uid_of::<User>(client, name).await,
            Holder::Cluster => uid_of::<Cluster>(client, name).await,
            Holder::Project => uid_of::<Project>(client, name).await,
        };
        match stored {
            Ok(uid) => {
                let gone = uid.as_deref() != Some(missing.uid);
                self.gone.insert(key, gone);
                gone
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
    let stored = call("read what a binding is for", api.get_opt(name)).await?;
    Ok(stored.and_then(|object| object.uid()))
}

#[cfg(test)]
mod tests;
