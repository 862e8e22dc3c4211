//! The harness against real Kubernetes programs.

#![expect(
    clippy::unwrap_used,
    clippy::panic,
    reason = "steps of a test are functions of their own, and fail as the test does"
)]

mod charts;
mod control_plane;
mod helm;
mod node;
