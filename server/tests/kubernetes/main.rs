//! The server against real Kubernetes, and on its own hub.

#![expect(
    clippy::unwrap_used,
    clippy::panic,
    reason = "steps of a test are functions of their own, and fail as the test does"
)]

mod admission;
mod agents;
mod charts;
mod conditions;
mod documents;
mod hub;
mod identity;
mod people;
mod place;
mod providers;
mod recover;
mod registration;
mod roles;
mod server;
mod written_roles;
