//! Simulated clusters: a Kubernetes API that is real, and nodes and workloads that are not.
//!
//! A [`Cluster`] is the embedded API of `drover-apiserver` and one task that plays everything a
//! cluster has besides: the controllers of workloads, the scheduler, the kubelets. The task keeps a
//! [`world::World`] in memory from watches, hands it to the pure [`decide::decide`], and does what
//! that says. Nothing polls: a decision tells when to look again by itself.

pub mod act;
pub mod annotations;
mod answers;
pub mod clock;
pub mod cluster;
pub mod decide;
mod hash;
mod listen;
mod pauses;
pub mod plan;
mod run;
mod setup;
mod watch;
pub mod world;

pub use cluster::{Cluster, ClusterOptions, StartError};
pub use listen::ListenError;
pub use plan::Plan;
pub use setup::SetupError;
