//! The plan and the progress of a drain: the eviction of all pods of a node.

mod plan;
mod progress;

pub use plan::{DrainOptions, DrainPlan, DrainPod, PodClass, budget_list_path, drain_plan};
pub use progress::{DrainProgress, PodProgress, PodState};

#[cfg(test)]
mod tests;
