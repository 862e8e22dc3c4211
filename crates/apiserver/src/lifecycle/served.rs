//! Keeps what is served in step with the definitions of resources.

use std::collections::BTreeMap;
use std::sync::Arc;

use arc_swap::ArcSwap;
use aws_lc_rs::digest::{Context, SHA256};
use serde_json::Value;

use super::definitions::INSTALLING;
use super::feed::Observed;
use crate::crd;
use crate::resource::{Catalog, Resource};

/// Feeds a catalog; one for each feed.
#[derive(Debug)]
pub struct Served {
    catalog: Arc<ArcSwap<Catalog>>,
    /// What is served whatever is defined.
    built_in: Arc<Catalog>,
    defined: BTreeMap<String, Defined>,
    /// Whether everything was shown since the last restart; until then the catalog stays.
    complete: bool,
}

/// A definition that is in force.
#[derive(Debug)]
struct Defined {
    /// Digest of what the resources were made of: reading a schema takes time, and most changes
    /// of a definition are of its status.
    made_of: [u8; 32],
    resources: Vec<Arc<Resource>>,
}

impl Served {
    /// Feeds this catalog, in which only what is built in is served yet.
    pub fn new(catalog: Arc<ArcSwap<Catalog>>) -> Self {
        Self {
            built_in: catalog.load_full(),
            catalog,
            defined: BTreeMap::new(),
            complete: false,
        }
    }

    /// Takes in one step of the feed.
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
        if !is_in_force(&definition) {
            return self.defined.remove(name).is_some();
        }
        let made_of = digest_of(&definition);
        if self
            .defined
            .get(name)
            .is_some_and(|own| own.made_of == made_of)
        {
            return false;
        }
        match crd::resources(&definition) {
            Ok(resources) => {
                let resources = resources.into_iter().map(Arc::new).collect();
                let defined = Defined { made_of, resources };
                self.defined.insert(name.to_owned(), defined);
                true
            }
            Err(error) => {
                tracing::error!(definition = name, %error, "a stored definition cannot be served");
                self.defined.remove(name).is_some()
            }
        }
    }

    fn publish(&self) {
        // No definition takes a built-in kind's place, even one that was stored before this rule.
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
    let mut made_of = [0; 32];
    made_of.copy_from_slice(context.finish().as_ref());
    made_of
}

fn is_definition(seen: &super::Seen) -> bool {
    let resource = &seen.path.resource;
    resource.group == "apiextensions.k8s.io" && resource.resource == "customresourcedefinitions"
}

/// Whether its names are its own. It is served before it says that it is established, so that it
/// can be used by whoever has seen that.
fn is_in_force(definition: &Value) -> bool {
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
    use crate::lifecycle::{ObjectPath, Seen};

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

    fn seen(object: &Value) -> Seen {
        let (group, resource) = ("apiextensions.k8s.io", "customresourcedefinitions");
        let path = ObjectPath::new(group, resource, "", "widgets.example.com");
        Seen::parse(path, object.to_string().into()).unwrap()
    }

    fn serves(catalog: &ArcSwap<Catalog>, version: &str) -> bool {
        let catalog = catalog.load();
        catalog.find("example.com", version, "widgets").is_some()
    }

    #[test]
    fn a_definition_is_served_while_its_names_are_accepted_in_all_its_versions() {
        let catalog = Arc::new(ArcSwap::from_pointee(Catalog::default()));
        let mut served = Served::new(Arc::clone(&catalog));
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
    fn what_was_served_is_served_on_while_everything_is_read_again() {
        let catalog = Arc::new(ArcSwap::from_pointee(Catalog::default()));
        let mut served = Served::new(Arc::clone(&catalog));
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
