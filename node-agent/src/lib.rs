//! The node agent: a second connection between a cluster and the server, used while the cluster agent has no
//! healthy tunnel.
//!
//! *Owns* the node's key and its registration, the report about the node, and on control-plane nodes the
//! webhook of the authorized endpoint. *Never* opens a tunnel for a node that the server has
//! not selected, and never uses the key of the cluster agent. The connection, the check of every
//! request and the lanes are those of `drover-agent-link`.

pub mod args;
mod endpoint;
pub mod enrollment;
mod files;
pub mod report;
pub mod wire;
