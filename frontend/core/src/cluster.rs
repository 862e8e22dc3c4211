//! The state and the load of a cluster.

pub use drover_api::cluster_state::{
    HOSTS_HUB, Health, Seen, State, condition, seen, state, words,
};
use drover_api::rest::ClusterView;

use crate::quantity;
use crate::url::segment;

/// The address of the page of a cluster.
pub fn screen(name: &str) -> String {
    format!("/clusters/{}", segment(name))
}

/// The address of the members of a cluster.
pub fn members_screen(name: &str) -> String {
    format!("{}/members", screen(name))
}

/// The total, the requests and the usage of a resource.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Load {
    /// The allocatable amount.
    pub total: f64,
    /// The sum of requests.
    pub requested: Option<f64>,
    /// The usage, if the cluster reports metrics.
    pub used: Option<f64>,
}

impl Load {
    /// The load of a resource; `None` if the cluster does not report it.
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

    /// The usage if it is known, else the requests.
    pub fn taken(&self) -> Option<f64> {
        self.used.or(self.requested)
    }

    /// The used share: 1 is the whole; it can be larger.
    pub fn part(&self) -> Option<f64> {
        self.taken().map(|taken| self.part_of(taken))
    }

    /// The share of an amount.
    pub fn part_of(&self, amount: f64) -> f64 {
        (amount / self.total).max(0.0)
    }
}

#[cfg(test)]
mod tests;
