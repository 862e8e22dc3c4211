//! The cluster agent: reports the cluster's state to the server on the connection that
//! `drover-agent-link` opens.

pub mod args;
mod endorse;
mod fleet_hub;
mod gitops;
mod hub;
pub mod status;
pub mod wire;
