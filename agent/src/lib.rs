//! The cluster agent. It reports the state and the status of a cluster on the connection of
//! `drover-agent-link`.

pub mod args;
pub mod report;
pub mod status;
pub mod wire;
