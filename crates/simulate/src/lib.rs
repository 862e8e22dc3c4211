//! Simulated clusters: a real Kubernetes API with simulated nodes and workloads.
//!
//! A [`Cluster`] is the embedded API of `drover-apiserver` and a task that simulates the
//! controllers of workloads, the scheduler and the kubelets. The task maintains a [`world::World`]
//! in memory from watches. The pure function [`decide::decide`] computes a decision from the world,
//! and the task executes the actions of the decision. The task does not poll, because each decision
//! contains the time of the next decision.

pub mod action;
pub mod annotations;
mod answers;
pub mod clock;
pub mod cluster;
pub mod decide;
mod hash;
mod listen;
pub mod plan;
mod retry;
mod run;
mod setup;
mod watch;
pub mod world;

pub use cluster::{Cluster, ClusterOptions, StartError};
pub use listen::ListenError;
pub use plan::Plan;
pub use setup::SetupError;
