//! States of deployments, and their roll-ups on GitRepos, Bundles, Clusters and ClusterGroups.

mod aggregate;
mod conditions;
mod deployment;
mod group;
mod resources;
mod state;
mod write;

pub use aggregate::{Aggregate, MAX_LISTED, summarize};
pub use conditions::{ready_condition, set_condition};
pub use deployment::{DeploymentState, is_unavailable, message_of, state_of};
pub use group::GroupAggregate;
pub use resources::{MAX_RESOURCES, resources};
pub use state::State;

#[cfg(test)]
mod tests;
