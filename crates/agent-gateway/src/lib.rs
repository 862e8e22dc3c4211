//! The server's API for agents: registration, proof of keys, and the tunnels that agents open.
//!
//! *Owns* the registration of clusters, the connections of their agents, and the selection of the
//! tunnel for a request. *Never* decides whether a user may access a cluster, and never has a
//! credential of a cluster.

pub mod registration;
pub mod tunnels;
