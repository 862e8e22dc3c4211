//! Updates the catalog when CRDs change.

use std::collections::BTreeMap;
use std::sync::Arc;

use arc_swap::ArcSwap;
use aws_lc_rs::digest::{Context, SHA256};
use serde_json::Value;

use super::definitions::INSTALLING;
use super::feed::Observed;
use crate::crd;
use crate::resource::{Catalog, Resource};

/// Updates a catalog from one feed.
#[derive(Debug)]
pub struct CatalogUpdater {
    catalog: Arc<ArcSwap<Catalog>>,
    /// The catalog of built-in resources, which CRDs do not change.
    built_in: Arc<Catalog>,
    defined: BTreeMap<String, AcceptedDefinition>,
    /// True if the feed has delivered its initial list. The catalog stays unchanged until then.
    complete: bool,
}

/// A CRD with accepted names.
#[derive(Debug)]
struct AcceptedDefinition {
    /// A digest of the spec and accepted names. The digest avoids parsing schemas when only the
    /// status changes. Most updates change only the status.
    digest: [u8; 32],
    resources: Vec<Arc<Resource>>,
}

impl CatalogUpdater {
    /// Creates an updater for a catalog that contains only built-in resources.
    pub fn new(catalog: Arc<ArcSwap<Catalog>>) -> Self {
        Self {
            built_in: catalog.load_full(),
            catalog,
            defined: BTreeMap::new(),
            complete: false,
        }
    }

    /// Applies an element of the feed. Updates the catalog if the known CRDs have changed.
    pub fn observe(&mut self, observed: &Observed) {
        let changed = match observed {
            Observed::Restart => {
                self.defined.clear();
                self.complete = false;
                false
            }
            Observed::Synced => {
                self.complete = true;
                true
            }
            Observed::Put(seen) if is_definition(seen) => self.put(&seen.path.name, &seen.value),
            Observed::Gone(seen) if is_definition(seen) => {
                self.defined.remove(&seen.path.name).is_some()
            }
            Observed::Put(_) | Observed::Gone(_) => false,
        };
        if changed && self.complete {
            self.publish();
        }
    }

    fn put(&mut self, name: &str, value: &[u8]) -> bool {
        let Ok(definition) = serde_json::from_slice::<Value>(value) else {
            return false;
        };
        if !has_accepted_names(&definition) {
            return self.defined.remove(name).is_some();
        }
        let digest = digest_of(&definition);
        if self
            .defined
            .get(name)
            .is_some_and(|own| own.digest == digest)
        {
            return false;
        }
        match crd::resources(&definition) {
            Ok(resources) => {
                let resources = resources.into_iter().map(Arc::new).collect();
                let defined = AcceptedDefinition { digest, resources };
                self.defined.insert(name.to_owned(), defined);
                true
            }
            Err(error) => {
                tracing::error!(definition = name, %error, "failed to serve a stored CustomResourceDefinition");
                self.defined.remove(name).is_some()
            }
        }
    }

    fn publish(&self) {
        // CRDs cannot replace built-in kinds, even CRDs from before this rule.
        let is_built_in = |resource: &Resource| {
            let name = resource.group_resource();
            self.built_in.iter().any(|own| own.group_resource() == name)
        };
        let defined = self.defined.values().flat_map(|own| &own.resources);
        let defined = defined.filter(|resource| !is_built_in(resource));
        let all = self.built_in.iter().chain(defined).map(Arc::clone);
        self.catalog.store(Arc::new(Catalog::new(all)));
    }
}

fn digest_of(definition: &Value) -> [u8; 32] {
    let parts = [&definition["spec"], &definition["status"]["acceptedNames"]];
    let mut context = Context::new(&SHA256);
    for part in parts {
        context.update(part.to_string().as_bytes());
    }
    let mut digest = [0; 32];
    digest.copy_from_slice(context.finish().as_ref());
    digest
}

fn is_definition(seen: &super::ObservedObject) -> bool {
    let resource = &seen.path.resource;
    resource.group == "apiextensions.k8s.io" && resource.resource == "customresourcedefinitions"
}

/// Reports whether the names of the CRD are accepted. The server serves a CRD before it sets the
/// condition `Established`, so that clients can use the resource when they observe the condition.
fn has_accepted_names(definition: &Value) -> bool {
    let conditions = definition["status"]["conditions"].as_array();
    let mut conditions = conditions.into_iter().flatten();
    conditions.any(|own| {
        let soon = own["reason"] == INSTALLING;
        own["type"] == "Established" && (own["status"] == "True" || soon)
    })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::lifecycle::{ObjectPath, ObservedObject};

    fn definition(established: &str, reason: &str, versions: &[&str]) -> Observed {
        let names = json!({"plural": "widgets", "kind": "Widget", "singular": "widget",
                           "listKind": "WidgetList"});
        let versions: Vec<Value> = versions
            .iter()
            .map(|name| {
                json!({"name": name, "served": true, "storage": *name == "v1",
                       "schema": {"openAPIV3Schema": {"type": "object"}}})
            })
            .collect();
        let object = json!({
            "metadata": {"name": "widgets.example.com"},
            "spec": {"group": "example.com", "scope": "Namespaced", "names": names,
                     "versions": versions},
            "status": {"acceptedNames": names,
                       "conditions": [{"type": "Established", "status": established,
                                       "reason": reason}]},
        });
        Observed::Put(seen(&object))
    }

    fn seen(object: &Value) -> ObservedObject {
        let (group, resource) = ("apiextensions.k8s.io", "customresourcedefinitions");
        let path = ObjectPath::new(group, resource, "", "widgets.example.com");
        ObservedObject::parse(path, object.to_string().into()).unwrap()
    }

    fn serves(catalog: &ArcSwap<Catalog>, version: &str) -> bool {
        let catalog = catalog.load();
        catalog.find("example.com", version, "widgets").is_some()
    }

    #[test]
    fn crd_is_served_in_all_versions_while_its_names_are_accepted() {
        let catalog = Arc::new(ArcSwap::from_pointee(Catalog::default()));
        let mut served = CatalogUpdater::new(Arc::clone(&catalog));
        served.observe(&Observed::Synced);
        served.observe(&definition("False", "NotAccepted", &["v1"]));
        assert!(!serves(&catalog, "v1"));
        served.observe(&definition("False", INSTALLING, &["v1"]));
        assert!(serves(&catalog, "v1"));
        served.observe(&definition("True", "InitialNamesAccepted", &["v1"]));
        assert!(serves(&catalog, "v1"));
        served.observe(&definition("True", "InitialNamesAccepted", &["v1", "v2"]));
        assert!(serves(&catalog, "v1") && serves(&catalog, "v2"));
        served.observe(&Observed::Gone(seen(&json!({}))));
        assert!(!serves(&catalog, "v1"));
    }

    #[test]
    fn catalog_is_not_changed_while_a_feed_restarts() {
        let catalog = Arc::new(ArcSwap::from_pointee(Catalog::default()));
        let mut served = CatalogUpdater::new(Arc::clone(&catalog));
        served.observe(&definition("True", "InitialNamesAccepted", &["v1"]));
        assert!(!serves(&catalog, "v1"));
        served.observe(&Observed::Synced);
        assert!(serves(&catalog, "v1"));
        served.observe(&Observed::Restart);
        assert!(serves(&catalog, "v1"));
        served.observe(&Observed::Synced);
        assert!(!serves(&catalog, "v1"));
    }
}
