//! Reads and writes the objects of one kind and owner in a cluster.

mod write;

use std::fmt::Debug;
use std::ops::ControlFlow;

use k8s_openapi::{ClusterResourceScope, NamespaceResourceScope};
use kube::api::{Api, ListParams};
use kube::{Client, Resource};
use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::compare::Comparable;
use crate::error::{ApplyError, Failure, call};
use crate::inventory::{Inventory, MAX_OBJECTS};
use crate::owner::Owner;

/// Number of objects in a page of a list.
pub const PAGE_SIZE: u32 = 500;
/// Smallest page size. A response always has space for this number of objects.
const MIN_PAGE_SIZE: u32 = 4;
/// Maximum number of concurrent writes in a cluster.
pub const CONCURRENCY: usize = 8;

/// The method of writing objects.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum WriteMode {
    /// Replaces the whole object. The write removes fields that other writers added.
    #[default]
    Replace,
    /// Server-side apply: the API server merges the fields of the field manager, and takes over
    /// fields of other managers. Fields that only other writers set remain.
    ServerSideApply {
        /// Name of the field manager.
        field_manager: String,
    },
}

/// Reads and writes the objects of one kind and owner.
pub struct Objects<K> {
    client: Client,
    owner: Owner,
    all: Api<K>,
    api_in: fn(Client, &str) -> Api<K>,
    reserved_names: bool,
    mode: WriteMode,
}

impl<K> Debug for Objects<K> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Objects")
            .field("owner", &self.owner)
            .finish_non_exhaustive()
    }
}

impl<K> Objects<K> {
    /// Declares that only the owner uses the desired names, for example because the names contain
    /// UIDs. An object with a desired name then belongs to the owner even if the label is missing.
    #[must_use]
    pub fn with_reserved_names(self) -> Self {
        Self {
            reserved_names: true,
            ..self
        }
    }

    /// Sets the method of writing objects.
    #[must_use]
    pub fn with_mode(self, mode: WriteMode) -> Self {
        Self { mode, ..self }
    }
}

impl<K: Resource<DynamicType = (), Scope = ClusterResourceScope>> Objects<K> {
    /// Creates access to the objects of a cluster-scoped kind.
    pub fn cluster_scoped(client: &Client, owner: Owner) -> Self {
        Self {
            client: client.clone(),
            owner,
            all: Api::all(client.clone()),
            api_in: |client, _| Api::all(client),
            reserved_names: false,
            mode: WriteMode::default(),
        }
    }
}

impl<K: Resource<DynamicType = (), Scope = NamespaceResourceScope>> Objects<K> {
    /// Creates access to the objects of a namespaced kind, in every namespace.
    pub fn namespaced(client: &Client, owner: Owner) -> Self {
        Self {
            client: client.clone(),
            owner,
            all: Api::all(client.clone()),
            api_in: |client, namespace| Api::namespaced(client, namespace),
            reserved_names: false,
            mode: WriteMode::default(),
        }
    }
}

impl<K> Objects<K>
where
    K: Comparable + Resource<DynamicType = ()> + Serialize + DeserializeOwned + Debug,
{
    /// Lists the objects. On an error, adds a failure and returns `None`.
    pub async fn inventory_or(&self, failures: &mut Vec<Failure>) -> Option<Inventory<K>> {
        let listed = self.inventory().await;
        listed
            .map_err(|error| failures.push(Failure::in_cluster(error)))
            .ok()
    }

    /// Lists the objects of the owner.
    pub async fn inventory(&self) -> Result<Inventory<K>, ApplyError> {
        let (mut objects, mut complete) = (Vec::new(), true);
        let take = |page: Vec<K>, more: bool| {
            objects.extend(page);
            if more && objects.len() >= MAX_OBJECTS {
                complete = false;
                return ControlFlow::Break(());
            }
            ControlFlow::Continue(())
        };
        self.for_each_page(take).await?;
        Ok(Inventory { objects, complete })
    }

    /// Calls `take` with each page until `take` returns `ControlFlow::Break`. The second argument
    /// of `take` is true if more pages follow.
    pub async fn for_each_page(
        &self,
        mut take: impl FnMut(Vec<K>, bool) -> ControlFlow<()>,
    ) -> Result<(), ApplyError> {
        let operation = || format!("list every {} of Drover", K::kind(&()));
        let mut params = ListParams::default()
            .labels(&self.owner.selector())
            .limit(PAGE_SIZE);
        loop {
            let page = match call(operation(), self.all.list(&params)).await {
                Ok(page) => page,
                // The size of a response is limited, and objects may be large, so request a smaller
                // page.
                Err(ApplyError::Call { source, .. }) if is_unreadable(&source) => {
                    let limit = params.limit.unwrap_or(PAGE_SIZE);
                    if limit <= MIN_PAGE_SIZE {
                        let operation = operation();
                        return Err(ApplyError::Call { operation, source });
                    }
                    params.limit = Some((limit / 4).max(MIN_PAGE_SIZE));
                    continue;
                }
                Err(error) => return Err(error),
            };
            let next = page.metadata.continue_.filter(|token| !token.is_empty());
            let proceed = take(page.items, next.is_some()).is_continue();
            match next.filter(|_| proceed) {
                None => return Ok(()),
                Some(token) => params = params.continue_token(&token),
            }
        }
    }
}

/// Returns true if the client cannot read a response that the client has received.
fn is_unreadable(error: &kube::Error) -> bool {
    !matches!(error, kube::Error::Api(_))
}

#[cfg(test)]
mod tests;
