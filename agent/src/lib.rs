//! The cluster agent. It reports the cluster's state to the server on the connection of
//! `drover-agent-link`.

pub mod args;
pub mod report;
pub mod status;
pub mod wire;
