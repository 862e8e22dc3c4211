//! Simulated clusters as their clients see them.

#![expect(
    clippy::unwrap_used,
    clippy::panic,
    reason = "steps of a test are functions of their own, and fail as the test does"
)]

mod stage;
mod workloads;
