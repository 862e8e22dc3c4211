//! The server against a real hub.

#![expect(
    clippy::unwrap_used,
    clippy::panic,
    reason = "steps of a test are functions of their own, and fail as the test does"
)]

mod agents;
mod conditions;
mod hub;
mod identity;
mod people;
mod server;
