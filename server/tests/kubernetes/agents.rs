//! Tests of agents with the server. The tests use a real hub and a real cluster. The agent runs in
//! this process with the permissions of the manifest.

mod access;
mod connection;
mod endpoint;
mod gitops;
mod joining;
mod keys;
mod lanes;
mod members;
mod node_agents;
mod node_rights;
mod projects;
mod refusals;
mod reports;
mod rig;
mod rights;
