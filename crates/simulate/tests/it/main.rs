//! Simulated clusters as their clients see them.

mod stage;
mod workloads;
