//! The harness against real Kubernetes programs.

mod control_plane;
