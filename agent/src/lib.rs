//! The cluster agent: reports the cluster's state to the server on the connection that
//! `drover-agent-link` opens.

pub mod args;
mod gitops;
mod endorse;
pub mod status;
pub mod wire;
