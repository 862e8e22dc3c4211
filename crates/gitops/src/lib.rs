//! Fleet's GitOps rules: bundles from repositories, targets of bundles, rollouts, states, IDs.
//!
//! The crate *owns* all decisions between the files of a git repository and the objects on the hub.
//! The crate *never* uses tokio, a kube client, a clock or a disk. Callers pass files, objects and
//! times, and store the results. Differences from Fleet are in docs/fleet-differences.md.

pub mod check_in;
pub mod fleet_yaml;
pub mod helm_op;
pub mod ids;
pub mod policy;
pub mod rollout;
pub mod schedule;
pub mod states;
pub mod targeting;
mod yaml;
