//! Deploys bundles in an embedded Kubernetes API, with the real renderer.
//!
//! The tests need the program `drover-render`: `cargo run -p xtask -- renderer`.

mod bundles;
mod charts;
mod cluster;
mod rendering;
