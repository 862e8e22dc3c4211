//! Tunnels with a replaced key, whose open streams continue.

use std::sync::Arc;

use drover_api::ids::ClusterUid;
use parking_lot::Mutex;

use super::MAX_TUNNELS;
use super::entry::TunnelEntry;

/// Maximum number of draining tunnels of a cluster.
const MAX_DRAINING: usize = MAX_TUNNELS;

/// The draining tunnels of all clusters, oldest first. They receive no new requests. A cluster has at
/// most [`MAX_DRAINING`].
#[derive(Default)]
pub(super) struct DrainingTunnels(Mutex<Vec<(ClusterUid, Arc<TunnelEntry>)>>);

impl DrainingTunnels {
    /// Adds a detached tunnel. Closes the oldest draining tunnel of the cluster if there are too many.
    pub(super) fn add(&self, cluster: &ClusterUid, entry: &Arc<TunnelEntry>) {
        let mut draining = self.0.lock();
        let mut of_cluster = draining.iter().filter(|(uid, _)| uid == cluster);
        let oldest = of_cluster.next().map(|(_, oldest)| Arc::clone(oldest));
        if let Some(oldest) = oldest
            && of_cluster.count() + 1 >= MAX_DRAINING
        {
            oldest
                .tunnel
                .close("the cluster has too many tunnels with replaced keys");
        }
        draining.push((cluster.clone(), Arc::clone(entry)));
        entry.start_drain();
    }

    /// Removes a closed tunnel. Returns false if the tunnel was not draining.
    pub(super) fn remove(&self, id: u64) -> bool {
        let mut draining = self.0.lock();
        let before = draining.len();
        draining.retain(|(_, entry)| entry.id != id);
        draining.len() < before
    }

    /// Returns the draining tunnels of a cluster.
    pub(super) fn of(&self, cluster: &ClusterUid) -> Vec<Arc<TunnelEntry>> {
        let draining = self.0.lock();
        let of_cluster = draining.iter().filter(|(uid, _)| uid == cluster);
        of_cluster.map(|(_, entry)| Arc::clone(entry)).collect()
    }
}
