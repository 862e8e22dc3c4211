//! What the server knows by heart follows the store: the index of rights, and the catalog of
//! custom resources.

use std::collections::BTreeMap;
use std::sync::Arc;

use futures::StreamExt;
use serde_json::Value;
use tokio::sync::oneshot;

use crate::builtin;
use crate::crd;
use crate::lifecycle::{Observed, Rights, Seen, observe};
use crate::resource::Catalog;
use crate::serve::shared::Shared;

const RIGHTS: &str = "/rbac.authorization.k8s.io/";
const DEFINITIONS: &str = "/apiextensions.k8s.io/customresourcedefinitions/";

/// Follows until the server ends; returns once everything that there is has been seen.
pub(super) async fn start(shared: &Arc<Shared>) {
    let mut rights = Rights::new(Arc::clone(&shared.rbac));
    let rights = follow(shared, RIGHTS, move |observed| rights.observe(&observed));
    let mut definitions = Definitions::new(Arc::clone(shared));
    let definitions = follow(shared, DEFINITIONS, move |observed| {
        definitions.observe(observed);
    });
    // A follower that ends before it has synced means that the store is closed.
    let _ = tokio::join!(rights, definitions);
}

fn follow(
    shared: &Arc<Shared>,
    prefix: &'static str,
    mut take: impl FnMut(Observed) + Send + 'static,
) -> oneshot::Receiver<()> {
    let (synced, wait) = oneshot::channel();
    let mut synced = Some(synced);
    let mut feed = observe(shared.store.clone(), prefix);
    let shutdown = shared.shutdown.clone();
    tokio::spawn(async move {
        while let Some(Some(observed)) = shutdown.run_until_cancelled(feed.next()).await {
            let all_seen = matches!(observed, Observed::Synced);
            take(observed);
            if all_seen && let Some(synced) = synced.take() {
                // Whoever waited may have gone.
                let _ = synced.send(());
            }
        }
    });
    wait
}

/// The definitions that are in force.
struct Definitions {
    shared: Arc<Shared>,
    known: BTreeMap<String, Value>,
    /// Since a restart, until everything was shown: the catalog stays as it was meanwhile.
    restarting: bool,
}

impl Definitions {
    fn new(shared: Arc<Shared>) -> Self {
        Self {
            shared,
            known: BTreeMap::new(),
            restarting: true,
        }
    }

    fn observe(&mut self, observed: Observed) {
        match observed {
            Observed::Restart => {
                self.restarting = true;
                self.known.clear();
            }
            Observed::Synced => self.restarting = false,
            Observed::Put(seen) => self.put(&seen),
            Observed::Gone(seen) => drop(self.known.remove(&seen.path.name)),
        }
        if !self.restarting {
            self.shared.catalog.store(Arc::new(self.catalog()));
        }
    }

    fn put(&mut self, seen: &Seen) {
        let name = seen.path.name.clone();
        match serde_json::from_slice::<Value>(&seen.value) {
            Ok(definition) if is_established(&definition) => {
                self.known.insert(name, definition);
            }
            Ok(_) => drop(self.known.remove(&name)),
            Err(error) => tracing::error!(%error, name, "a stored definition cannot be read"),
        }
    }

    fn catalog(&self) -> Catalog {
        let mut catalog = builtin::catalog();
        for (name, definition) in &self.known {
            match crd::resources(definition) {
                Ok(resources) => {
                    for resource in resources {
                        catalog.insert(Arc::new(resource));
                    }
                }
                Err(error) => tracing::error!(%error, name, "a definition cannot be served"),
            }
        }
        catalog
    }
}

fn is_established(definition: &Value) -> bool {
    let conditions = definition["status"]["conditions"].as_array();
    conditions.is_some_and(|all| {
        all.iter()
            .any(|one| one["type"] == "Established" && one["status"] == "True")
    })
}
