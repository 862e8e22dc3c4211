//! Checks the creation of custom objects against their CRD.

use std::collections::{BTreeMap, BTreeSet};

use parking_lot::Mutex;

use crate::lifecycle::{DEFINITION_CLEANUP, Metadata};
use crate::resource::{GroupResource, Origin, key};
use crate::serve::shared::Target;
use crate::status::ApiError;
use crate::store::{Require, Store};

/// Maximum number of cached CRDs. The cache is cleared above this number.
const MAX_CACHED: usize = 1024;

/// A cache of CRD states by revision. The cache avoids parsing a large CRD for each write of a
/// custom object.
#[derive(Debug)]
pub(crate) struct Definitions {
    known: Mutex<BTreeMap<String, CachedDefinition>>,
    /// The resources of the embedding program, which have no CRD.
    undefined: BTreeSet<GroupResource>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct CachedDefinition {
    revision: u64,
    /// True if the CRD waits for deletion of its objects.
    terminating: bool,
}

impl Definitions {
    pub(crate) fn new(undefined: BTreeSet<GroupResource>) -> Self {
        Self {
            known: Mutex::default(),
            undefined,
        }
    }

    /// Rejects a create if the CRD is deleted or terminating. Returns the revision of the CRD,
    /// which must not change until the create.
    pub(crate) async fn check_open(
        &self,
        store: &Store,
        target: &Target,
    ) -> Result<Option<Require>, ApiError> {
        let kind = target.group_resource();
        if target.resource.origin == Origin::BuiltIn || self.undefined.contains(&kind) {
            return Ok(None);
        }
        let (group, plural) = (target.group(), &target.resource.plural);
        let key = key(
            "apiextensions.k8s.io",
            "customresourcedefinitions",
            "",
            &format!("{plural}.{group}"),
        );
        let Some(known) = self.find(store, &key).await? else {
            // The catalog is updated from the store with a short delay.
            return Err(ApiError::unknown_path());
        };
        if known.terminating {
            return Err(ApiError::definition_terminating(group, plural));
        }
        let revision = known.revision;
        Ok(Some(Require { key, revision }))
    }

    async fn find(&self, store: &Store, key: &str) -> Result<Option<CachedDefinition>, ApiError> {
        let latest = store.revision_of(key).await.map_err(ApiError::internal)?;
        let known = self.known.lock().get(key).copied();
        if known.map(|known| known.revision) == latest {
            return Ok(known);
        }
        let Some(stored) = store.get(key).await.map_err(ApiError::internal)? else {
            self.known.lock().remove(key);
            return Ok(None);
        };
        let metadata = Metadata::read(&stored.value);
        let known = CachedDefinition {
            revision: stored.revision,
            terminating: metadata
                .is_some_and(|own| own.is_deleting() && own.has_finalizer(DEFINITION_CLEANUP)),
        };
        let mut all = self.known.lock();
        if all.len() >= MAX_CACHED {
            all.clear();
        }
        all.insert(key.to_owned(), known);
        Ok(Some(known))
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::store::{Change, StoreOptions};

    const KEY: &str = "/apiextensions.k8s.io/customresourcedefinitions//widgets.example.com";

    #[tokio::test]
    async fn crd_lookup_is_cached_until_the_crd_revision_changes() {
        let folder = tempfile::tempdir().unwrap();
        let store = Store::open(&folder.path().join("hub.db"), StoreOptions::default()).unwrap();
        let definitions = Definitions::new(BTreeSet::new());
        assert_eq!(definitions.find(&store, KEY).await.unwrap(), None);
        let value = json!({"metadata": {"name": "widgets.example.com"}});
        let first = store.commit(Change::create(KEY, value.to_string())).await;
        let first = CachedDefinition {
            revision: first.unwrap(),
            terminating: false,
        };
        assert_eq!(definitions.find(&store, KEY).await.unwrap(), Some(first));
        // A cached value that differs from the stored one.
        let marked = CachedDefinition {
            terminating: true,
            ..first
        };
        definitions.known.lock().insert(KEY.to_owned(), marked);
        assert_eq!(definitions.find(&store, KEY).await.unwrap(), Some(marked));
        let value = json!({"metadata": {"name": "widgets.example.com", "labels": {"a": "b"}}});
        let update = Change::update(KEY, first.revision, value.to_string());
        let second = CachedDefinition {
            revision: store.commit(update).await.unwrap(),
            terminating: false,
        };
        assert_eq!(definitions.find(&store, KEY).await.unwrap(), Some(second));
        store
            .commit(Change::delete(KEY, second.revision))
            .await
            .unwrap();
        assert_eq!(definitions.find(&store, KEY).await.unwrap(), None);
        assert!(definitions.known.lock().is_empty());
    }
}
