//! Networks from which agents have proved their clusters' keys.

use std::collections::{HashMap, VecDeque};
use std::net::IpAddr;
use std::sync::Arc;

use drover_api::ids::ClusterUid;
use parking_lot::Mutex;

use super::network;

/// Maximum number of stored networks per cluster, so that the agent of one cluster cannot displace
/// the networks of other clusters.
const MAX_PER_CLUSTER: usize = 4;
/// Maximum number of clusters with stored networks.
const MAX_CLUSTERS: usize = 20_000;

/// Networks from which agents have proved their clusters' keys since the server started. The
/// listener reserves slots for these networks. Clones share the networks.
#[derive(Clone, Debug, Default)]
pub struct AgentNetworks(Arc<Mutex<Inner>>);

#[derive(Debug, Default)]
struct Inner {
    by_cluster: HashMap<ClusterUid, VecDeque<IpAddr>>,
    clusters_at: HashMap<IpAddr, usize>,
}

impl AgentNetworks {
    /// Records that the agent of this cluster has proved its key from this address.
    pub fn proved(&self, cluster: &ClusterUid, address: IpAddr) {
        let network = network(address);
        let mut inner = self.0.lock();
        let inner = &mut *inner;
        let is_new = !inner.by_cluster.contains_key(cluster);
        if is_new && inner.by_cluster.len() >= MAX_CLUSTERS {
            return;
        }
        let networks = inner.by_cluster.entry(cluster.clone()).or_default();
        if let Some(at) = networks.iter().position(|known| *known == network) {
            networks.remove(at);
            networks.push_back(network);
            return;
        }
        networks.push_back(network);
        *inner.clusters_at.entry(network).or_default() += 1;
        if networks.len() > MAX_PER_CLUSTER
            && let Some(oldest) = networks.pop_front()
        {
            match inner.clusters_at.get_mut(&oldest) {
                Some(count) if *count > 1 => *count -= 1,
                _ => drop(inner.clusters_at.remove(&oldest)),
            }
        }
    }

    /// Reports whether an agent has proved its cluster's key from this address.
    pub fn is_known(&self, address: IpAddr) -> bool {
        self.0.lock().clusters_at.contains_key(&network(address))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn known_agent_networks_are_limited_per_cluster() {
        let networks = AgentNetworks::default();
        let address = |n: u8| IpAddr::from([192, 0, 2, n]);
        let (one, other) = (ClusterUid::new("1"), ClusterUid::new("2"));
        networks.proved(&other, address(0));
        for n in 0..=255 {
            networks.proved(&one, address(n));
        }
        assert!(
            networks.is_known(address(0)),
            "the network of the other cluster"
        );
        assert!(!networks.is_known(address(251)));
        assert!((252..=255).all(|n| networks.is_known(address(n))));
        assert_eq!(networks.0.lock().clusters_at.len(), MAX_PER_CLUSTER + 1);
    }
}
