//! Cache of documents that depend only on the catalog, such as discovery and OpenAPI.

use std::sync::Arc;

use parking_lot::Mutex;

use super::Catalog;

/// Caches the value of the last requested catalog. Each change of a CRD creates a new catalog.
#[derive(Debug)]
pub(crate) struct CatalogCache<T>(Mutex<Option<(Arc<Catalog>, Arc<T>)>>);

impl<T> Default for CatalogCache<T> {
    fn default() -> Self {
        Self(Mutex::default())
    }
}

impl<T: From<Arc<Catalog>>> CatalogCache<T> {
    /// Returns the value for a catalog. `T::from` runs under a lock and must be cheap.
    pub(crate) fn get(&self, catalog: &Arc<Catalog>) -> Arc<T> {
        let mut last = self.0.lock();
        if let Some((of, value)) = last.as_ref()
            && Arc::ptr_eq(of, catalog)
        {
            return Arc::clone(value);
        }
        let value = Arc::new(T::from(Arc::clone(catalog)));
        let (_, value) = last.insert((Arc::clone(catalog), value));
        Arc::clone(value)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Value;

    impl From<Arc<Catalog>> for Value {
        fn from(_: Arc<Catalog>) -> Self {
            Self
        }
    }

    #[test]
    fn cached_value_is_built_once_per_catalog() {
        let cache = CatalogCache::<Value>::default();
        let (one, two) = (Arc::default(), Arc::default());
        let first = cache.get(&one);
        assert!(Arc::ptr_eq(&cache.get(&one), &first));
        let second = cache.get(&two);
        assert!(!Arc::ptr_eq(&second, &first));
        assert!(Arc::ptr_eq(&cache.get(&two), &second));
    }
}
