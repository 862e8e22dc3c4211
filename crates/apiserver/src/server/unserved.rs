//! Deletes stored objects of built-in kinds that the server does not serve. An earlier version, or
//! a server with different [`Kinds`](crate::builtin::Kinds), may have stored these objects. Clients
//! can neither read nor delete the objects. The finalizers of the objects block the deletion of
//! namespaces.

use std::collections::BTreeSet;

use futures::{StreamExt as _, TryStreamExt as _, stream};

use crate::builtin::{self, Kinds};
use crate::resource::{Catalog, GroupResource, Resource};
use crate::store::{At, Change, CommitError, List, ListError, Rest, Store};

/// Number of objects per read of the store.
const PAGE_SIZE: usize = 500;
/// Maximum number of concurrent deletions.
const CONCURRENCY: usize = 64;

/// The reason why the server cannot delete unserved objects.
#[derive(Debug, thiserror::Error)]
pub enum UnservedError {
    /// The objects of a kind cannot be listed.
    #[error("cannot list stored {resource}")]
    List {
        /// The plural name of the resource.
        resource: String,
        /// The error of the store.
        source: ListError,
    },
    /// An object cannot be deleted.
    #[error("cannot delete stored object {key}")]
    Delete {
        /// The store's key of the object.
        key: String,
        /// The error of the store.
        source: CommitError,
    },
}

/// Deletes the objects of all built-in kinds that `served` does not contain.
///
/// Dependents of the objects stay, because the garbage collector deletes no object whose owner has
/// an unknown kind.
pub(super) async fn delete(store: &Store, served: &Catalog) -> Result<(), UnservedError> {
    for kind in unserved(served) {
        let deleted = delete_all(store, &kind).await?;
        if deleted > 0 {
            tracing::warn!(
                group = kind.group,
                resource = kind.resource,
                objects = deleted,
                "deleted stored objects of a kind that this server does not serve"
            );
        }
    }
    Ok(())
}

fn unserved(served: &Catalog) -> Vec<GroupResource> {
    let prefixes: BTreeSet<String> = served.iter().map(|kind| kind.prefix(None)).collect();
    let all = builtin::catalog(Kinds::Cluster);
    // Events of both groups share a prefix.
    let unserved = all
        .iter()
        .filter(|kind| !prefixes.contains(&kind.prefix(None)));
    let unserved: BTreeSet<GroupResource> = unserved
        .map(|kind| Resource::group_resource(kind))
        .collect();
    unserved.into_iter().collect()
}

async fn delete_all(store: &Store, kind: &GroupResource) -> Result<usize, UnservedError> {
    let prefix = crate::resource::prefix(&kind.group, &kind.resource, None);
    let mut deleted = 0;
    loop {
        let list = List {
            prefix: prefix.clone(),
            after: None,
            limit: Some(PAGE_SIZE),
            at: At::Latest,
            rest: Rest::Peek,
        };
        let page = store.list(list).await;
        let page = page.map_err(|source| UnservedError::List {
            resource: kind.resource.clone(),
            source,
        })?;
        if page.items.is_empty() {
            return Ok(deleted);
        }
        deleted += page.items.len();
        stream::iter(page.items)
            .map(|stored| async move {
                let key = stored.key.to_string();
                let change = Change::delete(key.clone(), stored.revision);
                let outcome = store.commit(change).await;
                outcome.map_err(|source| UnservedError::Delete { key, source })
            })
            .buffer_unordered(CONCURRENCY)
            .try_for_each(|_| async { Ok(()) })
            .await?;
    }
}
