//! Tests of the proxy, from a client's socket to a scripted cluster with an in-memory tunnel.

mod accounts;
mod audit;
mod client;
mod cluster;
mod errors;
mod gate;
mod grounds;
mod hub;
mod impersonation;
mod isolation;
mod members;
mod node_agents;
mod plain;
mod revocation;
mod rig;
mod rows;
mod session;
mod telemetry;
mod tunnels;
mod upgrades;
