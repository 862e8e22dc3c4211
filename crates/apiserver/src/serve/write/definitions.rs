//! New custom objects, and the definition of their kind.

use std::collections::{BTreeMap, BTreeSet};

use parking_lot::Mutex;

use crate::lifecycle::{DEFINITION_CLEANUP, Metadata};
use crate::resource::{GroupResource, Origin, key};
use crate::serve::shared::Target;
use crate::status::ApiError;
use crate::store::{Require, Store};

/// Definitions that are remembered; with more, all are read again.
const REMEMBERED: usize = 1024;

/// Whether definitions accept new objects, each as of its revision: a schema may be long, and a
/// kind may get many objects.
#[derive(Debug)]
pub(crate) struct Definitions {
    known: Mutex<BTreeMap<String, Known>>,
    /// Kinds that the embedding program adds; they have no definition.
    undefined: BTreeSet<GroupResource>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Known {
    revision: u64,
    /// Its deletion waits for its objects to go.
    terminating: bool,
}

impl Definitions {
    pub(crate) fn new(undefined: BTreeSet<GroupResource>) -> Self {
        Self {
            known: Mutex::default(),
            undefined,
        }
    }

    /// Refuses a new object of a custom kind whose definition is gone or waits for its objects to
    /// go; else the definition must stay as it was seen until the object is created.
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
            // The catalog follows the store a moment later.
            return Err(ApiError::unknown_path());
        };
        if known.terminating {
            return Err(ApiError::definition_terminating(group, plural));
        }
        let revision = known.revision;
        Ok(Some(Require { key, revision }))
    }

    async fn find(&self, store: &Store, key: &str) -> Result<Option<Known>, ApiError> {
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
        let known = Known {
            revision: stored.revision,
            terminating: metadata
                .is_some_and(|own| own.is_deleting() && own.has_finalizer(DEFINITION_CLEANUP)),
        };
        let mut all = self.known.lock();
        if all.len() >= REMEMBERED {
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
    async fn definition_is_read_once_for_each_revision() {
        let folder = tempfile::tempdir().unwrap();
        let store = Store::open(&folder.path().join("hub.db"), StoreOptions::default()).unwrap();
        let definitions = Definitions::new(BTreeSet::new());
        assert_eq!(definitions.find(&store, KEY).await.unwrap(), None);
        let value = json!({"metadata": {"name": "widgets.example.com"}});
        let first = store.commit(Change::create(KEY, value.to_string())).await;
        let first = Known {
            revision: first.unwrap(),
            terminating: false,
        };
        assert_eq!(definitions.find(&store, KEY).await.unwrap(), Some(first));
        // Only a value from memory can differ from the stored one.
        let marked = Known {
            terminating: true,
            ..first
        };
        definitions.known.lock().insert(KEY.to_owned(), marked);
        assert_eq!(definitions.find(&store, KEY).await.unwrap(), Some(marked));
        let value = json!({"metadata": {"name": "widgets.example.com", "labels": {"a": "b"}}});
        let update = Change::update(KEY, first.revision, value.to_string());
        let second = Known {
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
