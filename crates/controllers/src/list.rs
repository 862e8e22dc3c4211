//! Reconciles the list of managed clusters with the Clusters on the hub.

use std::collections::BTreeSet;
use std::convert::Infallible;
use std::time::Duration;

use drover_api::ids::ClusterUid;
use drover_reconcile::{Action, Attempt, Options, Reconciler};
use kube::ResourceExt as _;

use super::Controllers;

/// Maximum time between two comparisons of the list with the Clusters on the hub.
const INTERVAL: Duration = Duration::from_secs(10);

/// Options of the controller. The debounce merges changes within 100 ms into one reconciliation.
pub(super) const OPTIONS: Options = Options {
    debounce: Duration::from_millis(100),
    ..Options::new("clusters")
};

/// The reconciler that adds and removes managed clusters, and closes the tunnels of deleted
/// clusters.
pub(super) struct ClusterList(pub(super) Controllers);

impl Reconciler for ClusterList {
    type Key = ();
    type Error = Infallible;

    async fn reconcile(&self, (): &(), _: &Attempt) -> Result<Action, Infallible> {
        if self.0.hub.stores().health().is_trusted() {
            self.compare();
        }
        Ok(Action::requeue(INTERVAL))
    }
}

impl ClusterList {
    fn compare(&self) {
        let controllers = &self.0;
        let clusters = controllers.hub.stores().clusters.all();
        let uids: BTreeSet<ClusterUid> = clusters
            .iter()
            .filter_map(|cluster| cluster.uid())
            .map(ClusterUid::new)
            .collect();
        let mut missing = uids.clone();
        controllers.clusters.lock().retain(|uid, state| {
            let stays = uids.contains(uid);
            missing.remove(uid);
            if !stays {
                state.gone().cancel();
            }
            stays
        });
        for uid in &missing {
            controllers.add(uid);
        }
        let connected = controllers.tunnels.all().into_keys();
        for uid in connected.filter(|uid| !uids.contains(uid)) {
            controllers
                .tunnels
                .disconnect(&uid, "the Cluster was deleted at the server");
        }
    }
}
