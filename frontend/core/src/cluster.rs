//! A cluster's state in words, and how much of it is taken.

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

/// How much of something a cluster has, and how much of it is taken.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Load {
    /// What pods can have.
    pub total: f64,
    /// What pods asked for.
    pub requested: Option<f64>,
    /// What is in use, where the cluster measures it.
    pub used: Option<f64>,
}

impl Load {
    /// The load of a resource; `None` when the cluster has not told it.
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

    /// What is in use if that is measured, else what was asked for.
    pub fn taken(&self) -> Option<f64> {
        self.used.or(self.requested)
    }

    /// The taken part of the whole: 1 is all of it, and more is taken than there is above that.
    pub fn part(&self) -> Option<f64> {
        self.taken().map(|taken| self.part_of(taken))
    }

    /// The part of the whole that an amount is.
    pub fn part_of(&self, amount: f64) -> f64 {
        (amount / self.total).max(0.0)
    }
}

#[cfg(test)]
mod tests;
