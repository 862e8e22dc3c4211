//! Tests of the server with a real Kubernetes hub and with its embedded hub.

#![expect(
    clippy::unwrap_used,
    clippy::panic,
    reason = "helper functions of tests fail by a panic"
)]

mod admission;
mod agents;
mod charts;
mod conditions;
mod documents;
mod fleet_registration;
mod git;
mod gitops;
mod hub;
mod hub_token;
mod identity;
mod people;
mod place;
mod providers;
mod recover;
mod registration;
mod roles;
mod server;
mod written_roles;
