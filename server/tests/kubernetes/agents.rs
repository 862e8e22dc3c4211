//! Agents and the server together: a real hub, a real cluster, and the agent in this process with
//! the permissions of the manifest.

mod access;
mod connection;
mod joining;
mod lanes;
mod members;
mod projects;
mod refusals;
mod reports;
mod rig;
mod rights;
