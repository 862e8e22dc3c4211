//! The server's side of agents: registration, proof of keys, and the tunnels that agents open.
//!
//! *Owns* how a cluster joins, how its agent connects, and which tunnel a request takes. *Never*
//! decides whether a user may access a cluster, and never holds a credential of a cluster.

pub mod registration;
pub mod tunnels;
