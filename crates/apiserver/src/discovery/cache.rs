//! Aggregated discovery as it is sent, made once for each catalog: it is long, and clients ask for
//! it often.

use std::sync::{Arc, OnceLock};

use bytes::Bytes;
use parking_lot::Mutex;
use serde_json::Value;

use crate::resource::Catalog;

/// An aggregated document as it is sent.
#[derive(Debug)]
pub struct Aggregated {
    /// JSON and a line's end.
    pub body: Bytes,
    /// SHA-512 of the body: the `ETag` without its quotes.
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

/// The aggregated documents of one catalog, each made when it is first asked for.
#[derive(Debug)]
pub struct Documents {
    catalog: Arc<Catalog>,
    core: OnceLock<Aggregated>,
    groups: OnceLock<Aggregated>,
}

impl Documents {
    /// `/api`.
    pub fn core(&self) -> &Aggregated {
        let make = || Aggregated::of(&super::aggregated_core(&self.catalog));
        self.core.get_or_init(make)
    }

    /// `/apis`.
    pub fn groups(&self) -> &Aggregated {
        let make = || Aggregated::of(&super::aggregated_groups(&self.catalog));
        self.groups.get_or_init(make)
    }
}

/// Documents of the last requested catalog. Each change of a definition makes a new catalog.
#[derive(Debug, Default)]
pub struct Cache(Mutex<Option<Arc<Documents>>>);

impl Cache {
    /// The documents of a catalog.
    pub fn of(&self, catalog: &Arc<Catalog>) -> Arc<Documents> {
        let mut last = self.0.lock();
        if let Some(documents) = last.as_ref()
            && Arc::ptr_eq(&documents.catalog, catalog)
        {
            return Arc::clone(documents);
        }
        let documents = Arc::new(Documents {
            catalog: Arc::clone(catalog),
            core: OnceLock::new(),
            groups: OnceLock::new(),
        });
        Arc::clone(last.insert(documents))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::builtin::catalog;
    use crate::discovery::hash;

    #[test]
    fn aggregated_document_is_made_once_for_each_catalog() {
        let cache = Cache::default();
        let old = Arc::new(catalog());
        let first = cache.of(&old).groups().body.clone();
        assert_eq!(cache.of(&old).groups().body.as_ptr(), first.as_ptr());
        let mut new = catalog();
        for resource in crate::crd::resources(&crate::crd::tests::widgets()).unwrap() {
            new.insert(resource.into());
        }
        let documents = cache.of(&Arc::new(new));
        let second = documents.groups();
        assert_ne!(second.body, first);
        assert_eq!(second.etag, hash(&second.body));
        let custom = serde_json::from_slice::<Value>(&second.body).unwrap();
        let custom = custom["items"].as_array().unwrap().last().unwrap();
        assert_eq!(custom["metadata"]["name"], "example.com");
    }
}
