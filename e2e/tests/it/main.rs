//! Tests of the test harness itself, with real Kubernetes programs.

#![expect(
    clippy::unwrap_used,
    clippy::panic,
    reason = "helper functions of tests fail by a panic"
)]

mod charts;
mod control_plane;
mod helm;
mod node;
mod shared;
