//! Tests of simulated clusters through their API.

#![expect(
    clippy::unwrap_used,
    clippy::panic,
    reason = "steps of a test are functions of their own, and fail as the test does"
)]

mod stage;
mod workloads;
