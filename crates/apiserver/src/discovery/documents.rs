//! Caches the serialized documents of aggregated discovery. These documents are long, and clients
//! often request them.

use std::sync::{Arc, OnceLock};

use bytes::Bytes;
use serde_json::Value;

use crate::resource::Catalog;

/// A serialized document.
#[derive(Debug)]
pub struct Aggregated {
    /// JSON with a trailing newline.
    pub body: Bytes,
    /// SHA-512 of the body: the `ETag` without quotes.
    pub etag: String,
}

impl Aggregated {
    fn of(document: &Value) -> Self {
        let mut body = document.to_string().into_bytes();
        body.push(b'\n');
        Self {
            etag: super::hash(&body),
            body: body.into(),
        }
    }
}

/// The aggregated documents of one catalog. Each document is built on the first request.
#[derive(Debug)]
pub struct Documents {
    catalog: Arc<Catalog>,
    core: OnceLock<Aggregated>,
    groups: OnceLock<Aggregated>,
}

impl Documents {
    /// Returns the aggregated document `/api`.
    pub fn core(&self) -> &Aggregated {
        let make = || Aggregated::of(&super::aggregated_core(&self.catalog));
        self.core.get_or_init(make)
    }

    /// Returns the aggregated document `/apis`.
    pub fn groups(&self) -> &Aggregated {
        let make = || Aggregated::of(&super::aggregated_groups(&self.catalog));
        self.groups.get_or_init(make)
    }
}

impl From<Arc<Catalog>> for Documents {
    fn from(catalog: Arc<Catalog>) -> Self {
        Self {
            catalog,
            core: OnceLock::new(),
            groups: OnceLock::new(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::builtin::{Kinds, catalog};
    use crate::discovery::hash;
    use crate::resource::CatalogCache;

    #[test]
    fn aggregated_discovery_document_is_built_once_per_catalog() {
        let cache = CatalogCache::<Documents>::default();
        let old = Arc::new(catalog(Kinds::Cluster));
        let first = cache.get(&old).groups().body.clone();
        assert_eq!(cache.get(&old).groups().body.as_ptr(), first.as_ptr());
        let mut new = catalog(Kinds::Cluster);
        for resource in crate::crd::resources(&crate::crd::tests::widgets()).unwrap() {
            new.insert(resource.into());
        }
        let documents = cache.get(&Arc::new(new));
        let second = documents.groups();
        assert_ne!(second.body, first);
        assert_eq!(second.etag, hash(&second.body));
        let custom = serde_json::from_slice::<Value>(&second.body).unwrap();
        let custom = custom["items"].as_array().unwrap().last().unwrap();
        assert_eq!(custom["metadata"]["name"], "example.com");
    }
}
