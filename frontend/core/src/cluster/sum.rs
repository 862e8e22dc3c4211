//! The problems and the resources of several clusters.

use drover_api::cluster_state::{Health, describe};
use drover_api::rest::ClusterView;

use super::Load;

/// The problems and the resources of several clusters, as their agents report them.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Sum {
    /// The number of clusters that are not ready, except clusters that wait for their agent.
    pub unhealthy: usize,
    /// The number of nodes that are not Ready.
    pub not_ready_nodes: usize,
    /// The number of pods with a container that crashes or cannot start.
    pub failing_pods: usize,
    /// The number of pods that the scheduler cannot assign to a node.
    pub unschedulable_pods: usize,
}

impl Sum {
    /// Adds the problems of clusters.
    pub fn of<'a>(clusters: impl IntoIterator<Item = &'a ClusterView>) -> Self {
        let mut sum = Self::default();
        for cluster in clusters {
            let (health, ..) = describe(cluster);
            let pods = cluster.pods.unwrap_or_default();
            sum.unhealthy += usize::from(is_unhealthy(health));
            sum.not_ready_nodes += cluster.not_ready_nodes.len();
            sum.failing_pods += pods.failing as usize;
            sum.unschedulable_pods += pods.unschedulable as usize;
        }
        sum
    }
}

/// Reports whether users must repair a cluster with this health.
pub const fn is_unhealthy(health: Health) -> bool {
    match health {
        // A deletion can wait for a user.
        Health::Failing | Health::Degraded | Health::Disconnected | Health::Deleting => true,
        Health::Ready | Health::Waiting => false,
    }
}

/// Adds the loads of a resource in clusters that report the resource. The usage is unknown if one
/// of these clusters does not report the usage.
pub fn total<'a>(
    clusters: impl IntoIterator<Item = &'a ClusterView>,
    resource: &str,
) -> Option<Load> {
    let loads = clusters.into_iter();
    let loads = loads.filter_map(|cluster| Load::of(cluster, resource));
    loads.reduce(|sum, load| Load {
        total: sum.total + load.total,
        requested: add(sum.requested, load.requested),
        used: add(sum.used, load.used),
    })
}

fn add(left: Option<f64>, right: Option<f64>) -> Option<f64> {
    Some(left? + right?)
}
