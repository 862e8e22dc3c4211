//! Limits on requests: queues per caller, CPU-heavy work, and memory.

pub mod fair;
pub(crate) mod heavy;
pub(crate) mod memory;
