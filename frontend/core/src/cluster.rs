//! The state of a cluster and the load of its resources.

mod sum;

pub use drover_api::cluster_state::{Health, LastContact, State, condition, last_contact, words};
use drover_api::cluster_state::{describe, problems_of_node};
use drover_api::conditions::NODES_HEALTHY;
use drover_api::kinds::NodeFacts;
use drover_api::rest::ClusterView;
use jiff::Timestamp;

use crate::messages::t;
use crate::quantity;
use crate::url::segment;
pub use sum::{Sum, is_unhealthy, total};

/// Derives the state of a cluster, with a summary in the page's language. The detail is a message of
/// the server.
pub fn state(cluster: &ClusterView) -> State {
    let (health, summary, detail) = describe(cluster);
    State {
        health,
        summary: t().cluster_states.summary(&summary),
        detail,
    }
}

/// Returns the problems of a node in the page's language.
pub fn node_problems(node: &NodeFacts, now: Timestamp) -> Vec<String> {
    let problems = problems_of_node(node, now);
    let words = |problem| t().cluster_states.node_problem(problem);
    problems.iter().map(words).collect()
}

/// Reports whether the server can read the objects of a cluster.
pub fn is_connected(cluster: &ClusterView) -> bool {
    !matches!(
        state(cluster).health,
        Health::Waiting | Health::Disconnected
    )
}

/// The share of a resource from which a cluster has little capacity left.
const NEARLY_FULL: f64 = 0.9;

/// Returns the server's message about nodes with problems, and about certificates of nodes that expire
/// soon or have expired. `None` for a cluster without a connection, because the message is old.
pub fn problems_of_nodes(cluster: &ClusterView) -> Option<&str> {
    let condition = condition(cluster, NODES_HEALTHY)?;
    let is_current = condition.status == "False" && is_connected(cluster);
    is_current.then_some(&*condition.message)
}

/// Returns the resources of a connected cluster that are nearly used up, with the used share, which can
/// exceed 1. The share is the usage if the cluster reports the usage, and otherwise the sum of the
/// requests.
pub fn nearly_full(cluster: &ClusterView) -> Vec<(&'static str, f64)> {
    if !is_connected(cluster) {
        return Vec::new();
    }
    let resources = ["cpu", "memory", "pods"].into_iter();
    let parts =
        resources.filter_map(|resource| Some((resource, Load::of(cluster, resource)?.part()?)));
    parts.filter(|(_, part)| *part >= NEARLY_FULL).collect()
}

/// Returns the URL path of the page of a cluster.
pub fn screen(name: &str) -> String {
    format!("/clusters/{}", segment(name))
}

/// Returns the URL path of the page with the members of a cluster.
pub fn members_screen(name: &str) -> String {
    format!("{}/members", screen(name))
}

/// The total, the requests and the usage of a resource, in its base unit (cores, bytes, pods).
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Load {
    /// The allocatable amount, or the capacity if the cluster reports no allocatable amount.
    pub total: f64,
    /// The sum of the requests of all pods.
    pub requested: Option<f64>,
    /// The usage, if the cluster reports metrics.
    pub used: Option<f64>,
}

impl Load {
    /// Reads the load of a resource. Returns `None` if the cluster does not report the resource.
    pub fn of(cluster: &ClusterView, resource: &str) -> Option<Self> {
        let number = |map: &std::collections::BTreeMap<String, String>| {
            map.get(resource).and_then(|text| quantity::parse(text))
        };
        let total = number(&cluster.allocatable).or_else(|| number(&cluster.capacity))?;
        (total > 0.0).then(|| Self {
            total,
            requested: number(&cluster.requests),
            used: number(&cluster.usage),
        })
    }

    /// Returns the usage, or the requests if the usage is unknown.
    pub fn taken(&self) -> Option<f64> {
        self.used.or(self.requested)
    }

    /// Returns the used share of the total. The share exceeds 1 if the cluster is overcommitted.
    pub fn part(&self) -> Option<f64> {
        self.taken().map(|taken| self.part_of(taken))
    }

    /// Returns the share of an amount in the total.
    pub fn part_of(&self, amount: f64) -> f64 {
        (amount / self.total).max(0.0)
    }
}

#[cfg(test)]
mod tests;
