//! Updates the RBAC index and the catalog of custom resources from the store's feed.

use std::sync::Arc;

use futures::StreamExt;
use tokio::sync::oneshot;

use crate::lifecycle::{CatalogUpdater, Observed, RbacIndexUpdater, observe};
use crate::serve::shared::Shared;

const RIGHTS: &str = "/rbac.authorization.k8s.io/";
const DEFINITIONS: &str = "/apiextensions.k8s.io/customresourcedefinitions/";

/// Starts tasks that read the store's feed until the server ends. Returns after the tasks have read
/// the initial objects.
pub(super) async fn start(shared: &Arc<Shared>) {
    let mut rights = RbacIndexUpdater::new(Arc::clone(&shared.rbac));
    let rights = follow(shared, RIGHTS, move |observed| rights.observe(&observed));
    let mut served = CatalogUpdater::new(Arc::clone(&shared.catalog));
    // A reference to `shared` would keep the server alive.
    let changed = shared.catalog_changed.clone();
    let definitions = follow(shared, DEFINITIONS, move |observed| {
        served.observe(&observed);
        changed.send_replace(());
    });
    // A task that ends before it has synced means that the store is closed.
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
                // The receiver may be dropped.
                let _ = synced.send(());
            }
        }
    });
    wait
}
